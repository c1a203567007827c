"""The signature: the specification's vector, and every way to be wrong."""

import base64
import os
from typing import Any

import pytest

from calls import SECRET, sign
from ranura import InvalidArgument
from ranura.webhooks import TOLERANCE, BadSignature, secret, verify, webhook_id

# The vector that the specification publishes.
BODY = b'{"test": 2432232314}'
NOW = 1614265330
VECTOR = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
KEY = secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")


@pytest.mark.parametrize("now", [NOW, NOW - TOLERANCE, NOW + TOLERANCE, NOW + 0.5])
def test_vector(now: float) -> None:
    verify([KEY], VECTOR, BODY, now)


@pytest.mark.parametrize("now", [NOW - TOLERANCE - 1, NOW + TOLERANCE + 1])
def test_stale(now: float) -> None:
    with pytest.raises(BadSignature, match="more than 300 seconds from this clock"):
        verify([KEY], VECTOR, BODY, now)


@pytest.mark.parametrize("changed", [
    {"webhook-id": "msg_other"},
    {"webhook-id": ""},
    {"webhook-id": "msg.p5jXN8AQM9LWM0D4loKWxJek"},
    {"webhook-timestamp": "1614265331"},
    {"webhook-timestamp": ""},
    {"webhook-timestamp": "-1614265330"},
    {"webhook-timestamp": "1614265330.0"},
    {"webhook-timestamp": "١٦١٤٢٦٥٣٣٠"},
    {"webhook-timestamp": "1" * 5000},
    {"webhook-signature": ""},
    {"webhook-signature": "v1,"},
    {"webhook-signature": "v1,é"},
    {"webhook-signature": VECTOR["webhook-signature"][3:]},
    {"webhook-signature": VECTOR["webhook-signature"].replace("v1,", "v1a,")},
    {"webhook-signature": VECTOR["webhook-signature"].replace("g0", "g1")},
    {"webhook-signature": VECTOR["webhook-signature"][:-1]},
])
def test_changed_header(changed: dict[str, str]) -> None:
    with pytest.raises(BadSignature):
        verify([KEY], VECTOR | changed, BODY, NOW)


@pytest.mark.parametrize("name", list(VECTOR))
def test_missing_header(name: str) -> None:
    with pytest.raises(BadSignature, match=name):
        verify([KEY], {n: v for n, v in VECTOR.items() if n != name}, BODY, NOW)


def test_changed_body() -> None:
    with pytest.raises(BadSignature, match="of another secret, id, time or body"):
        verify([KEY], VECTOR, BODY + b" ", NOW)


def test_no_part_moves_over_a_dot() -> None:
    """With a dot in the id, "msg.123" at 456 and "msg" at 123 would be the same signed text."""
    headers = sign("a/b", b"x", now=NOW) | {"webhook-id": "msg.123"}
    with pytest.raises(BadSignature, match="has a dot"):
        verify([secret(SECRET)], headers, b"x", NOW)


def test_rotation() -> None:
    other = secret("whsec_" + base64.b64encode(os.urandom(32)).decode())
    verify([other, KEY], VECTOR, BODY, NOW)
    several = VECTOR["webhook-signature"] + " v1,bm90IHRoaXMgb25l v1a,later v9"
    verify([KEY], VECTOR | {"webhook-signature": "v1,bm90IHRoaXMgb25l " + several}, BODY, NOW)
    with pytest.raises(BadSignature):
        verify([other], VECTOR, BODY, NOW)
    with pytest.raises(BadSignature):
        verify([], VECTOR, BODY, NOW)


@pytest.mark.parametrize("text", [
    "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ", "whsec_not base64", "whsec_é",
    "whsec_" + base64.b64encode(b"a" * 23).decode(), "whsec_" + base64.b64encode(b"a" * 65).decode(),
])
def test_no_secret(text: str) -> None:
    with pytest.raises(InvalidArgument, match="^secret must be whsec_ and the base64 of 24 to 64 random bytes$"):
        secret(text)


def test_webhook_id_is_that_of_the_service() -> None:
    assert webhook_id("weekly_raffle/2026-W22") == "msg_f41fafc406e9c2440e146a4c10e95fb7"


def test_secret_is_in_no_message() -> None:
    def message(call: Any) -> str:
        with pytest.raises((BadSignature, InvalidArgument)) as refused:
            call()
        return str(refused.value)

    assert "MfKQ" not in message(lambda: secret("whsec_MfKQ"))
    assert "MfKQ" not in message(lambda: verify([KEY], VECTOR, b"", NOW))
