from typing import Any

from asyncpg import Connection
from asyncpg.pool import PoolConnectionProxy

from ranura._connection import Arguments, Function, unknown
from ranura.errors import NoTransaction

# Placeholders count in the order of the arguments. JSON goes as text, because
# the application may have set a codec for jsonb, which would encode it again.

CLAIM_RUN_SQL = "SELECT claim_run($1::text, $2::text)"

ENQUEUE_JOB_SQL = """
SELECT enqueue_job(
    kind => $1::text, args => $2::text::jsonb, dedupe_key => $3::text,
    scheduled_at => $4::text::timestamptz, queue => $5::text,
    priority => $6::integer, max_attempts => $7::integer)"""

_STATEMENTS: dict[Function, str] = {"claim_run": CLAIM_RUN_SQL, "enqueue_job": ENQUEUE_JOB_SQL}


async def call(conn: Any, function: Function, arguments: Arguments) -> Any:
    if not isinstance(conn, Connection | PoolConnectionProxy):
        raise unknown(conn)
    if not conn.is_in_transaction():
        raise NoTransaction("open a transaction with conn.transaction()")
    return await conn.fetchval(_STATEMENTS[function], *arguments.values())
