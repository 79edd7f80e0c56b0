"""The address of a server: from the URL of a store, or from the settings of scrapy-redis.

This module does not import redis-py: a crawl without a server starts without it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from dedupcrawl.errors import SettingError
from dedupcrawl.utils.redaction import SERVICE, SOCKET, hide_password, hide_password_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LAYOUTS = ("hash", "compact")
SHARDED = "sharded"  #: the layout of a namespace on all nodes of a cluster
URL_SCHEMES = (
    "redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster",
    "redis-cluster", "rediss-cluster",
)  # fmt: skip
URL_FORMS = (
    '"redis://[user:password@]host[:port]/db", "rediss://…" (TLS), "unix:///path/of/socket?db=0", '
    '"redis+sentinel://host:port,host:port/service/db", "redis+cluster://host:port,host:port" (one node) '
    'or "redis-cluster://host:port,host:port" (all nodes of a cluster); in a password, '
    "percent-encode / ? # @ & and %"
)
PORT, SENTINEL_PORT = 6379, 26379  #: where the URL names none
PLANNED = 1_000_000  #: planned pages of a new namespace on a cluster, if the URL names no number
TIMEOUT = 10.0  #: seconds for connecting, and for each reply, where the URL names none

SCRAPY_REDIS = "scrapy-redis"  #: value of ``DEDUP_STORE`` that selects the server of scrapy-redis
_SETTINGS = {"REDIS_URL": "url", "REDIS_HOST": "host", "REDIS_PORT": "port", "REDIS_DB": "db"}
#: Parameters of scrapy-redis for decoding and retries, which a store does in its own way.
_IGNORED = {"encoding", "encoding_errors", "decode_responses", "redis_cls", "protocol", "socket_keepalive"} | {
    "retry_on_error",
    "retry_on_timeout",
}
_HOST_NAME = re.compile(r"[\w.:%-]+")  # a name, or an address of either kind
_LOCATION = ("url", "host", "port", "unix_socket_path", "username", "password", "ssl")


def _parse_seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e6:
        raise ValueError
    return seconds


def _parse_count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _parse_bool(text: str) -> bool:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.lower()]


def _one_of(*accepted: str) -> Callable[[str], str]:
    return lambda text: accepted[accepted.index(text)]


#: Parameters of the URL: how each is parsed, and what is accepted. Their names are those of redis-py.
PARAMETERS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "layout": (_one_of(*LAYOUTS), '"hash" or "compact"'),
    "db": (_parse_count, "a number from 0"),
    "username": (str, "a text"),
    "password": (str, "a text"),
    "socket_timeout": (_parse_seconds, "seconds, above 0"),
    "socket_connect_timeout": (_parse_seconds, "seconds, above 0"),
    "max_connections": (_parse_count, "a number from 1"),
    "health_check_interval": (_parse_count, "seconds, from 0"),
    "client_name": (str, "a text"),
    "ssl_ca_certs": (str, "a file of certificates"),
    "ssl_certfile": (str, "a certificate file"),
    "ssl_keyfile": (str, "a key file"),
    "ssl_cert_reqs": (_one_of("required", "optional", "none"), '"required", "optional" or "none"'),
    "ssl_check_hostname": (_parse_bool, "true or false"),
    "wait_replicas": (_parse_count, "a number of replicas, from 0"),
    "pages": (_parse_count, "a number of pages, from 0"),
    "sentinel_username": (str, "a text"),
    "sentinel_password": (str, "a text"),
}


@dataclass(frozen=True)
class ConnectionOptions:
    """Where a server is, and how to connect to it."""

    shown: str  #: the URL without passwords, for messages
    options: Mapping[str, Any] = field(repr=False)  #: arguments of redis-py's connections
    layout: str | None = None  #: "hash", "compact" or "sharded"; None: that of the store, ``hash`` for a new one
    tls: bool = False
    sentinels: tuple[tuple[str, int], ...] = ()  #: hosts and ports
    service: str = ""  #: name of the primary, which the sentinels know
    sentinel_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    seeds: tuple[tuple[str, int], ...] = ()  #: hosts and ports of some nodes of a cluster
    wait_replicas: int = 0  #: number of replicas that must acknowledge a claim
    pages: int = PLANNED  #: how many a new namespace on a cluster is planned for; 0: some ten thousand

    @property
    def secrets(self) -> tuple[str, ...]:
        """The passwords, for :func:`~dedupcrawl.utils.redaction.remove_secrets`."""
        found = (self.options.get("password"), self.sentinel_options.get("password"))
        return tuple(each for each in found if each)


def is_server(url: object) -> bool:
    """Whether a URL names a store on a server."""
    return isinstance(url, str) and url.partition("://")[0] in URL_SCHEMES and "://" in url


def read_address(url: str) -> ConnectionOptions:
    """Parse the URL of a store on a server.

    Raises:
        SettingError: the URL is not accepted. The message shows no part of it that may be a password.
    """
    shown = hide_password(url)
    try:
        parts = urlsplit(url)
        options = _options(parts, shown)
        return _address(parts, shown, options)
    except (ValueError, LookupError) as error:
        if isinstance(error, SettingError):
            raise
        raise SettingError("store", shown, URL_FORMS) from None


def _address(parts: SplitResult, shown: str, options: dict[str, Any]) -> ConnectionOptions:
    layout = options.pop("layout", None)
    credentials = {name[9:]: options.pop(name) for name in list(options) if name.startswith("sentinel_")}
    options = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT} | _credentials(parts) | options
    tls = parts.scheme.startswith("rediss")
    if parts.scheme == "unix":
        if not parts.path.strip("/") or not SOCKET.fullmatch(parts.path):
            raise ValueError
        return ConnectionOptions(shown, {"path": unquote(parts.path), **options}, layout)
    if parts.scheme.endswith("+sentinel"):
        service, _, db = parts.path.strip("/").partition("/")
        if not SERVICE.fullmatch(service):
            raise ValueError
        hosts = _hosts(parts, SENTINEL_PORT)
        return ConnectionOptions(shown, _with_db(options, db), layout, tls, hosts, unquote(service), credentials)
    is_sharded = parts.scheme.endswith("-cluster")
    if {"wait_replicas", "pages"} & options.keys() and not is_sharded:
        raise SettingError("store", shown, "wait_replicas and pages only in redis-cluster://")
    if is_sharded and layout is not None:
        raise SettingError("store", shown, "no layout: redis-cluster:// has one of its own")
    if is_sharded or parts.scheme.endswith("+cluster"):
        options = _with_db(options, parts.path.strip("/"))
        if options.pop("db"):
            raise SettingError("store", shown, "no database but 0, the only one of a cluster")
        wait, pages = options.pop("wait_replicas", 0), options.pop("pages", PLANNED)
        layout = SHARDED if is_sharded else layout
        return ConnectionOptions(
            shown, options, layout, tls, seeds=_hosts(parts, PORT), wait_replicas=wait, pages=pages
        )
    host, port = _host(parts.netloc.rpartition("@")[2], PORT)
    return ConnectionOptions(
        shown, _with_db({"host": host, "port": port, **options}, parts.path.strip("/")), layout, tls
    )


def _with_db(options: dict[str, Any], path: str) -> dict[str, Any]:
    return {**options, "db": options.get("db", _parse_count(path or "0"))}


def _hosts(parts: SplitResult, default: int) -> tuple[tuple[str, int], ...]:
    return tuple(_host(each, default) for each in parts.netloc.rpartition("@")[2].split(","))


def _host(text: str, default: int) -> tuple[str, int]:
    """Parse ``host``, ``host:port`` or ``[IPv6]:port``.

    Errors of a connection show the host. So a text that may be a password at the wrong place is not accepted as a host.
    """
    parts = urlsplit(f"//{text}")
    host = unquote(parts.hostname or "")
    if not _HOST_NAME.fullmatch(host):
        raise ValueError
    return host, default if parts.port is None else parts.port


def _credentials(parts: SplitResult) -> dict[str, str]:
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    given = {"username": unquote(user), "password": unquote(password)}
    return {name: value for name, value in given.items() if value}


def _options(parts: SplitResult, shown: str) -> dict[str, Any]:
    if parts.fragment:
        raise ValueError
    found: dict[str, Any] = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)):
        if name not in PARAMETERS:
            raise SettingError("store", shown, _accepted_parameters(name))
        parse, accepted = PARAMETERS[name]
        try:
            found[name] = parse(text)
        except (ValueError, KeyError):
            raise SettingError("store", shown, f"{name} is {accepted}") from None
    return found


def _accepted_parameters(name: str) -> str:
    """Describe the accepted parameters, and the one that was probably meant.

    The unknown name itself is not shown: it may be the part of a password behind an unescaped ``&``.
    """
    near = get_close_matches(name.strip().lower(), PARAMETERS, 1)
    meant = f"; in place of an unknown one, {near[0]} was probably meant" if near else ""
    return f"the parameters {', '.join(PARAMETERS)}, in lower case{meant}"


def url_from_settings(settings: Mapping[str, Any]) -> str:
    """Return the URL of the server that scrapy-redis would use.

    Args:
        settings: the Scrapy settings ``REDIS_URL``, or ``REDIS_HOST``, ``REDIS_PORT`` and ``REDIS_DB``, and
            ``REDIS_PARAMS``. As in scrapy-redis, the first four override ``REDIS_PARAMS``.

    Raises:
        SettingError: ``REDIS_PARAMS`` holds a parameter that a store does not support, or a value is invalid.
    """
    given = _params(settings.get("REDIS_PARAMS"))
    named = {ours: settings.get(theirs) for theirs, ours in _SETTINGS.items()}
    params = {**given, **{name: value for name, value in named.items() if value}}
    _refuse_unknown(params)
    known = ((name, value) for name, value in params.items() if name in PARAMETERS and value is not None)
    rest = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in known}
    return _from_url(params["url"], rest) if params.get("url") else _from_parts(params, rest)


def _params(value: object) -> dict[str, Any]:
    """Read ``REDIS_PARAMS``, which the command line gives as JSON. It may hold a password: never show it."""
    try:
        given = json.loads(value) if isinstance(value, str) and value else value or {}
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise SettingError("REDIS_PARAMS", "***", "a dict, or one in JSON")
    return given


def _refuse_unknown(params: Mapping[str, Any]) -> None:
    unknown = sorted(params.keys() - PARAMETERS.keys() - _IGNORED - {*_LOCATION})
    if unknown:
        accepted = ", ".join([*_LOCATION, *PARAMETERS])
        raise SettingError("REDIS_PARAMS", unknown, f"only {accepted}; give DEDUP_STORE a URL of its own")


def _from_url(url: str, rest: dict[str, str]) -> str:
    """Add parameters to a URL; those in the URL itself take precedence, as in redis-py."""
    try:
        parts = urlsplit(str(url))
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise SettingError("REDIS_URL", hide_password_in(url), '"redis://…", "rediss://…" or "unix://…"')
    if "@" in parts.netloc:
        rest = {name: value for name, value in rest.items() if name not in {"username", "password"}}
    if parts.scheme != "unix" and parts.path.strip("/"):
        rest.pop("db", None)
    given = {each.partition("=")[0] for each in parts.query.split("&")}
    added = urlencode({name: value for name, value in rest.items() if name not in given})
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, added)))))


def _from_parts(params: Mapping[str, Any], rest: dict[str, str]) -> str:
    query = urlencode(rest)
    path = params.get("unix_socket_path")
    if path:
        return f"unix://{quote(str(path))}" + f"?{query}" * bool(query)
    scheme = "rediss" if params.get("ssl") else "redis"
    host = str(params.get("host") or "localhost")
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}:{params.get('port') or PORT}" + f"?{query}" * bool(query)
