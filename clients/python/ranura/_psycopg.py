from collections.abc import Awaitable
from typing import Any

from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from ranura._connection import Arguments, Function, unknown
from ranura.errors import NoTransaction

CLAIM_RUN_SQL = "SELECT claim_run(%(name)s::text, %(key)s::text)"

ENQUEUE_JOB_SQL = """
SELECT enqueue_job(
    kind => %(kind)s::text, args => %(args)s::text::jsonb, dedupe_key => %(dedupe_key)s::text,
    scheduled_at => %(scheduled_at)s::text::timestamptz, queue => %(queue)s::text,
    priority => %(priority)s::integer, max_attempts => %(max_attempts)s::integer)"""

_STATEMENTS: dict[Function, str] = {"claim_run": CLAIM_RUN_SQL, "enqueue_job": ENQUEUE_JOB_SQL}


def call(conn: Any, function: Function, arguments: Arguments) -> Any | Awaitable[Any]:
    if isinstance(conn, Connection):
        return _call(conn, _STATEMENTS[function], arguments)
    if isinstance(conn, AsyncConnection):
        return _call_async(conn, _STATEMENTS[function], arguments)
    raise unknown(conn)


# The cursors are made here, because the connection's own may answer rows of
# another form.


def _call(conn: Connection[Any], statement: str, arguments: Arguments) -> Any:
    _require_transaction(conn)
    with Cursor(conn, row_factory=tuple_row) as cursor:
        return (cursor.execute(statement, arguments).fetchone() or [None])[0]


async def _call_async(conn: AsyncConnection[Any], statement: str, arguments: Arguments) -> Any:
    _require_transaction(conn)
    async with AsyncCursor(conn, row_factory=tuple_row) as cursor:
        await cursor.execute(statement, arguments)
        return (await cursor.fetchone() or [None])[0]


def _require_transaction(conn: Connection[Any] | AsyncConnection[Any]) -> None:
    # Outside autocommit the statement begins a transaction, if none is open.
    if conn.autocommit and conn.info.transaction_status != TransactionStatus.INTRANS:
        raise NoTransaction("open a transaction with conn.transaction(), or connect without autocommit")
