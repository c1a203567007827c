"""A FastAPI application with one endpoint, on every kind of transaction."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import fastapi
import httpx
import psycopg
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import sessionmaker

from calls import SECRET
from ranura import enqueue
from ranura.fastapi import Call, Receiver
from ways import async_engine, engine, settled


@asynccontextmanager
async def asyncpg_transaction(url: str) -> AsyncIterator[Any]:
    conn = await asyncpg.connect(url)
    try:
        async with conn.transaction():
            yield conn
    finally:
        await conn.close()


TRANSACTIONS: dict[str, Callable[[str], Callable[[], Any]]] = {
    "asyncpg": lambda url: lambda: asyncpg_transaction(url),
    "psycopg": lambda url: lambda: psycopg.connect(url),
    "sqlalchemy": lambda url: engine(url, False).begin,
    "sqlalchemy-async": lambda url: async_engine(url, False).begin,
    "sqlalchemy-async-session": lambda url: sessionmaker(async_engine(url, False), class_=AsyncSession).begin,
    "sqlalchemy-session": lambda url: sessionmaker(engine(url, False), future=True).begin,
}
SYNC = {"psycopg", "sqlalchemy", "sqlalchemy-session"}


class App:
    """Its work is to enqueue a job, and to end as the test says."""

    def __init__(self, kind: str, url: str, *secrets: str) -> None:
        receiver = Receiver(TRANSACTIONS[kind](url), *(secrets or [SECRET]))
        self.calls: list[Call] = []
        self.fails: Exception | None = None
        self.result: object = None
        api = fastapi.FastAPI()
        api.post("/raffle")(receiver.once(self.work_sync if kind in SYNC else self.work_async))
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=api, raise_app_exceptions=False), base_url="http://test"
        )

    def work_sync(self, conn: Any, call: Call) -> object:
        enqueue(conn, "welcome", {"member_id": 7})
        return self.end(call)

    async def work_async(self, conn: Any, call: Call) -> object:
        await settled(enqueue(conn, "welcome", {"member_id": 7}))
        return self.end(call)

    def end(self, call: Call) -> object:
        self.calls.append(call)
        if self.fails:
            raise self.fails
        return self.result

    async def post(self, headers: dict[str, str], body: bytes = b"{}") -> httpx.Response:
        return await self.client.post("/raffle", content=body, headers=headers)
