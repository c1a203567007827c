"""The signature of a call that Ranura makes, by the Standard Webhooks specification.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence

from ranura.errors import InvalidArgument

TOLERANCE = 5 * 60
"""How many seconds a call may be older or younger than our clock says."""

_PREFIX = "whsec_"

# The specification's bounds: shorter can be guessed, longer is hashed down anyway.
_SECRET_BYTES = range(24, 65)


class BadSignature(Exception):
    """The call is not from Ranura, or not from now. The message says why, and holds no secret."""


def secret(text: str) -> bytes:
    """The key in ``whsec_<base64>``, which has 24 to 64 bytes.

    Raises :class:`~ranura.InvalidArgument`, which does not show the text.
    """
    try:
        key = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(_PREFIX) or len(key) not in _SECRET_BYTES:
        raise InvalidArgument("secret", f"must be {_PREFIX} and the base64 of 24 to 64 random bytes")
    return key


def verify(secrets: Sequence[bytes], headers: Mapping[str, str], body: bytes, now: float) -> None:
    """Return if one of the secrets signed this body at about ``now``.

    ``secrets`` are those of :func:`secret`; while one is being replaced, both.
    ``headers`` finds a name however it is written, as those of Starlette and
    httpx do; in a plain dict they are in small letters. ``now`` is Unix time in
    seconds.

    It does not tell a repeat: the same call is valid again within
    :data:`TOLERANCE`. Claim by what the call names.

    Raises :class:`BadSignature`.
    """
    identity, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    # The signature joins its parts by dots: with one in the id, another id and
    # another body would have the same signature.
    if not identity or "." in identity:
        raise BadSignature("webhook-id is missing, or has a dot")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise BadSignature("webhook-timestamp is missing, or is not Unix time in seconds")
    signed = f"{identity}.{timestamp}.".encode() + body
    expected = [hmac.digest(key, signed, hashlib.sha256) for key in secrets]
    if not _any_equal(expected, headers.get("webhook-signature", "")):
        raise BadSignature("webhook-signature is missing, or of another secret, id, time or body")
    if abs(now - int(timestamp)) > TOLERANCE:
        raise BadSignature(f"webhook-timestamp is more than {TOLERANCE} seconds from this clock")


def webhook_id(idempotency_key: str) -> str:
    """The ``webhook-id`` that belongs to an ``Idempotency-Key``.

    The signature covers the id and not the key. Without this bond, whoever saw
    one call could send it again under another key.
    """
    return "msg_" + hashlib.sha256(idempotency_key.encode()).hexdigest()[:32]


def _any_equal(expected: Sequence[bytes], header: str) -> bool:
    """Compare every signature of the header with every expected one, in constant time."""
    equal = False
    for signature in header.split():
        version, _, encoded = signature.partition(",")
        if version != "v1":  # a later version of the specification, beside ours
            continue
        try:
            given = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            continue
        for digest in expected:
            equal |= hmac.compare_digest(digest, given)
    return equal
