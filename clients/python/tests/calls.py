"""Ranura's side of a call, written from the specification and not from the package."""

import base64
import hashlib
import hmac
import time

SECRET = "whsec_" + base64.b64encode(b"thirty-two bytes, for tests only").decode()


def sign(idempotency_key: str, body: bytes, *, secret: str = SECRET, now: float | None = None) -> dict[str, str]:
    """The headers of a call at ``now``, or now."""
    identity = "msg_" + hashlib.sha256(idempotency_key.encode()).digest()[:16].hex()
    timestamp = str(int(time.time() if now is None else now))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = hmac.new(key, b".".join([identity.encode(), timestamp.encode(), body]), hashlib.sha256).digest()
    return {
        "idempotency-key": idempotency_key,
        "webhook-id": identity,
        "webhook-timestamp": timestamp,
        "webhook-signature": "v1," + base64.b64encode(signature).decode(),
    }
