"""Endpoints that Ranura calls, in FastAPI or Starlette: each call takes effect once.

::

    ranura = Receiver(engine.begin, os.environ["RANURA_SECRET"])

    @app.post("/jobs/weekly-raffle")
    @ranura.once
    async def weekly_raffle(conn: AsyncConnection, call: Call) -> dict[str, object]:
        ...

It is a decorator and not a dependency, because the answer must come after the
commit, and some versions of FastAPI end a dependency after the answer is sent.
"""

# FastAPI reads the annotations of the endpoint at run time: no
# "from __future__ import annotations" here.

import inspect
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ranura import _arguments, webhooks
from ranura.errors import InvalidArgument
from ranura.jobs import claim_run

MAX_BODY = 64 * 1024
"""Bytes of a call's body; Ranura sends no more."""

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Call:
    """What Ranura calls for: the slot ``key`` of ``name``, or a job by its dedupe key."""

    name: str
    key: str
    body: bytes

    def json(self) -> Any:
        """The body, decoded. Raises ValueError if it is not JSON."""
        return json.loads(self.body)


class Receiver:
    """Makes endpoints of functions. One may serve many endpoints and calls at once.

    ``transaction`` opens one: called without arguments, it answers a context
    manager (sync for ``def`` functions, async for ``async def``) that gives the
    connection, commits at its end and rolls back when an exception leaves it.
    SQLAlchemy's ``engine.begin`` and ``sessionmaker(...).begin`` are such, and
    psycopg's ``pool.connection``.

    ``secret`` is the endpoint's, ``whsec_<base64>``; while it is being
    replaced, give the other one too. Raises :class:`~ranura.InvalidArgument`
    for what is no secret.
    """

    def __init__(self, transaction: Callable[[], Any], secret: str, *other_secrets: str) -> None:
        self._transaction = transaction
        self._secrets = [webhooks.secret(text) for text in (secret, *other_secrets)]

    def once(self, work: Callable[[Any, Call], Any]) -> Endpoint:
        """Make an endpoint of ``work(connection, call)``, sync or async.

        It checks the signature, opens the transaction, claims what the
        ``Idempotency-Key`` names, does the work and commits; then it answers 200
        and ``{"outcome": "done", "result": …}`` with what ``work`` returned,
        plain JSON or None. A repeat does no work and is answered 200 and
        ``{"outcome": "already done"}``. ``work`` must not end the transaction.

        When ``work`` raises, everything rolls back, the claim too, and the call
        may come again: Ranura repeats it, except after most HTTPExceptions of
        4xx, which are final. A Response cannot be returned, because an error
        that is returned would be committed.

        Refused before any transaction: 401 for a signature or a time that is
        wrong, 413 for a body over :data:`MAX_BODY`, 400 for an
        ``Idempotency-Key`` that is not ``name/key``.
        """
        run = self._run_async(work) if inspect.iscoroutinefunction(work) else self._run_sync(work)

        # The endpoint's one parameter: FastAPI must not see those of work, and
        # must not read the body, which it does without a bound.
        async def endpoint(request: Request) -> Response:
            return await run(await self._receive(request))

        endpoint.__name__, endpoint.__doc__ = work.__name__, work.__doc__
        return endpoint

    def _run_async(self, work: Callable[[Any, Call], Awaitable[Any]]) -> Callable[[Call], Awaitable[Response]]:
        async def run(call: Call) -> Response:
            async with self._transaction() as conn:
                if not await claim_run(conn, call.name, call.key):
                    return _already_done()
                return _done(await work(conn, call))

        return run

    def _run_sync(self, work: Callable[[Any, Call], Any]) -> Callable[[Call], Awaitable[Response]]:
        def run(call: Call) -> Response:
            with self._transaction() as conn:
                if not claim_run(conn, call.name, call.key):
                    return _already_done()
                return _done(work(conn, call))

        return lambda call: run_in_threadpool(run, call)

    async def _receive(self, request: Request) -> Call:
        body = await _read(request)
        key = request.headers.get("idempotency-key", "")
        try:
            webhooks.verify(self._secrets, request.headers, body, time.time())
            if request.headers["webhook-id"] != webhooks.webhook_id(key):
                raise webhooks.BadSignature("webhook-id is of another Idempotency-Key")
        except webhooks.BadSignature as error:
            raise HTTPException(401, str(error)) from None
        try:
            return Call(*_split(key), body)
        except ValueError as error:
            raise HTTPException(400, str(error)) from None


def _done(result: object) -> Response:
    # Encoded before the commit: what JSON does not have must roll back.
    return JSONResponse({"outcome": "done", "result": result})


def _already_done() -> Response:
    return JSONResponse({"outcome": "already done"})


async def _read(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise HTTPException(413, f"the body has more than {MAX_BODY} bytes")
    return bytes(body)


def _split(idempotency_key: str) -> tuple[str, str]:
    """Both parts are percent-encoded, so that a slash in one is not the slash between them."""
    parts = [_arguments.text("Idempotency-Key", unquote(part, errors="strict")) for part in idempotency_key.split("/")]
    match parts:
        case [name, key] if name.strip() and key.strip():
            return name, key
    raise InvalidArgument("Idempotency-Key", "must be name/key, both percent-encoded")
