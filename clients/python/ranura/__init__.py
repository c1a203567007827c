"""Ranura from Python: claims and jobs in your own transaction.

:func:`claim_run` and :func:`enqueue` take a SQLAlchemy connection or session, a
psycopg 3 connection or an asyncpg connection, sync or async, and do their work
in the transaction that you have open. You begin it and you end it: what you wrote, the
claim and the job are committed together or not at all.

:mod:`ranura.webhooks` checks the signature of a call that Ranura makes, and
:mod:`ranura.fastapi` makes a FastAPI or Starlette endpoint of a function that
must take effect once per call.

Nothing here computes a slot. When a schedule is due, and what its key is, is
decided in one place, the service; it comes here as a key.
"""

from ranura._connection import AsyncConnection, SyncConnection
from ranura.errors import InvalidArgument, NoTransaction
from ranura.jobs import claim_run, enqueue

__all__ = [
    "AsyncConnection",
    "InvalidArgument",
    "NoTransaction",
    "SyncConnection",
    "claim_run",
    "enqueue",
]
