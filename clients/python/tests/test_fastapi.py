"""An endpoint that Ranura calls, in FastAPI, on every kind of transaction."""

import asyncio
import base64
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import fastapi
import httpx
import pytest
from sqlalchemy import text

from app import TRANSACTIONS, App
from calls import SECRET, sign
from conftest import Database
from ranura import InvalidArgument
from ranura.fastapi import MAX_BODY, Call, Receiver
from ways import engine

pytestmark = pytest.mark.anyio

KEY = "weekly_raffle/2026-W22"


@pytest.fixture(params=TRANSACTIONS)
def app(request: pytest.FixtureRequest, url: str) -> App:
    return App(request.param, url)


@pytest.fixture
def one(url: str) -> App:
    return App("sqlalchemy-async", url)


async def test_call_takes_effect_once(app: App, database: Database) -> None:
    app.result = {"winner": "ana"}
    body = b'{"prize": "libro"}'
    first = await app.post(sign(KEY, body), body)
    assert (first.status_code, first.json()) == (200, {"outcome": "done", "result": {"winner": "ana"}})
    again = await app.post(sign(KEY, body), body)
    assert (again.status_code, again.json()) == (200, {"outcome": "already done"})
    assert app.calls == [Call("weekly_raffle", "2026-W22", body)]
    assert app.calls[0].json() == {"prize": "libro"}
    assert database.counts() == {"members": 0, "river_job": 1, "worker_runs": 1}
    assert database.value("SELECT name || '@' || key FROM worker_runs") == "weekly_raffle@2026-W22"


async def test_calls_at_once_take_effect_once(app: App, database: Database) -> None:
    answers = await asyncio.gather(*(app.post(sign(KEY, b"{}")) for _ in range(5)))
    assert sorted(answer.json()["outcome"] for answer in answers) == ["already done"] * 4 + ["done"]
    assert database.counts() == {"members": 0, "river_job": 1, "worker_runs": 1}


@pytest.mark.parametrize(("fails", "status"), [(RuntimeError("boom"), 500), (fastapi.HTTPException(503), 503)])
async def test_failure_rolls_everything_back(app: App, database: Database, fails: Exception, status: int) -> None:
    app.fails = fails
    assert (await app.post(sign(KEY, b"{}"))).status_code == status
    assert database.counts() == {"members": 0, "river_job": 0, "worker_runs": 0}
    app.fails = None
    assert (await app.post(sign(KEY, b"{}"))).json() == {"outcome": "done", "result": None}
    assert database.counts() == {"members": 0, "river_job": 1, "worker_runs": 1}


@pytest.mark.parametrize("result", [fastapi.Response(status_code=503), float("nan"), {1, 2}])
async def test_result_that_is_no_json_rolls_everything_back(app: App, database: Database, result: object) -> None:
    app.result = result
    assert (await app.post(sign(KEY, b"{}"))).status_code == 500
    assert database.counts() == {"members": 0, "river_job": 0, "worker_runs": 0}


async def test_commit_that_fails_is_no_success(url: str, database: Database) -> None:
    """The answer comes after the commit: here a deferred constraint refuses it."""
    receiver = Receiver(TRANSACTIONS["sqlalchemy-async-session"](url), SECRET)
    api = fastapi.FastAPI()

    @api.post("/pay")
    @receiver.once
    async def pay(conn: Any, _call: Call) -> None:
        await conn.execute(text("INSERT INTO members (id, handle, name, joined_on) VALUES (7, 'ana', 'Ana', '2026-05-29')"))
        await conn.execute(text("INSERT INTO wallets VALUES (7, 10)"))  # and no ledger

    transport = httpx.ASGITransport(app=api, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        assert (await client.post("/pay", content=b"{}", headers=sign(KEY, b"{}"))).status_code == 500
    assert database.counts() == {"members": 0, "river_job": 0, "worker_runs": 0}


@pytest.mark.parametrize(("headers", "status", "detail"), [
    ({}, 401, "webhook-id is missing"),
    (sign(KEY, b"other"), 401, "webhook-signature is missing, or of another secret, id, time or body"),
    (sign(KEY, b"{}", secret="whsec_" + base64.b64encode(b"x" * 32).decode()), 401, "of another secret"),
    (sign(KEY, b"{}", now=time.time() - 7200), 401, "more than 300 seconds"),
    (sign(KEY, b"{}", now=time.time() + 7200), 401, "more than 300 seconds"),
    (sign(KEY, b"{}") | {"idempotency-key": "weekly_raffle/2026-W23"}, 401, "webhook-id is of another Idempotency-Key"),
    (sign("", b"{}"), 400, "Idempotency-Key must be name/key"),
    (sign("raffle", b"{}"), 400, "Idempotency-Key must be name/key"),
    (sign("raffle/", b"{}"), 400, "Idempotency-Key must be name/key"),
    (sign("/2026-W22", b"{}"), 400, "Idempotency-Key must be name/key"),
    (sign("raffle/a/b", b"{}"), 400, "Idempotency-Key must be name/key"),
    (sign("raffle/%20", b"{}"), 400, "Idempotency-Key must be name/key"),
    (sign("raffle/%00", b"{}"), 400, "Idempotency-Key has a NUL character"),
    (sign("raffle/%FF", b"{}"), 400, "invalid start byte"),
])
async def test_refused(one: App, database: Database, headers: dict[str, str], status: int, detail: str) -> None:
    answer = await one.post(headers)
    assert answer.status_code == status
    assert detail in answer.json()["detail"]
    assert one.calls == []
    assert database.counts() == {"members": 0, "river_job": 0, "worker_runs": 0}


async def test_encoded_key(one: App, database: Database) -> None:
    """As the service writes a slash and what a header cannot carry."""
    assert (await one.post(sign("raffle/a%2Fb%20%F0%9F%8E%89", b"{}"))).status_code == 200
    assert (one.calls[0].name, one.calls[0].key) == ("raffle", "a/b 🎉")
    assert database.value("SELECT key FROM worker_runs") == "a/b 🎉"


async def test_body_is_bounded(one: App) -> None:
    largest = b"x" * MAX_BODY
    assert (await one.post(sign(KEY, largest), largest)).status_code == 200
    sent = 0

    async def long() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1024):
            sent += 1024
            yield b"x" * 1024

    answer = await one.client.post("/raffle", content=long(), headers=sign(KEY, b""))
    assert answer.status_code == 413
    assert sent <= MAX_BODY + 2 * 1024, "the rest was not read"


async def test_either_secret_while_one_is_replaced(url: str) -> None:
    new = "whsec_" + base64.b64encode(b"n" * 32).decode()
    one = App("sqlalchemy-async", url, new, SECRET)
    assert (await one.post(sign(KEY, b"{}"))).json()["outcome"] == "done"
    assert (await one.post(sign(KEY, b"{}", secret=new))).json()["outcome"] == "already done"


def test_no_secret_stops_the_start(url: str) -> None:
    with pytest.raises(InvalidArgument, match="secret must be whsec_"):
        Receiver(engine(url, False).begin, "")


def test_package_needs_no_framework_and_no_driver() -> None:
    frameworks = ("asyncpg", "fastapi", "psycopg", "sqlalchemy", "starlette")
    code = f"import ranura, ranura.webhooks, sys; print([m for m in {frameworks} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
