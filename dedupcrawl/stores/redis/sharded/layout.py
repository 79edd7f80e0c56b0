"""Where records and buckets of a sharded namespace lie: tags, keys, ids, and the commands that read and write them.

A record lies under the tag of its id, its home; a bucket under the tag of its key. The home of a page is the tag of its
URL's key, so that all records of a URL are under one tag. ``lua/shard_layout.lua`` is this module's part on the server.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from redis.crc import key_slot

from dedupcrawl.stores.base import Candidate, ClaimState
from dedupcrawl.stores.redis.address import SHARDED
from dedupcrawl.stores.redis.sharded.packed_values import TIME_BYTES, ValueCodec, filed_in
from dedupcrawl.utils.extensions import load_extension

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dedupcrawl.stores.redis.namespace import KeyNames

TAGS = 1024  #: parts of a namespace
_TAG_SHIFT = 6  # the first 10 bits of the first two bytes
_REST_BITS = 38  # the other bits of a key or an id
_REST = (1 << _REST_BITS) - 1
#: Buckets of a full shelf, far below the entries up to which servers keep a hash as a flat list (512 by default): such
#: a bucket takes 14 bytes, one in a table 54.
SHELF = 64
COUNTED = 16  #: bucket hashes of a tag that are counted; beyond them the number of ids is estimated
_KEYS_OF_PAGE = 8  # with the default detectors
ID_BYTES = 6  #: of a short id: 10 bits of its home, 38 random ones
_SHORT = 1 << 8 * ID_BYTES
_FIELD_BYTES = 3  #: of a bucket in one of several hashes
_FIELD_MASK = (1 << 8 * _FIELD_BYTES) - 1
_STATES = {b"c": ClaimState.COMMITTED, b"p": ClaimState.OPEN, b"o": ClaimState.OPEN, b"u": ClaimState.OPEN}
SCRAPED = b"\2"
OPENED = b"\1"


def _load() -> Any:
    module, _ = load_extension("dedupcrawl.stores.redis.sharded._commands", 1)
    return module


compiled = _load()  #: makes commands of buckets, and requests; without it Python does


class Command(NamedTuple):
    """A command for whichever node has the slot."""

    slot: int
    words: tuple[bytes, ...]


class Found(NamedTuple):
    """What stands at the home of an id."""

    state: bytes  #: c committed, p pending, o open or scraped, u unknown, X absent
    value: bytes = b""
    owner: bytes = b""  #: token and state of the claim

    @property
    def token(self) -> bytes:
        """The token of the claim's owner."""
        return self.owner[:8]


@dataclass(frozen=True, slots=True)
class _Tag:
    slot: int
    records: bytes
    stages: bytes
    buckets: bytes


class ShardLayout:
    """The keys of a sharded namespace, and the commands of its protocol.

    Args:
        names: the keys of the namespace.
        shown: the URL of the store without passwords, for messages.
        pages: how many pages a new namespace is planned for.

    The buckets of a tag are in ``shelves`` hashes. Their number is that of the namespace, and never changes.
    """

    def __init__(self, names: KeyNames, shown: str, pages: int = 0) -> None:
        self.shown = shown
        self.shelves = max(1, round(pages * _KEYS_OF_PAGE / (TAGS * SHELF)))
        self.codec = ValueCodec("{}")  #: set when the scheme of the namespace is known
        self.prefix = names.key("").removesuffix("}:")  # up to the tag
        self._owners = names.key("owners").encode()
        self._owners_slot = key_slot(self._owners)
        self._tags = [self._tag(n) for n in range(TAGS)]

    def _tag(self, n: int) -> _Tag:
        start = f"{self.prefix}:{n:x}}}:".encode()
        return _Tag(key_slot(start), start + b"r", start + b"s", start + b"b")

    @property
    def name(self) -> str:
        """The layout as the metadata of a new namespace has it."""
        return SHARDED if self.shelves == 1 else f"{SHARDED}-{self.shelves}"

    # -- ids ------------------------------------------------------------------------------------

    def new_id(self, home: bytes) -> bytes:
        """Return a short id for a page whose URL has this key; b"" if it has none."""
        home, random = home or os.urandom(2), os.urandom(ID_BYTES - 1)
        low = (1 << _TAG_SHIFT) - 1
        return b"%c%c%b" % (home[0], home[1] & ~low | random[0] & low, random[1:])

    def candidate(self, id: bytes, found: Found, tokens: set[bytes]) -> Candidate:
        """Decode a record; raise ``DamageError`` if it is damaged. ``tokens`` are those of the store object."""
        record = self.codec.unpack(found.value, lambda: f"{self._home(id).records.decode()} {id.hex()}")
        is_scraped = found.state == b"o" and found.owner[8:] == SCRAPED
        state = ClaimState.SCRAPED if is_scraped else _STATES[found.state]
        mine = state is not ClaimState.COMMITTED and found.token in tokens
        return Candidate(long_id(id, found.value), record, state, mine)

    # -- commands at the home of a record -------------------------------------------------------

    def _home(self, id: bytes) -> _Tag:
        return self._tags[int.from_bytes(id[:2], "big") >> _TAG_SHIFT]

    def _at_home(self, name: str, id: bytes, *words: bytes) -> Command:
        tag = self._home(id)
        return Command(tag.slot, (b"EVALSHA", _DIGESTS[name], b"2", tag.records, tag.stages, id[1:], *words))

    def file(self, id: bytes, value: bytes, owner: bytes, key: bytes) -> Command:
        """File a pending record, and place its id in this bucket, which has the same tag; ``key`` b"" for none."""
        tag = self._home(id)
        _, shelf, _, field = self._shelf(key) if key else (0, tag.buckets, b"", b"")
        words = (tag.records, tag.stages, shelf, id[1:], value, owner, field, id, key[1:])
        return Command(tag.slot, (b"EVALSHA", _DIGESTS["file"], b"3", *words))

    def peek(self, id: bytes) -> Command:
        """Read a record cheaply; :meth:`peeked` decodes the reply."""
        tag, field = self._home(id), id[1:]
        return Command(tag.slot, (b"HMGET", tag.records, field, field + b"o"))

    @staticmethod
    def peeked(reply: Any) -> Found | None:
        """Return a committed record; None if another command must tell."""
        value, mark = reply
        return None if value is None or mark is not None else Found(b"c", value)

    def fetch(self, id: bytes, now: int) -> Command:
        """Read what stands at a home, and condemn an id that is absent."""
        return self._at_home("fetch", id, packed_time(now))

    def look(self, id: bytes) -> Command:
        """Read what stands at a home, and change nothing."""
        return self._at_home("look", id)

    def wound(self, id: bytes, blocker: bytes, now: int) -> Command:
        """Ask a pending page to give way if the blocker is kept, and condemn an id that is absent."""
        return self._at_home("wound", id, blocker, packed_time(now))

    def claim(self, id: bytes) -> Command:
        """Turn a pending record into an open claim: the reply is 1 unless it was wounded, or the call is repeated."""
        tag = self._home(id)
        return Command(tag.slot, (b"HDEL", tag.stages, b"p" + id[1:]))

    def settle(self, id: bytes, owner: bytes, known: bytes, value: bytes, *, commit: bool) -> Command:
        """Claim in spite of wounds by these blockers (b"*": by any), with another record unless that is b""."""
        return self._at_home("settle", id, owner, known, value, b"1" if commit else b"")

    def commit(self, id: bytes) -> Command:
        """Make a claim permanent."""
        return self._at_home("commit", id)

    def scraped(self, id: bytes, token: bytes) -> Command:
        """Mark a claim as scraped."""
        return self._at_home("scraped", id, token)

    def adopt(self, id: bytes, old: bytes, new: bytes) -> Command:
        """Give a claim to the next token of its worker."""
        return self._at_home("adopt", id, old, new)

    def bury(self, id: bytes, token: bytes, now: int, *, pending: bool = False) -> Command:
        """Remove the claim of this worker, and condemn its id; ``pending``: unless it has been claimed meanwhile."""
        return self._at_home("bury", id, token, packed_time(now), b"1" if pending else b"")

    def remove(self, id: bytes, filed: bytes, condemned: int | None = None) -> Command:
        """Remove a record that was filed at this time; ``condemned`` is the time of now if it may still arrive."""
        return self._at_home("remove", id, filed, b"" if condemned is None else packed_time(condemned))

    # -- commands at a bucket -------------------------------------------------------------------

    def _shelf(self, key: bytes) -> tuple[int, bytes, bytes, bytes]:
        """Return the slot and the hash of a bucket, the stages of its tag, and the field.

        The first bits of a key choose the tag. The remainder of the others by the number of hashes is the hash. The
        last bytes of their quotient are the field: in a hash of ``SHELF`` buckets, a key shares its bucket with
        another in four cases of a million. So pages may meet that have no key in common, and their sketches differ.
        """
        bits = int.from_bytes(key, "big")
        tag = self._tags[bits >> _REST_BITS]
        if self.shelves == 1:
            return tag.slot, tag.buckets, tag.stages, key[1:]
        rest, shelf = divmod(bits & _REST, self.shelves)
        field = (rest & _FIELD_MASK).to_bytes(_FIELD_BYTES, "big")
        return tag.slot, b"%b%x" % (tag.buckets, shelf), tag.stages, field

    def place(self, key: bytes, id: bytes) -> Command:
        """Place an id in an empty bucket; the reply is 1 unless the bucket has ids, maybe this one by a former call."""
        slot, shelf, _, field = self._shelf(key)
        return Command(slot, (b"HSETNX", shelf, field, id))

    def bucket(self, key: bytes) -> Command:
        """Read the ids of a bucket."""
        slot, shelf, _, field = self._shelf(key)
        return Command(slot, (b"HGET", shelf, field))

    def places(self, keys: Iterable[bytes], id: bytes) -> list[Command]:
        """Return :meth:`place` for each of these keys."""
        if compiled is None:
            return [self.place(key, id) for key in keys]
        found: list[Command] = compiled.bucket_commands(Command, b"HSETNX", keys, id, self._tags, self.shelves)
        return found

    def read_buckets(self, keys: Iterable[bytes]) -> list[Command]:
        """Return :meth:`bucket` for each of these keys."""
        if compiled is None:
            return [self.bucket(key) for key in keys]
        found: list[Command] = compiled.bucket_commands(Command, b"HGET", keys, None, self._tags, self.shelves)
        return found

    def join(self, key: bytes, id: bytes) -> Command:
        """Place an id in a bucket where others stand; the reply is those before."""
        slot, shelf, stages, field = self._shelf(key)
        return Command(slot, (b"EVALSHA", _DIGESTS["join"], b"2", shelf, stages, field, id, key[1:]))

    def leave(self, key: bytes, id: bytes) -> Command:
        """Remove an id from a bucket."""
        slot, shelf, stages, field = self._shelf(key)
        return Command(slot, (b"EVALSHA", _DIGESTS["leave"], b"2", shelf, stages, field, id, key[1:]))

    # -- commands about workers and whole tags --------------------------------------------------

    def alive(self, tokens: Sequence[bytes], now: bytes) -> Command:
        """Ask for each worker whether its lease runs; ``now`` b"": by the clock of the server."""
        words = (b"EVALSHA", _DIGESTS["alive"], b"1", self._owners, now, *tokens)
        return Command(self._owners_slot, words)

    def keep_lease(self, token: bytes) -> Command:
        """Write the lease of a worker again: replicas are waited for as with any write of the wire."""
        return Command(self._owners_slot, (b"EVALSHA", _DIGESTS["keep_lease"], b"1", self._owners, token))

    def records(self, n: int, cursor: bytes, count: int) -> Command:
        """Read a batch of the records of tag ``n``; :meth:`listed` decodes the reply."""
        tag = self._tags[n]
        words = (b"EVALSHA", _DIGESTS["list"], b"2", tag.records, tag.stages, cursor, b"%d" % count)
        return Command(tag.slot, words)

    @staticmethod
    def listed(n: int, reply: Any) -> tuple[bytes, list[tuple[bytes, Found]]]:
        """Return the next cursor, b"0" at the end, and the records with their short ids."""
        first = ShardLayout.first_byte(n)
        return reply[0], [(first + rest, Found(state, value, owner)) for rest, state, value, owner in reply[1]]

    @staticmethod
    def first_byte(n: int) -> bytes:
        """Return the first byte of the ids and keys of tag ``n``, which their fields lack."""
        return bytes([n << _TAG_SHIFT >> 8])

    @staticmethod
    def tag_of(key: bytes) -> int:
        """Return the tag of a key."""
        return int.from_bytes(key[:2], "big") >> _TAG_SHIFT

    def sweep(self, n: int, before: int) -> Command:
        """Remove what is left of claims that ended, and ids that were condemned before this time."""
        tag = self._tags[n]
        return Command(tag.slot, (b"EVALSHA", _DIGESTS["sweep"], b"2", tag.records, tag.stages, packed_time(before)))

    def census(self, n: int, samples: int) -> Command:
        """Count what is under tag ``n``, of its buckets those of the first ``COUNTED`` hashes."""
        tag = self._tags[n]
        keys = (tag.records, tag.stages, *self.bucket_keys(n, COUNTED))
        return Command(tag.slot, (b"EVALSHA", _DIGESTS["census"], b"%d" % len(keys), *keys, b"%d" % samples))

    def keys(self, n: int) -> tuple[int, tuple[bytes, ...]]:
        """Return the slot and the keys of tag ``n``, without those of buckets."""
        tag = self._tags[n]
        return tag.slot, (tag.records, tag.stages)

    def bucket_keys(self, n: int, most: int, shelves: int | None = None) -> list[bytes]:
        """Return the keys of the first bucket hashes of tag ``n``; ``shelves`` if there are as many of them."""
        name, shelves = self._tags[n].buckets, shelves or self.shelves
        return [b"%b%x" % (name, each) for each in range(min(most, shelves))] if shelves > 1 else [name]


def short_id(id: int) -> bytes:
    """Return the last part of the id of a candidate, under which it is stored."""
    return (id % _SHORT).to_bytes(ID_BYTES, "big")


def long_id(id: bytes, value: bytes) -> int:
    """Return the id of a candidate: the time at which it was filed, and its short id."""
    return filed_in(value) * _SHORT + int.from_bytes(id, "big")


def packed_time(milliseconds: int) -> bytes:
    """Return a time as a server keeps it."""
    return milliseconds.to_bytes(TIME_BYTES, "big")


def ids_in(packed: bytes) -> list[bytes]:
    """Return the ids of a bucket, the newest last."""
    if len(packed) == ID_BYTES:
        return [packed]
    return [packed[at : at + ID_BYTES] for at in range(0, len(packed), ID_BYTES)]


@cache
def scripts() -> Mapping[bytes, bytes]:
    """Return the scripts by their digests."""
    return {sha1(text, usedforsecurity=False).hexdigest().encode(): text for text in _texts().values()}


@cache
def _texts() -> dict[str, bytes]:
    parts = dict(_sections("shard_layout")) | dict(_sections("shard"))
    functions = {name: text for name, text in parts.items() if f"local function {name}(" in text}
    names = [name for name in parts if name not in functions]
    return {name: _with_functions(parts[name], functions).encode() for name in names}


def _sections(file: str) -> Iterator[tuple[str, str]]:
    text = (files("dedupcrawl.stores.redis") / "lua" / f"{file}.lua").read_text(encoding="utf-8")
    for section in text.split("\n--@ ")[1:]:
        name, _, code = section.partition("\n")
        yield name, "\n".join(line for line in code.split("\n") if line and not line.startswith("--"))


def _with_functions(code: str, functions: Mapping[str, str]) -> str:
    """Put the functions that a script calls in front of it, each after those that it calls itself."""
    needed: dict[str, str] = {}

    def collect(text: str) -> None:
        for name, function in functions.items():
            if f"{name}(" in text and function != text and name not in needed:
                collect(function)
                needed[name] = function

    collect(code)
    return "\n".join([*needed.values(), code])


_DIGESTS = {name: sha1(text, usedforsecurity=False).hexdigest().encode() for name, text in _texts().items()}
