"""Every way to a connection that the package takes, under one surface."""

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import psycopg
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool


@dataclass(frozen=True)
class Way:
    name: str
    connect: Callable[..., Any]  # (url, autocommit) → connection, not in a transaction yet
    begin: Callable[[Any], Any]  # a context manager: commits, or rolls back on an exception
    savepoint: Callable[[Any], Any]
    run: Callable[[Any, str], Any]

    @asynccontextmanager
    async def transaction(self, url: str) -> AsyncIterator[Any]:
        async with self.connected(url) as conn, entered(self.begin(conn)):
            yield conn

    @asynccontextmanager
    async def connected(self, url: str, *, autocommit: bool = False) -> AsyncIterator[Any]:
        conn = await settled(self.connect(url, autocommit))
        try:
            yield conn
        finally:
            await settled(conn.close())

    async def execute(self, conn: Any, sql: str) -> None:
        await settled(self.run(conn, sql))


async def settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


@asynccontextmanager
async def entered(context: Any) -> AsyncIterator[None]:
    """A context manager, sync or async."""
    if hasattr(context, "__aenter__"):
        async with context:
            yield
    else:
        with context:
            yield


def engine(url: str, autocommit: bool, *, future: bool = True) -> Any:
    isolation = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
    address = sqlalchemy.engine.make_url(url).set(drivername="postgresql+psycopg2")
    return sqlalchemy.create_engine(address, future=future, poolclass=NullPool, **isolation)


def async_engine(url: str, autocommit: bool) -> Any:
    isolation = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
    address = sqlalchemy.engine.make_url(url).set(drivername="postgresql+asyncpg", query={})
    return create_async_engine(address, poolclass=NullPool, **isolation)


async def _async_connection(url: str, autocommit: bool) -> Any:
    return await async_engine(url, autocommit).connect()


async def _asyncpg(url: str, _autocommit: bool) -> Any:  # it always is, outside a transaction block
    return await asyncpg.connect(url)


def _begin(conn: Any) -> Any:
    return conn.begin()


def _begin_nested(conn: Any) -> Any:
    return conn.begin_nested()


def _text(conn: Any, sql: str) -> Any:
    return conn.execute(sqlalchemy.text(sql))


def _plain(conn: Any, sql: str) -> Any:
    return conn.execute(sql)


def _sqlalchemy(name: str, connect: Callable[..., Any]) -> Way:
    return Way(name, connect, _begin, _begin_nested, _text)


def _driver(name: str, connect: Callable[..., Any]) -> Way:
    return Way(name, connect, lambda conn: conn.transaction(), lambda conn: conn.transaction(), _plain)


WAYS = [
    _driver("asyncpg", _asyncpg),
    _driver("psycopg", lambda url, autocommit: psycopg.connect(url, autocommit=autocommit)),
    _driver("psycopg-async", lambda url, autocommit: psycopg.AsyncConnection.connect(url, autocommit=autocommit)),
    _sqlalchemy("sqlalchemy", lambda url, autocommit: engine(url, autocommit).connect()),
    _sqlalchemy("sqlalchemy-1", lambda url, autocommit: engine(url, autocommit, future=False).connect()),
    _sqlalchemy("sqlalchemy-async", _async_connection),
    _sqlalchemy("sqlalchemy-async-session", lambda url, autocommit: AsyncSession(async_engine(url, autocommit))),
    _sqlalchemy("sqlalchemy-session", lambda url, autocommit: Session(engine(url, autocommit), future=True)),
    _sqlalchemy("sqlalchemy-session-1", lambda url, autocommit: Session(engine(url, autocommit, future=False))),
]
