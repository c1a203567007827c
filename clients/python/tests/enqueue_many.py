"""Enqueues one key a hundred times, each in a transaction of its own. For dedupe_test.go."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import psycopg

from ranura import enqueue


def once(_: int) -> int | None:
    with psycopg.connect(os.environ["DATABASE_URL"]) as conn:
        return enqueue(conn, "welcome", {"member_id": 7}, dedupe_key=sys.argv[1])


with ThreadPoolExecutor(4) as threads:
    jobs = set(threads.map(once, range(100)))
assert len(jobs) == 1, jobs
