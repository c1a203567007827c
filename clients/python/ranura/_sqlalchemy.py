from typing import Any

import sqlalchemy
import sqlalchemy.future
from sqlalchemy.orm import Session, scoped_session

from ranura._connection import Arguments, Function, unknown
from ranura.errors import NoTransaction

CLAIM_RUN_SQL = sqlalchemy.text("SELECT claim_run(CAST(:name AS text), CAST(:key AS text))")

ENQUEUE_JOB_SQL = sqlalchemy.text("""
SELECT enqueue_job(
    kind => CAST(:kind AS text), args => CAST(CAST(:args AS text) AS jsonb), dedupe_key => CAST(:dedupe_key AS text),
    scheduled_at => CAST(CAST(:scheduled_at AS text) AS timestamptz), queue => CAST(:queue AS text),
    priority => CAST(:priority AS integer), max_attempts => CAST(:max_attempts AS integer))""")

_STATEMENTS: dict[Function, Any] = {"claim_run": CLAIM_RUN_SQL, "enqueue_job": ENQUEUE_JOB_SQL}


def call(conn: Any, function: Function, arguments: Arguments) -> Any:
    if hasattr(conn, "run_sync"):  # an AsyncConnection or AsyncSession
        return conn.run_sync(_call, _STATEMENTS[function], arguments)
    return _call(conn, _STATEMENTS[function], arguments)


def _call(conn: Any, statement: Any, arguments: Arguments) -> Any:
    if isinstance(conn, Session | scoped_session):
        conn = conn.connection()  # of the session's transaction, which begins if none is open
    if not isinstance(conn, sqlalchemy.engine.Connection):
        raise unknown(conn)
    _require_transaction(conn)
    return conn.execute(statement, arguments).scalar()


def _require_transaction(conn: Any) -> None:
    if conn.connection.dbapi_connection.autocommit:
        raise NoTransaction("use an engine whose isolation_level is not AUTOCOMMIT")
    # In the style of 2.0 the statement begins a transaction if none is open; in
    # that of 1.x it would be committed with the next INSERT.
    if not isinstance(conn, sqlalchemy.future.Connection) and not conn.in_transaction():
        raise NoTransaction("open a transaction with engine.begin() or conn.begin()")
