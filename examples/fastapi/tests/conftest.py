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

from calls import SECRET


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    command = [sys.executable, "-m", "uvicorn", "--port", "0", "--app-dir", str(Path(__file__).parents[1]), "main:app"]
    env = os.environ | {"ENDPOINT_EXAMPLE_SECRET": SECRET}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as server:
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
