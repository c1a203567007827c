"""Runs against the migrated database that DATABASE_URL names; ``go test ./clients/python`` brings one."""

import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url

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


@pytest.fixture
def enqueuer_url(url: str) -> Iterator[str]:
    """A role that has what deploy/grants.sql gives a backend, under names of the test's own."""
    prefix = f"test_{secrets.token_hex(6)}_"
    script = Path(__file__).parents[3].joinpath("deploy/grants.sql").read_text()
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(re.sub("ranura_(runtime|enqueuer|reader)", rf"{prefix}\1", script))
        conn.execute(f"ALTER ROLE {prefix}enqueuer LOGIN PASSWORD 'not-a-secret'")
        address = make_url(url).set(username=f"{prefix}enqueuer", password="not-a-secret")
        yield address.render_as_string(hide_password=False)
        for role in ("runtime", "enqueuer", "reader"):
            conn.execute(f"DROP OWNED BY {prefix}{role}")
            conn.execute(f"DROP ROLE {prefix}{role}")


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
