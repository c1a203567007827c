"""The application behind a real uvicorn; replicas of Ranura run beside it, see python_test.go."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    port = os.environ["ENDPOINT_EXAMPLE_URL"].rpartition(":")[2]  # where the replicas call
    command = [sys.executable, "-m", "uvicorn", "--port", port, "--app-dir", str(Path(__file__).parents[1]), "main:app"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield httpx.Client(base_url=_address(server))
        finally:
            server.terminate()


def _address(server: subprocess.Popen[str]) -> str:
    said = ""
    for line in server.stderr or ():
        said += line
        if found := re.search(r"running on (http://\S+)", line):
            return found[1]
    pytest.fail(f"uvicorn ended:\n{said}")


@pytest.fixture
def database() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as conn:
        yield conn
