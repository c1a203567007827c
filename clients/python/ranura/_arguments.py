"""Checks each argument where a mistake still has a name.

The database would refuse most of this as well, but it would not name the
field, and the caller's transaction would be lost. Lengths, kinds and ranges are
the database's to judge, so that there is one rule for every language.
"""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime

from ranura.errors import InvalidArgument

# Postgres's integers end there.
_INTEGERS = range(-(2**31), 2**31)

# Deeper than data is, and shallow enough that the encoder does not run out of stack.
_MAX_DEPTH = 100


def text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(field, f"must be text, not {type(value).__name__}")
    if "\0" in value:
        raise InvalidArgument(field, "has a NUL character, which Postgres cannot hold: remove it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(field, "has half of a surrogate pair: decode the text properly") from None
    return value


def integer(field: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidArgument(field, f"must be an integer, not {type(value).__name__}")
    if value not in _INTEGERS:
        raise InvalidArgument(field, "must fit 32 bits")
    return value


def instant(field: str, value: object) -> str:
    """In UTC and as text, which reads the same whatever the session's settings are."""
    if not isinstance(value, datetime):
        raise InvalidArgument(field, f"must be a datetime, not {type(value).__name__}")
    if value.utcoffset() is None:
        raise InvalidArgument(field, "has no zone, so it names no instant: use datetime.now(UTC) or give it a tzinfo")
    try:
        return value.astimezone(UTC).isoformat()
    except OverflowError:
        raise InvalidArgument(field, "is outside the years 1 to 9999 in UTC") from None


def json_object(field: str, value: object) -> str:
    if not isinstance(value, Mapping):
        raise InvalidArgument(field, f"must be a mapping, which becomes a JSON object, not {type(value).__name__}")
    return json.dumps(_plain(field, value, _MAX_DEPTH), ensure_ascii=False, allow_nan=False)


def _plain(field: str, value: object, depth: int) -> object:
    """A copy of what json can encode without guessing."""
    if depth == 0:
        raise InvalidArgument(field, f"is nested more than {_MAX_DEPTH} deep")
    match value:
        case None | bool() | int():
            return value
        case float():
            if not math.isfinite(value):
                raise InvalidArgument(field, "is no number that JSON has: leave it out or send None")
            return value
        case str():
            return text(field, value)
        case Mapping():
            # json would write the key 7 as "7", and then perhaps twice.
            return {text(f"a key of {field}", k): _plain(f"{field}.{k}", v, depth - 1) for k, v in value.items()}
        case list() | tuple():
            return [_plain(f"{field}[{i}]", v, depth - 1) for i, v in enumerate(value)]
    raise InvalidArgument(field, f"is a {type(value).__name__}, which JSON does not have: convert it first")
