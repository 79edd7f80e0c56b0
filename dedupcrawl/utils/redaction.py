"""Keeps secrets out of messages, logs, reports and ledgers: passwords in the URL of a store, and secret seeds.

Only the parts of a URL that are known to be harmless are shown: hosts, ports, the number of the database, parameters
that hold a number or one of a few words. Every other part may be a password at the wrong place, and is masked.
"""

from __future__ import annotations

import re
import secrets
from pathlib import PurePath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

if TYPE_CHECKING:
    from collections.abc import Sequence

MASK = "***"
MIN_SECRET_CHARS = 4
LOCAL_SCHEMES = ("lmdb", "memory")  #: of URLs that hold a path and no secrets

_NUMBER = r"\d{1,9}"
_SECONDS = r"\d{1,6}(\.\d{1,6})?"
#: Parameters of a URL, and the values that are shown; None: none.
SHOWN_VALUES: dict[str, str | None] = {
    "layout": "hash|compact",
    "db": _NUMBER,
    "socket_timeout": _SECONDS,
    "socket_connect_timeout": _SECONDS,
    "max_connections": _NUMBER,
    "health_check_interval": _NUMBER,
    "wait_replicas": _NUMBER,
    "pages": _NUMBER,
    "ssl_cert_reqs": "required|optional|none",
    "ssl_check_hostname": "(?i:true|false|yes|no|1|0)",
    "username": None,
    "password": None,
    "client_name": None,
    "ssl_ca_certs": None,
    "ssl_certfile": None,
    "ssl_keyfile": None,
    "sentinel_username": None,
    "sentinel_password": None,
}

_SCHEME = re.compile(r"[A-Za-z+.-]{1,20}")
_HOST = re.compile(r"(\[[\w:.%]+\]|[\w.-]+)(:\d{1,5})?")
_USER = re.compile(r"[\w.%-]*")
#: A service of sentinels and the path of a socket, percent-encoded. Others are not accepted, and are masked.
SERVICE = re.compile(r"[\w.%-]+")
SOCKET = re.compile(r"[\w./ %~+@-]*")
_WITHOUT_SLASHES = re.compile(r"(?!lmdb:|memory:)([A-Za-z+.-]{2,20}):")
_IN_TEXT = re.compile(r"[A-Za-z+.-]+://.*", re.DOTALL)


def hide_password(url: str) -> str:
    """Return the URL of a store with everything masked that may be a secret, for output and logs.

    Masking the result again does not change it. Text that is no URL is returned as it is, unless it looks
    like one with a password.

    >>> hide_password("redis://me:secret@host/0?db=1&Password=secret")
    'redis://me:***@host/0?db=1&***=***'
    """
    scheme, separator, rest = url.strip().partition("://")
    if not separator:
        return _hide_in_text(url)
    if scheme in LOCAL_SCHEMES:
        return url
    if not _SCHEME.fullmatch(scheme):
        return MASK
    return f"{scheme}://{_hide_rest(scheme, rest)}"


def hide_password_in(value: object) -> object:
    """Return a value that should be the URL of a store, and may be of any type, without its secrets."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return hide_password(str(value)) if isinstance(value, str | PurePath) else MASK


def hide_passwords_in_text(text: str) -> str:
    """Mask the URLs of stores in a message. As a password may hold any character, a URL has no certain end.

    >>> hide_passwords_in_text("Got unexpected extra argument (redis://:secret@host)")
    'Got unexpected extra argument (redis://:***@***'
    """
    return _IN_TEXT.sub(lambda found: hide_password(found[0]), text)


def remove_secrets(error: BaseException, secrets: Sequence[str]) -> None:
    """Remove known secrets from an exception and from those that led to it.

    A server that does not know ``AUTH`` repeats its arguments in the error. Secrets of fewer than
    :data:`MIN_SECRET_CHARS` characters are left: they occur in any message.
    """
    known = [each for each in secrets if len(each) >= MIN_SECRET_CHARS]
    chain: list[BaseException] = [error]
    for each in chain:
        each.args = tuple(_without(known, part) if isinstance(part, str) else part for part in each.args)
        chain += [other for other in (each.__cause__, each.__context__) if other is not None and other not in chain]


def _without(secrets: Sequence[str], text: str) -> str:
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


def _hide_in_text(text: str) -> str:
    without_slashes = _WITHOUT_SLASHES.match(text.strip())
    if without_slashes:
        return f"{without_slashes[1]}:{MASK}"
    return MASK if ":" in text.rpartition("@")[0] else text


def _hide_rest(scheme: str, rest: str) -> str:
    head, hash_sign, _ = rest.partition("#")
    head, question, query = head.partition("?")
    place, slash, path = head.partition("/")
    login, at, hosts = place.rpartition("@")
    # An @ behind the host: an unescaped / or ? or # in a password, or a password among the parameters. Nobody
    # knows where it ends.
    if "@" in rest[len(place) :] and (place or scheme != "unix"):
        return MASK
    if scheme == "unix" and place.startswith(":") and not at:  # a password without a host; "/" may be part of it
        return MASK
    return "".join((
        _hide_login(login) + at,
        _hide_hosts(hosts),
        slash + _hide_path(scheme, path),
        question + "&".join(map(_hide_parameter, query.split("&"))) if question else "",
        hash_sign + MASK if hash_sign else "",
    ))  # fmt: skip


def _hide_login(login: str) -> str:
    """Mask a password, and a name that may be a password: one without a password, or with several colons."""
    user, colon, password = login.partition(":")
    if not login:
        return ""
    is_name = bool(password) and (":" not in password or not user) and _USER.fullmatch(user) is not None
    return f"{user}{colon}{MASK}" if is_name else MASK


def _hide_hosts(hosts: str) -> str:
    return hosts if all(map(_HOST.fullmatch, hosts.split(","))) or not hosts else MASK


def _hide_path(scheme: str, path: str) -> str:
    if scheme == "unix":
        return path if SOCKET.fullmatch(path) else MASK
    if scheme.endswith("+sentinel"):
        service, slash, db = path.partition("/")
        return (service if SERVICE.fullmatch(service) or not service else MASK) + slash + _hide_path("", db)
    return path if re.fullmatch(rf"({_NUMBER})?/?", path) else MASK


def _hide_parameter(pair: str) -> str:
    name, equals, value = pair.partition("=")
    name = unquote_plus(name)
    if name not in SHOWN_VALUES:
        return f"{MASK}{equals and equals + MASK}" if pair else ""
    shown = SHOWN_VALUES[name]
    return f"{name}{equals}{value if shown and re.fullmatch(shown, value) else MASK if value else ''}"


# -- secret seeds -------------------------------------------------------------------------------

#: Value of the setting, and what is shown in place of the seed.
SECRET: Final = "secret"  # noqa: S105  # it is a name
SECRET_BYTES = 8  #: size of a secret seed


class SecretSeed(int):
    """A seed that a store keeps: an integer that shows itself as ``secret``.

    JSON encoders write the number of any integer: :func:`~dedupcrawl.detectors.registry.schemes` replaces it
    first.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(SECRET)

    def __str__(self) -> str:
        return SECRET

    def __format__(self, spec: str) -> str:
        return format(SECRET, spec)

    @classmethod
    def draw(cls) -> SecretSeed:
        """Return a new random seed of 64 bits."""
        return cls(secrets.randbits(8 * SECRET_BYTES))

    @classmethod
    def from_stored(cls, data: bytes | None) -> SecretSeed | None:
        """Return the seed that :meth:`stored` wrote; None for None and b""."""
        return cls(int.from_bytes(data, "big")) if data else None

    def stored(self) -> bytes:
        """Return the seed as ``SECRET_BYTES`` bytes."""
        return int(self).to_bytes(SECRET_BYTES, "big")


def without_secrets(value: object) -> object:
    """Return JSON values in which "secret" replaces every secret seed."""
    if isinstance(value, SecretSeed):
        return SECRET
    if isinstance(value, dict):
        return {name: without_secrets(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(each) for each in value]
    return value
