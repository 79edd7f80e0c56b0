"""What requests have in common that are stored as JSON, to be made again in this crawl or in the next."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Container

    from scrapy import Request

#: Headers that authorise: a request that has one of them is not stored.
SECRET_HEADERS = frozenset((b"Authorization", b"Proxy-Authorization"))
COOKIE = b"Cookie"


def has_password(address: str) -> bool:
    """Return whether a URL has a user, and perhaps a password."""
    return "@" in address.partition("://")[2].partition("/")[0]


def decoded_headers(request: Request, without: Container[bytes] = ()) -> dict[str, list[str]]:
    """Return the headers of a request as text, byte by byte; ``without``: names of those that are left out."""
    pairs = ((name, values) for name, values in request.headers.items() if name not in without)
    return {name.decode("latin-1"): [value.decode("latin-1") for value in values] for name, values in pairs}


def json_fields(fields: dict[str, Any]) -> dict[str, Any] | None:
    """Return the fields of a request; None if JSON does not give the same ones back."""
    with suppress(TypeError, ValueError):
        return fields if orjson.loads(orjson.dumps(fields)) == fields else None
    return None
