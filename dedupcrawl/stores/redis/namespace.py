"""The keys of a namespace on a server, its metadata, and its values as the server returns them."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import Candidate, ClaimState, check_scheme
from dedupcrawl.stores.redis.address import LAYOUTS, SHARDED
from dedupcrawl.stores.redis.packed_records import unpack_record
from dedupcrawl.stores.validation import parse_scheme
from dedupcrawl.utils.redaction import SECRET_BYTES, SecretSeed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis import Redis, RedisCluster

FORMAT = "7"  #: version of the values and their relations
SHARDED_FORMAT = "9"  #: format of a namespace on all nodes of a cluster
PREFIX = "dedupcrawl:"
META_PATTERN = f"{PREFIX}{{*}}:meta"  #: matches the key ``meta`` of every namespace
MAX_ID = 2**48 - 1  #: highest id of a record
TIMESTAMP_BYTES = 6  #: of the time in front of a record, in milliseconds

_UNSAFE = re.compile(r"[%{}]")
_META = re.compile(re.escape(PREFIX) + r"\{(.*)\}:meta", re.DOTALL)
_SHELVES = re.compile(rb"\d+ sharded-([2-9]|[1-9]\d{1,8}) \S+")
_MAX_SECONDS = 1e11  # three thousand years


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """How a store on servers opens a namespace; the first five as for :func:`~dedupcrawl.stores.open_store`."""

    lease: float
    ttl: float | None
    secret: SecretSeed | None = None
    reset: bool = False
    clock: Callable[[], float] = time.time
    server_clock: Callable[[], float] | None = None  #: returns the Unix time in place of the server's clock; for tests


@dataclass(frozen=True, slots=True)
class KeyNames:
    """The keys of one namespace.

    The part in braces is their hash tag: all keys of a namespace are on one node of a cluster.
    """

    namespace: str

    def key(self, name: str) -> str:
        """Return the key with this name."""
        tag = _UNSAFE.sub(lambda sign: f"%{ord(sign[0]):02X}", self.namespace)
        return f"{PREFIX}{{{tag}}}:{name}"

    @property
    def all(self) -> tuple[str, ...]:
        """The keys in the order of the scripts; the compact layout adds ``buckets:0``, ``buckets:1`` etc."""
        return tuple(map(self.key, ("meta", "records", "buckets", "claims", "owners", "hot")))


def namespace_of(key: bytes) -> str | None:
    """Return the namespace of a key ``meta``; None for any other key."""
    matched = _META.fullmatch(key.decode("utf-8", "replace"))
    return unquote(matched[1]) if matched else None


@dataclass(frozen=True, slots=True)
class NamespaceMetadata:
    """The metadata of a namespace."""

    mark: bytes  #: format, layout and a random part: a namespace that was created anew has another mark
    layout: str  #: "hash", "compact" or "sharded"
    scheme: str  #: JSON of the configuration that filled it
    secret: SecretSeed | None = None  #: the seed that it keeps
    shelves: int = 1  #: number of bucket hashes under each tag of a sharded namespace
    last: int = 0  #: highest id given when the namespace was opened; records of a sharded one have other ids


def open_namespace(
    call: Callable[..., Any],
    shown: str,
    names: KeyNames,
    *,
    scheme: str | None,
    layout: str | None,
    secret: SecretSeed | None = None,
) -> NamespaceMetadata:
    """Check configuration and layout of a namespace, or create the namespace.

    ``call`` calls a script. ``scheme`` is our configuration in JSON; None accepts any, and requires that the
    namespace exists. ``layout`` None accepts any; a new namespace then gets ``hash``. ``secret`` is the
    secret seed of a new namespace; if several workers offer one, the first stays. The first number behind ``sharded-``,
    that of bucket hashes under each tag, stays too.
    """
    new = f"{format_of(layout or LAYOUTS[0])} {layout or LAYOUTS[0]} {secrets.token_hex(6)}"
    stored_secret = secret.stored() if secret is not None else b""
    mark, stored, kept, last = call("open_namespace", new, scheme or "", stored_secret)
    if mark is None and stored is None:
        raise StoreError(f"The store {shown} has no namespace {names.namespace!r}.")
    found = _parse_meta(mark, stored, shown, names.key("meta"))
    layout = layout and layout.partition("-")[0]
    if (found.layout == SHARDED) != (layout == SHARDED):
        right, other = ("redis-cluster", "all nodes") if found.layout == SHARDED else ("redis+cluster", "one node")
        raise StoreError(
            f"The store {shown} cannot be opened: namespace {names.namespace!r} is on {other} of its cluster: write "
            f"{right}:// to use it, or export it and import it into another namespace."
        )
    if layout not in {None, found.layout}:
        raise StoreError(
            f"The store {shown} cannot be opened: namespace {names.namespace!r} has layout "
            f"{found.layout!r}, and its URL says {layout!r}; to change the layout, "
            "export it and import it into another namespace."
        )
    check_scheme(shown, names.namespace, found.scheme, scheme or found.scheme)
    if kept and len(kept) != SECRET_BYTES:
        raise StoreError(
            f"The store {shown} is damaged: key {names.key('meta')!r} has a value that is not one of ours."
        )
    return replace(found, secret=SecretSeed.from_stored(kept), last=_last_id(last))


def _last_id(stored: bytes | None) -> int:
    """Return the highest id given; for a damaged one the highest that there can be, after which nothing is filed."""
    if stored is None:
        return 0
    return int(stored) if stored.isdigit() and len(stored) <= len(str(MAX_ID)) else MAX_ID


def _parse_meta(mark: bytes | None, scheme: bytes | None, shown: str, key: str) -> NamespaceMetadata:
    """Return the metadata of a namespace; refuse one of an older format, or a damaged one (``StoreError``)."""
    parts = (mark or b"").decode("ascii", "replace").split(" ")
    if len(parts) == 3 and parts[0] != (known := format_of(parts[1])) and parts[0].isdigit():
        raise StoreError(
            f"The store {shown} cannot be opened: it has format {parts[0]}, and this version reads format {known}; "
            "use another namespace and crawl again."
        )
    shelves = _shelves_in(mark)
    layout = "" if len(parts) != 3 else SHARDED if shelves > 1 else parts[1]
    if layout not in {*LAYOUTS, SHARDED} or parse_scheme(scheme or b"") is None:
        raise StoreError(f"The store {shown} is damaged: key {key!r} has a value that is not one of ours.")
    return NamespaceMetadata(mark or b"", layout, (scheme or b"").decode(), shelves=shelves)


def format_of(layout: str) -> str:
    """Return the version of the values in a namespace with this layout."""
    return SHARDED_FORMAT if layout.partition("-")[0] == SHARDED else FORMAT


def stored_shelves(client: Redis | RedisCluster, names: KeyNames) -> int:
    """Return the number of bucket hashes under each tag of a sharded namespace; 1 if it does not exist."""
    return _shelves_in(cast("bytes | None", client.hget(names.key("meta"), "mark")))


def _shelves_in(mark: bytes | None) -> int:
    found = _SHELVES.fullmatch(mark or b"")
    return int(found[1]) if found else 1


def milliseconds(seconds: float) -> int:
    """Round seconds to the milliseconds of the server, within what 6 bytes hold."""
    return round(max(-_MAX_SECONDS, min(seconds, _MAX_SECONDS)) * 1000)


def decode_candidate(
    shown: str, names: KeyNames, hit: Sequence[Any], lived: Callable[[int, bytes, int], bool] | None = None
) -> Candidate:
    """Decode a record that a script returned as id, value, state, and 1 for an own claim.

    Args:
        shown: URL of the store, for the message of an error.
        names: the keys of the namespace.
        hit: what the script returned. A scraped claim of another worker has two more values: the token of the worker,
            and the time up to which it has renewed its claims.
        lived: whether a worker was seen alive, by the id of the claim and these two values; None: none was.
    """
    id, value, state, mine, *worker = hit
    key, time = f"{names.key('records')} {id}", int.from_bytes(value[:TIMESTAMP_BYTES], "big")
    record = unpack_record(value[TIMESTAMP_BYTES:], time, key)
    try:
        witnessed = bool(worker and lived and lived(id, *worker))
        return Candidate(id, record, ClaimState(state), bool(mine), witnessed)
    except ValueError:
        raise DamageError(
            f"The store {shown} is damaged: key {names.key('claims')!r} has a value at {id} that is not one of ours."
        ) from None
