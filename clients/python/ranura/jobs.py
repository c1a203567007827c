"""The two functions: one claims, one enqueues."""

from collections.abc import Awaitable, Mapping
from datetime import datetime
from typing import Any, overload

from ranura import _arguments, _connection
from ranura._connection import AsyncConnection, SyncConnection


@overload
def claim_run(conn: SyncConnection, name: str, key: str) -> bool: ...
@overload
def claim_run(conn: AsyncConnection, name: str, key: str) -> Awaitable[bool]: ...
def claim_run(conn: Any, name: str, key: str) -> bool | Awaitable[bool]:
    """Claim ``(name, key)`` in the transaction that is open on ``conn``.

    True: it is yours; do the work in this transaction, and commit. False: it is
    done, or decided against; do nothing. When your transaction rolls back, the
    claim is free again.

    Call it first and outside any savepoint: rolling back to one would free the
    claim while what you wrote outside it stays.

    It waits while another transaction holds the claim. It does not commit, does
    not retry, and promises nothing about what you do outside the database.
    ``name`` has 1 to 100 characters, ``key`` 1 to 200.

    Raises :class:`~ranura.InvalidArgument` for text that Postgres cannot hold
    and :class:`~ranura.NoTransaction` for a connection in autocommit. The
    database refuses what is too long (SQLSTATE 22023) and, above READ
    COMMITTED, a claim that was lost to another transaction (40001): roll back
    and, after 40001, begin again.
    """
    arguments = {"name": _arguments.text("name", name), "key": _arguments.text("key", key)}
    result: bool | Awaitable[bool] = _connection.call(conn, "claim_run", arguments)
    return result


@overload
def enqueue(
    conn: SyncConnection, kind: str, args: Mapping[str, object], *,
    dedupe_key: str | None = None, scheduled_at: datetime | None = None,
    queue: str = "default", priority: int = 1, max_attempts: int | None = None,
) -> int | None: ...
@overload
def enqueue(
    conn: AsyncConnection, kind: str, args: Mapping[str, object], *,
    dedupe_key: str | None = None, scheduled_at: datetime | None = None,
    queue: str = "default", priority: int = 1, max_attempts: int | None = None,
) -> Awaitable[int | None]: ...
def enqueue(
    conn: Any, kind: str, args: Mapping[str, object], *,
    dedupe_key: str | None = None, scheduled_at: datetime | None = None,
    queue: str = "default", priority: int = 1, max_attempts: int | None = None,
) -> int | None | Awaitable[int | None]:
    """Put a job into the queue in the transaction that is open on ``conn``.

    The workers hear of it at your commit, and of nothing when you roll back; so
    a worker finds the rows that you wrote before. Flush a SQLAlchemy session
    before you put an id of it into ``args``.

    With a ``dedupe_key`` the job runs once per kind and key, whether Go, Python
    or SQL asks for it; without one each call is a job of its own. Answers the
    id of the job, or of the job that is there or has run for that key; None if
    the key was claimed without a job.

    ``args`` is a JSON object, at most 65,536 bytes: mappings with text keys,
    lists, tuples, text, numbers, booleans and None, and nothing that JSON or
    Postgres cannot hold (NaN, infinity, NUL, half a surrogate pair).
    ``scheduled_at`` is an instant, so it must have a zone; None is now.
    ``priority`` is 1 (first) to 4. ``max_attempts`` is how often a failing job
    is tried; None leaves that to the service.

    Raises :class:`~ranura.InvalidArgument` and :class:`~ranura.NoTransaction`
    before anything is sent. The database refuses a kind that no replica has
    registered, and lengths and numbers out of range, with SQLSTATE 22023; then
    roll back.
    """
    arguments = {
        "kind": _arguments.text("kind", kind),
        "args": _arguments.json_object("args", args),
        "dedupe_key": None if dedupe_key is None else _arguments.text("dedupe_key", dedupe_key),
        "scheduled_at": None if scheduled_at is None else _arguments.instant("scheduled_at", scheduled_at),
        "queue": _arguments.text("queue", queue),
        "priority": _arguments.integer("priority", priority),
        "max_attempts": None if max_attempts is None else _arguments.integer("max_attempts", max_attempts),
    }
    result: int | None | Awaitable[int | None] = _connection.call(conn, "enqueue_job", arguments)
    return result
