"""Claims and jobs live and die with the caller's transaction, whatever the driver."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from conftest import Database
from ranura import InvalidArgument, NoTransaction, claim_run, enqueue
from ways import Way, entered, settled

pytestmark = pytest.mark.anyio

SIGN_UP = "INSERT INTO members (id, handle, name, joined_on) VALUES (7, 'ana', 'Ana', '2026-05-29')"


class Boom(Exception):
    pass


async def test_commit_keeps_claim_job_and_effect(way: Way, url: str, database: Database) -> None:  # J1
    async with way.transaction(url) as conn:
        assert await settled(claim_run(conn, "raffle", "2026-W22")) is True
        await way.execute(conn, SIGN_UP)
        job = await settled(enqueue(conn, "welcome", {"member_id": 7}))
        assert database.counts() == {"members": 0, "river_job": 0, "worker_runs": 0}, "before the commit nobody sees it"
    assert database.counts() == {"members": 1, "river_job": 1, "worker_runs": 1}
    assert database.value("SELECT id FROM river_job WHERE args = '{\"member_id\": 7}'") == job


async def test_rollback_keeps_nothing(way: Way, url: str, database: Database) -> None:  # J1
    with pytest.raises(Boom):
        async with way.transaction(url) as conn:
            assert await settled(claim_run(conn, "raffle", "2026-W22")) is True
            await way.execute(conn, SIGN_UP)
            await settled(enqueue(conn, "welcome", {"member_id": 7}))
            raise Boom
    assert database.counts() == {"members": 0, "river_job": 0, "worker_runs": 0}
    async with way.transaction(url) as conn:
        assert await settled(claim_run(conn, "raffle", "2026-W22")) is True, "the claim is free again"


async def test_savepoint_takes_its_job_along(way: Way, url: str, database: Database) -> None:  # J1
    async with way.transaction(url) as conn:
        await way.execute(conn, SIGN_UP)
        with pytest.raises(Boom):
            async with entered(way.savepoint(conn)):
                await settled(enqueue(conn, "welcome", {"member_id": 7}))
                raise Boom
    assert database.counts() == {"members": 1, "river_job": 0, "worker_runs": 0}


async def test_backend_needs_two_functions_and_no_table(way: Way, enqueuer_url: str, database: Database) -> None:  # H5
    async with way.transaction(enqueuer_url) as conn:
        assert await settled(claim_run(conn, "raffle", "2026-W22")) is True
        assert await settled(enqueue(conn, "welcome", {"member_id": 7}, dedupe_key="7"))
    assert database.counts() == {"members": 0, "river_job": 1, "worker_runs": 1}
    for sql in ("DELETE FROM worker_runs", "UPDATE river_job SET state = 'available'", "INSERT INTO river_job (kind, args) VALUES ('welcome', '{}')"):
        with pytest.raises(Exception, match="permission denied"):
            async with way.transaction(enqueuer_url) as conn:
                await way.execute(conn, sql)


async def test_second_claim_is_a_duplicate(way: Way, url: str) -> None:
    async with way.transaction(url) as conn:
        assert await settled(claim_run(conn, "raffle", "2026-W22")) is True
        assert await settled(claim_run(conn, "raffle", "2026-W22")) is False
    async with way.transaction(url) as conn:
        assert await settled(claim_run(conn, "raffle", "2026-W22")) is False
        assert await settled(claim_run(conn, "raffle", "2026-W23")) is True


@pytest.mark.parametrize("commits", [True, False], ids=["holder-commits", "holder-rolls-back"])
async def test_concurrent_claim_waits_for_the_holder(way: Way, url: str, database: Database, commits: bool) -> None:
    async def claim() -> Any:
        async with way.transaction(url) as conn:
            return await settled(claim_run(conn, "raffle", "2026-W22"))

    with psycopg.connect(url) as holder:
        assert claim_run(holder, "raffle", "2026-W22") is True
        second = asyncio.create_task(asyncio.to_thread(asyncio.run, claim()))  # a thread: sync drivers block theirs
        await waits_for_a_lock(database)
        holder.commit() if commits else holder.rollback()
    assert await second is not commits
    assert database.counts()["worker_runs"] == 1


async def waits_for_a_lock(database: Database) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(30):
        while database.value(waiting) == 0:
            await asyncio.sleep(0.01)


async def test_autocommit_is_refused(way: Way, url: str, database: Database) -> None:  # J1
    async with way.connected(url, autocommit=True) as conn:
        with pytest.raises(NoTransaction, match="commits each statement by itself: (open|use) .*"):
            await settled(claim_run(conn, "raffle", "2026-W22"))
        with pytest.raises(NoTransaction):
            await settled(enqueue(conn, "welcome", {"member_id": 7}))
    assert database.counts() == {"members": 0, "river_job": 0, "worker_runs": 0}


async def test_refused_argument_leaves_the_transaction_as_it_was(way: Way, url: str, database: Database) -> None:  # I4
    async with way.transaction(url) as conn:
        await way.execute(conn, SIGN_UP)
        with pytest.raises(InvalidArgument, match=r"^args\.name has a NUL character"):
            await settled(enqueue(conn, "welcome", {"name": "a\0b"}))
        await settled(enqueue(conn, "welcome", {"member_id": 7}))
    assert database.counts() == {"members": 1, "river_job": 1, "worker_runs": 0}


async def test_every_argument_arrives(way: Way, url: str, database: Database) -> None:
    args = {"member_id": 7, "text": "🎉 <b>\\u0000 \"é\"", "deep": [{"x": [1.5, None, True]}]}
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    async with way.transaction(url) as conn:
        await settled(enqueue(conn, "welcome", args, scheduled_at=at, priority=3, max_attempts=5))
    row = "SELECT jsonb_build_array(args, extract(epoch FROM scheduled_at), queue, priority, max_attempts) FROM river_job"
    assert database.value(row) == [args, at.timestamp(), "default", 3, 5]


async def test_dedupe_key_of_python_and_sql_is_one_job(way: Way, url: str, database: Database) -> None:  # F3
    key = "bienvenida 🎉 <b>"
    by_sql = database.value(f"SELECT enqueue_job('welcome', '{{\"member_id\": 7}}', dedupe_key => '{key}')")
    async with way.transaction(url) as conn:
        assert await settled(enqueue(conn, "welcome", {"member_id": 7}, dedupe_key=key)) == by_sql
        assert await settled(enqueue(conn, "welcome", {"member_id": 8, "msg": "🎉 <b>"}, dedupe_key=key)) == by_sql
    assert database.counts()["river_job"] == 1
