"""A FastAPI application of which every worker enqueues the same slots when it starts."""

import os

import psycopg
from fastapi import FastAPI

app = FastAPI()

# Keys and slots are the same texts here. Nothing keeps a job from being there
# twice: that is up to the claim.
ENQUEUE = """
INSERT INTO river_job (kind, args, queue, max_attempts)
SELECT 'beat', jsonb_build_object('key', slot, 'slot', slot), 'slots', 25
FROM unnest(%s::text[]) AS slot
"""


@app.on_event("startup")
def enqueue() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute(ENQUEUE, [os.environ["SLOTS"].split()])
