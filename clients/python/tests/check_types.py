"""For mypy, which is run over it: sync connections answer results, async ones awaitables."""

from collections.abc import Awaitable
from typing import Any, assert_type

import psycopg

from ranura import claim_run, enqueue


class Asyncpg:
    """As a connection of asyncpg looks where it has types."""

    def is_in_transaction(self) -> bool:
        return True


async def types(sync: psycopg.Connection[Any], other: psycopg.AsyncConnection[Any], asyncpg: Asyncpg) -> None:
    assert_type(claim_run(sync, "n", "k"), bool)
    assert_type(enqueue(sync, "kind", {}), int | None)
    assert_type(claim_run(other, "n", "k"), Awaitable[bool])
    assert_type(await enqueue(other, "kind", {}), int | None)
    assert_type(await claim_run(asyncpg, "n", "k"), bool)
    claim_run("no connection", "n", "k")  # type: ignore[call-overload]
    enqueue(sync, "kind", [])  # type: ignore[call-overload]
