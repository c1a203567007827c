"""Which driver a connection is of.

A driver is imported only for a connection that comes from it, so that the
package needs none.
"""

from collections.abc import Awaitable, Mapping
from typing import Any, Literal, Protocol

Function = Literal["claim_run", "enqueue_job"]
Arguments = Mapping[str, str | int | None]


class SyncConnection(Protocol):
    """A SQLAlchemy Connection or Session, or a psycopg Connection.

    What tells it from an async one, for a type checker, is what commit returns.
    """

    def commit(self) -> None: ...


class _Commits(Protocol):
    def commit(self) -> Awaitable[None]: ...


class _Asyncpg(Protocol):
    def is_in_transaction(self) -> bool: ...


AsyncConnection = _Commits | _Asyncpg
"""A SQLAlchemy AsyncConnection or AsyncSession, a psycopg AsyncConnection, or an asyncpg Connection."""


def call(conn: Any, function: Function, arguments: Arguments) -> Any:
    """Call a function of the database in conn's transaction.

    Answers its result, or for an async connection an awaitable of it.
    """
    # A subclass, such as that of SQLModel, comes from the package of its base.
    for cls in type(conn).__mro__:
        match cls.__module__.partition(".")[0]:
            case "sqlalchemy":
                from ranura import _sqlalchemy

                return _sqlalchemy.call(conn, function, arguments)
            case "psycopg":
                from ranura import _psycopg

                return _psycopg.call(conn, function, arguments)
            case "asyncpg":
                from ranura import _asyncpg

                return _asyncpg.call(conn, function, arguments)
    raise unknown(conn)


def unknown(conn: object) -> TypeError:
    return TypeError(
        f"conn is a {type(conn).__module__}.{type(conn).__qualname__}: "
        "pass a connection or session of SQLAlchemy, or a connection of psycopg 3 or asyncpg"
    )
