"""What never reaches the database, what the database refuses, and with which words."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from conftest import Database
from ranura import InvalidArgument, NoTransaction, claim_run, enqueue
from ways import engine

DEEP: dict[str, Any] = {}
for _ in range(200):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(("args", "message"), [
    ({"a": {"b": [1, float("nan")]}}, "args.a.b[1] is no number that JSON has"),
    ({"a": float("-inf")}, "args.a is no number that JSON has"),
    ({"a": "x\0"}, "args.a has a NUL character"),
    ({"a": "\ud83d"}, "args.a has half of a surrogate pair"),
    ({"\0": 1}, "a key of args has a NUL character"),
    ({7: 1}, "a key of args must be text, not int"),
    ({"a": b"\xff"}, "args.a is a bytes, which JSON does not have"),
    ({"a": Decimal("1.0")}, "args.a is a Decimal"),
    ({"a": datetime(2026, 5, 29, tzinfo=UTC)}, "args.a is a datetime"),
    ([1], "args must be a mapping"),
    (None, "args must be a mapping"),
    ("str", "args must be a mapping"),
    (DEEP, "is nested more than 100 deep"),
])  # I4, J2
def test_args_are_strict(url: str, args: Any, message: str) -> None:
    with psycopg.connect(url) as conn:
        with pytest.raises(InvalidArgument) as refused:
            enqueue(conn, "welcome", args)
        assert message in str(refused.value)
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE, "nothing was sent"


@pytest.mark.parametrize(("options", "message"), [
    ({"scheduled_at": datetime(2026, 11, 1, 1, 30)}, "scheduled_at has no zone"),  # C8
    ({"scheduled_at": "2026-11-01"}, "scheduled_at must be a datetime, not str"),
    ({"scheduled_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))}, "outside the years 1 to 9999"),
    ({"dedupe_key": "a\0"}, "dedupe_key has a NUL character"),
    ({"dedupe_key": 7}, "dedupe_key must be text, not int"),
    ({"queue": None}, "queue must be text, not NoneType"),
    ({"priority": "1"}, "priority must be an integer, not str"),
    ({"priority": True}, "priority must be an integer, not bool"),
    ({"max_attempts": 2**31}, "max_attempts must fit 32 bits"),
])
def test_options_are_strict(url: str, options: dict[str, Any], message: str) -> None:
    with psycopg.connect(url) as conn, pytest.raises(InvalidArgument, match=message):
        enqueue(conn, "welcome", {}, **options)


@pytest.mark.parametrize(("kind", "args", "options", "message"), [
    ("wellcome", {}, {}, 'kind "wellcome" is not known'),  # J2
    ("w" * 128, {}, {}, "is not known"),  # I5
    ("", {}, {}, 'kind "" is not known'),
    ("welcome", {"a": "🎉" * 100_000}, {}, "args must have at most 65536 bytes"),  # I4
    ("welcome", {}, {"dedupe_key": "a" * 100_000}, "dedupe_key must have 1 to 200 characters"),  # I5
    ("welcome", {}, {"dedupe_key": " "}, "dedupe_key must have 1 to 200 characters"),
    ("welcome", {}, {"queue": ""}, "queue must be that of the kind"),  # I5
    ("welcome", {}, {"priority": 5}, "priority must be 1"),
    ("welcome", {}, {"max_attempts": 0}, "max_attempts must be 1"),
])
def test_database_refuses(url: str, database: Database, kind: str, args: Any, options: Any, message: str) -> None:
    with psycopg.connect(url) as conn:
        with pytest.raises(psycopg.errors.InvalidParameterValue, match=message):
            enqueue(conn, kind, args, **options)
        conn.rollback()
    assert database.counts()["river_job"] == 0


@pytest.mark.parametrize(("name", "key"), [("", "k"), ("n", ""), ("n" * 101, "k"), ("n", "k" * 201), ("n", " ")])  # I5
def test_database_refuses_claims(url: str, name: str, key: str) -> None:
    with psycopg.connect(url) as conn, pytest.raises(psycopg.errors.InvalidParameterValue, match="characters and not be blank"):
        claim_run(conn, name, key)


def test_composed_and_decomposed_keys_differ(url: str) -> None:  # I5
    with psycopg.connect(url) as conn:
        assert claim_run(conn, "raffle", "caf\u00e9") is True
        assert claim_run(conn, "raffle", "cafe\u0301") is True


def test_instant_is_the_same_in_every_zone(url: str, database: Database) -> None:  # C8
    """The second 01:30 of the night when New York's clocks go back, from a session with settings of its own."""
    november = datetime(datetime.now(UTC).year + 1, 11, 1, 1, 30, tzinfo=ZoneInfo("America/New_York"))
    at = (november + timedelta(days=6 - november.weekday())).replace(fold=1)  # the first Sunday; sums drop the fold
    with psycopg.connect(url) as conn:
        conn.execute("SET TIME ZONE 'Asia/Kolkata'")
        conn.execute("SET DateStyle = 'SQL, DMY'")
        enqueue(conn, "welcome", {}, scheduled_at=at)
    assert database.value("SELECT scheduled_at FROM river_job") == datetime(at.year, 11, at.day, 6, 30, tzinfo=UTC)


@pytest.mark.parametrize(("local", "zone", "hour"), [
    (datetime(2025, 3, 9, 2, 30), "America/Los_Angeles", 10),  # Go: 9
    (datetime(2026, 11, 1, 1, 30), "America/New_York", 5),  # Postgres: 6
    (datetime(2026, 3, 29, 2, 30), "Europe/Berlin", 1),
])
def test_local_times_are_read_differently_here(local: datetime, zone: str, hour: int) -> None:  # C8
    instant = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    assert (instant.hour, instant.minute) == (hour, 30)


def test_nothing_derives_a_slot_from_local_time() -> None:  # C8
    """Slots are the service's: the package neither reads local time nor knows a zone but UTC."""
    for source in (Path(__file__).parents[1] / "ranura").glob("*.py"):
        for word in ("strptime", "zoneinfo", "ZoneInfo", "localtime", "fromtimestamp", ".replace(tzinfo", "AT TIME ZONE", ".now("):
            code = "\n".join(line for line in source.read_text().splitlines() if "use datetime.now(UTC)" not in line)
            assert word not in code, f"{source.name} has {word}"


def test_autocommit_with_a_transaction_block_is_fine(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as conn, conn.transaction():
        assert claim_run(conn, "raffle", "2026-W22") is True


def test_old_style_needs_begin(url: str) -> None:
    """Without it, SQLAlchemy 1.x commits the claim with the next INSERT, and the rest later."""
    with engine(url, False, future=False).connect() as conn:
        with pytest.raises(NoTransaction, match=r"open a transaction with engine\.begin\(\) or conn\.begin\(\)"):
            claim_run(conn, "raffle", "2026-W22")


def test_new_style_begins_by_itself(url: str, database: Database) -> None:
    with engine(url, False).connect() as conn:
        assert claim_run(conn, "raffle", "2026-W22") is True
        assert database.counts()["worker_runs"] == 0
        conn.commit()
    assert database.counts()["worker_runs"] == 1


def test_what_is_no_connection_is_named(url: str) -> None:
    with pytest.raises(TypeError, match=r"conn is a builtins\.str: pass a connection"):
        claim_run(url, "raffle", "2026-W22")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"conn is a sqlalchemy\..*Engine: pass a connection"):
        claim_run(engine(url, False), "raffle", "2026-W22")


def test_row_factory_of_the_application_does_not_matter(url: str) -> None:
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as conn:
        assert claim_run(conn, "raffle", "2026-W22") is True
