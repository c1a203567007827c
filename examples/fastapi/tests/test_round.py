"""The whole round: sign up, be welcomed by a replica, win on Friday."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg

from calls import SECRET, sign

Database = psycopg.Connection[Any]

COUNTS_SQL = """
SELECT (SELECT count(*) FROM members), (SELECT count(*) FROM river_job WHERE kind = 'welcome'),
       (SELECT count(*) FROM worker_runs WHERE name = 'weekly_raffle'),
       (SELECT count(*) FROM notifications WHERE kind = 'weekly_raffle')"""


def counts(database: Database) -> tuple[int, ...]:
    """Members, jobs that welcome, raffles, winners."""
    return database.execute(COUNTS_SQL).fetchone() or ()


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60  # only a hang reaches it
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_sign_up_welcomes_once(client: httpx.Client, database: Database) -> None:  # J1
    before = counts(database)
    answer = client.post("/signup", json={"handle": "ana", "name": "Ana 🎉"})
    assert answer.status_code == 201
    member = answer.json()["id"]

    done = "SELECT state = 'completed' AND attempt = 1 FROM river_job WHERE kind = 'welcome' AND args = %s::jsonb"
    eventually(lambda: database.execute(done, [f'{{"member_id": {member}}}']).fetchone() == (True,))
    welcome = ["👋 ¡Te damos la bienvenida, Ana 🎉! Nos alegra que estés aquí."]
    assert client.get(f"/members/{member}/notifications").json() == welcome
    claims = "SELECT count(*) FROM worker_runs WHERE name = 'welcome' AND key = %s"
    assert database.execute(claims, [str(member)]).fetchone() == (1,)
    assert counts(database) == (before[0] + 1, before[1] + 1, *before[2:])


def test_sign_up_that_fails_leaves_nothing(client: httpx.Client, database: Database) -> None:  # J1
    assert client.post("/signup", json={"handle": "beto", "name": "Beto"}).status_code == 201
    before = counts(database)
    # This one fails after the member is written and the job enqueued.
    assert client.post("/signup", json={"handle": "caro", "name": "Caro", "squad": "nadie"}).status_code == 404
    assert client.post("/signup", json={"handle": "beto", "name": "Beto"}).status_code == 409
    assert client.post("/signup", json={"handle": "dani", "name": "a\0b"}).status_code == 422  # I4
    assert counts(database) == before


def raffle(client: httpx.Client, key: str, **signed: Any) -> httpx.Response:
    return client.post("/jobs/weekly-raffle", content=b"{}", headers=sign(f"weekly_raffle/{key}", b"{}", **signed))


def test_friday_has_one_winner(client: httpx.Client, database: Database) -> None:
    assert client.post("/signup", json={"handle": "eva", "name": "Eva"}).status_code == 201
    before = counts(database)
    with ThreadPoolExecutor(3) as replicas:
        answers = [a.json() for a in replicas.map(lambda _: raffle(client, "2026-W22"), range(3))]
    assert sorted(answer["outcome"] for answer in answers) == ["already done", "already done", "done"]
    assert raffle(client, "2026-W22").json() == {"outcome": "already done"}
    assert counts(database) == (*before[:2], before[2] + 1, before[3] + 1)

    assert raffle(client, "2026-W23").json()["result"]["week"] == "2026-W23", "the next Friday has its own"
    assert counts(database) == (*before[:2], before[2] + 2, before[3] + 2)


def test_replicas_call_for_each_slot_once(client: httpx.Client, database: Database) -> None:
    assert client.post("/signup", json={"handle": "fer", "name": "Fer"}).status_code == 201
    database.execute("""INSERT INTO worker_schedules (name, cron, zone, http_endpoint, http_path)
        VALUES ('raffle', '@every 1s', 'UTC', 'example', '/jobs/weekly-raffle')""")
    story = """SELECT count(*) FROM worker_runs WHERE name = 'raffle' AND outcome = 'ran' AND source = 'catch_up'
        AND slot_at = key::timestamptz AND job_id IS NOT NULL AND replica IS NOT NULL AND output->>'status' = '200'"""
    eventually(lambda: database.execute(story).fetchone() >= (4,))
    database.execute("DELETE FROM worker_schedules WHERE name = 'raffle'")
    ended = "SELECT count(*) FROM river_job WHERE kind = 'stored_schedule' AND finalized_at IS NULL"
    eventually(lambda: database.execute(ended).fetchone() == (0,))
    told = "SELECT period FROM notifications WHERE kind = 'weekly_raffle' AND period LIKE '%%Z' ORDER BY 1"
    ran = "SELECT key FROM worker_runs WHERE name = 'raffle' AND outcome = 'ran' ORDER BY 1"
    assert database.execute(told, []).fetchall() == database.execute(ran).fetchall(), "one winner for each"


def test_friday_is_not_for_strangers(client: httpx.Client, database: Database) -> None:
    before = counts(database)
    assert raffle(client, "2026-W30", secret="whsec_" + "A" * 32).status_code == 401
    assert raffle(client, "2026-W30", now=time.time() - 3600).status_code == 401
    assert client.post("/jobs/weekly-raffle", content=b"{}").status_code == 401
    captured = sign("weekly_raffle/2026-W22", b"{}", secret=SECRET) | {"idempotency-key": "weekly_raffle/2026-W30"}
    assert client.post("/jobs/weekly-raffle", content=b"{}", headers=captured).status_code == 401
    assert counts(database) == before
