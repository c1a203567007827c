"""Runs against the migrated database that DATABASE_URL names; ``go test ./clients/python`` brings one."""

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from ways import WAYS, Way


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=WAYS, ids=lambda way: way.name)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param


@pytest.fixture
def url() -> str:
    return os.environ["DATABASE_URL"]


class Database:
    """What others see: a connection of its own, outside every transaction of a test."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self.conn = conn

    def value(self, sql: str) -> Any:
        return (self.conn.execute(sql).fetchone() or [None])[0]

    def counts(self) -> dict[str, int]:
        tables = ("members", "river_job", "worker_runs")
        return {table: self.value(f"SELECT count(*) FROM {table}") for table in tables}


@pytest.fixture(autouse=True)
def database(url: str) -> Iterator[Database]:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("TRUNCATE members, river_job, worker_runs CASCADE")
        # A replica does this at its start.
        conn.execute("INSERT INTO worker_kinds VALUES ('welcome', 'ranura', 'default') ON CONFLICT DO NOTHING")
        yield Database(conn)
