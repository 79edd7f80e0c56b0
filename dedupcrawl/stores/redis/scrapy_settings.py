"""The URL of a store from the connection settings of scrapy-redis, so that a crawl names its server once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit, urlunsplit

from dedupcrawl.errors import SettingError
from dedupcrawl.formatting import hide_password
from dedupcrawl.stores.redis.address import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "scrapy-redis"  #: value of DEDUP_STORE
_SETTINGS = {"REDIS_URL": "url", "REDIS_HOST": "host", "REDIS_PORT": "port", "REDIS_DB": "db"}
# They say how scrapy-redis reads answers and what it repeats; a store does both in its own way.
_IDLE = {
    "encoding",
    "encoding_errors",
    "decode_responses",
    "retry_on_timeout",
    "retry_on_error",
    "redis_cls",
    "protocol",
    "socket_keepalive",
}
_PLACE = ("url", "host", "port", "unix_socket_path", "username", "password", "ssl")


def url_of(settings: Mapping[str, Any]) -> str:
    """Return the URL of the server that scrapy-redis would use.

    Args:
        settings: ``REDIS_URL``, or ``REDIS_HOST``, ``REDIS_PORT`` and ``REDIS_DB``, and ``REDIS_PARAMS``;
            as in scrapy-redis the first four count before what ``REDIS_PARAMS`` says.

    Raises:
        SettingError: ``REDIS_PARAMS`` holds what a store cannot do, or one of them makes no sense.
    """
    given = _params(settings.get("REDIS_PARAMS"))
    named = {ours: settings.get(theirs) for theirs, ours in _SETTINGS.items()}
    params = {**given, **{name: value for name, value in named.items() if value}}
    _refuse_unknown(params)
    rest = {name: _text(value) for name, value in params.items() if name in PARAMETERS and value is not None}
    return _from_url(params["url"], rest) if params.get("url") else _from_parts(params, rest)


def _params(value: object) -> dict[str, Any]:
    """Read ``REDIS_PARAMS``, which the command line gives as JSON; a password in it must not be shown."""
    try:
        given = json.loads(value) if isinstance(value, str) and value else value or {}
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise SettingError("REDIS_PARAMS", "***", "a dict, or one in JSON")
    return given


def _refuse_unknown(params: Mapping[str, Any]) -> None:
    unknown = sorted(params.keys() - PARAMETERS.keys() - _IDLE - {*_PLACE})
    if unknown:
        accepted = ", ".join([*_PLACE, *PARAMETERS])
        raise SettingError("REDIS_PARAMS", unknown, f"only {accepted}; give DEDUP_STORE a URL of its own")


def _from_url(url: str, rest: dict[str, str]) -> str:
    """Add parameters to a URL; what it says itself counts before them, as in redis-py."""
    try:
        parts = urlsplit(str(url))
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise SettingError("REDIS_URL", hide_password(str(url)), '"redis://…", "rediss://…" or "unix://…"')
    if "@" in parts.netloc:
        rest = {name: value for name, value in rest.items() if name not in {"username", "password"}}
    if parts.scheme != "unix" and parts.path.strip("/"):
        rest.pop("db", None)
    said = {each.partition("=")[0] for each in parts.query.split("&")}
    added = urlencode({name: value for name, value in rest.items() if name not in said})
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, added)))))


def _from_parts(params: Mapping[str, Any], rest: dict[str, str]) -> str:
    query = urlencode(rest)
    path = params.get("unix_socket_path")
    if path:
        return f"unix://{quote(str(path))}" + f"?{query}" * bool(query)
    scheme = "rediss" if params.get("ssl") else "redis"
    host = str(params.get("host") or "localhost")
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}:{params.get('port') or 6379}" + f"?{query}" * bool(query)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
