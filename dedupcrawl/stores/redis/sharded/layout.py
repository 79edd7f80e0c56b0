"""Where records and buckets of a sharded namespace lie: tags, keys, ids, and the commands that read and write them.

A record lies under the tag of its id, its home; a bucket under the tag of its key. The home of a page is the tag of its
URL's key, so that all records of a URL are under one tag. ``lua/shard_layout.lua`` is this module's part on the server.

======================  ====  ==================================================================================
part of an id           bits  meaning
======================  ====  ==================================================================================
tag                       10  of the home
pieces                     2  in how many pieces the record lies in a small hash; 0: whole, in the hash of the tag
random               20, 28   in a namespace that is planned for up to ``SHORT_IDS`` pages under a tag, and in others
======================  ====  ==================================================================================
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from redis.crc import key_slot

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import Candidate, ClaimState
from dedupcrawl.stores.redis.address import SHARDED
from dedupcrawl.stores.redis.sharded.packed_values import TIME_BYTES, ValueCodec, compiled, filed_in
from dedupcrawl.stores.redis.sharded.shard_scripts import DIGESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from dedupcrawl.stores.redis.namespace import KeyNames

TAGS = 1024  #: parts of a namespace
_TAG_SHIFT = 6  # the first 10 bits of the first two bytes
_REST_BITS = 38  # the other bits of a key or an id
_REST = (1 << _REST_BITS) - 1
_PIECES_SHIFT, _PIECES = 4, 3  # of the second byte of an id, whose first two bits belong to the tag
_FIELD_BITS = 0x3F  # of that byte: a field has the number of a piece instead of the tag's bits
_MARK = 0xC0  # in place of the number of a piece: the record is a claim
#: Buckets of a full shelf, far below the entries up to which servers keep a hash as a flat list (512 by default): such
#: a bucket takes 12 bytes, one in a table 54.
SHELF = 64
COUNTED = 128  #: bucket hashes of a tag that are counted; beyond them the number of ids is estimated
KEYS_OF_PAGE = 8  #: with the default detectors
RECORDS = 32  #: of a full hash of records in pieces: a piece takes 8 bytes more than its own, a value in a table 55
PIECE = 63  #: bytes. Servers keep values of up to 64 in a flat list, and from 64 on their size takes another byte.
LISTED = 8  #: hashes of such records that are listed by one command
COUNTED_RECORDS = 64  #: hashes of such records of a tag that are counted; beyond them the number of pages is estimated
#: Pages planned for a tag up to which ids have four bytes: of the ids of a full tag, one in 256 is taken, and another
#: one is drawn then. Longer ids have five.
SHORT_IDS = 4096
_LONG = 1 << 48  # more than any id: the id of a candidate is the time at which it was filed, and this one
_FIELD_BYTES = 3  #: of a bucket in one of several hashes
_FIELD_MASK = (1 << 8 * _FIELD_BYTES) - 1
_STATES = {b"p": ClaimState.OPEN, b"o": ClaimState.OPEN, b"u": ClaimState.OPEN}
SCRAPED = b"\2"
OPENED = b"\1"


class Command(NamedTuple):
    """A command for whichever node has the slot."""

    slot: int
    words: tuple[bytes, ...]


_new_command = cast("Callable[[type[Command], tuple[int, tuple[bytes, ...]]], Command]", tuple.__new__)  # faster


class ClaimEntry(NamedTuple):
    """The content of the home of an id."""

    state: bytes  #: c committed, p pending, o open or scraped, u unknown, X absent
    value: bytes = b""
    owner: bytes = b""  #: token and state of the claim

    @property
    def token(self) -> bytes:
        """The token of the claim's owner."""
        return self.owner[:8]


class _TagKeys(NamedTuple):
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

    The buckets of a tag are in ``shelves`` hashes. Their number is that of the namespace, and never changes. From it
    follow the size of ids and the number of hashes for records in pieces.
    """

    def __init__(self, names: KeyNames, shown: str, pages: int = 0) -> None:
        self.shown, self._namespace = shown, names.namespace
        self.set_shelves(max(1, round(pages * KEYS_OF_PAGE / (TAGS * SHELF))))
        self.codec = ValueCodec("{}")  #: set when the scheme of the namespace is known
        self.prefix = names.key("").removesuffix("}:")  # up to the tag
        self._owners = names.key("owners").encode()
        self._owners_slot = key_slot(self._owners)
        self._tags = [self._tag(n) for n in range(TAGS)]

    def _tag(self, n: int) -> _TagKeys:
        start = f"{self.prefix}:{n:x}}}:".encode()
        return _TagKeys(key_slot(start), start + b"r", start + b"s", start + b"b")

    def set_shelves(self, shelves: int) -> None:
        """Take the number of bucket hashes under each tag from the namespace."""
        self.shelves = shelves
        pages = self.planned // TAGS if shelves > 1 else 0  # of a tag; 0: there is no plan
        self.record_shelves = max(1, round(pages / RECORDS)) if pages else 0
        self.id_bytes = 4 if 0 < pages <= SHORT_IDS else 5

    @property
    def planned(self) -> int:
        """The number of pages for which the hashes are planned."""
        return self.shelves * SHELF // KEYS_OF_PAGE * TAGS

    @property
    def name(self) -> str:
        """The layout as the metadata of a new namespace has it."""
        return SHARDED if self.shelves == 1 else f"{SHARDED}-{self.shelves}"

    # -- ids ------------------------------------------------------------------------------------

    def new_id(self, home: bytes, size: int) -> bytes:
        """Return a short id for a record of this size; ``home`` is the key of its URL, b"" if it has none."""
        home, random = home or os.urandom(2), os.urandom(self.id_bytes - 1)
        pieces = -(-size // PIECE) if self.record_shelves else 0
        second = home[1] & ~_FIELD_BITS | (pieces if pieces <= _PIECES else 0) << _PIECES_SHIFT
        return b"%c%c%b" % (home[0], second | random[0] & ((1 << _PIECES_SHIFT) - 1), random[1:])

    def full(self) -> StoreError:
        """Return the error of a page that finds no free id."""
        return StoreError(
            f"The store {self.shown} has no free id for another page: namespace {self._namespace!r} is planned for "
            f"{self.planned:,} pages; export it and import it into another namespace with a larger pages=."
        )

    def short_id(self, id: int) -> bytes:
        """Return the last part of the id of a candidate, under which it is stored."""
        return (id % (1 << 8 * self.id_bytes)).to_bytes(self.id_bytes, "big")

    def ids_in(self, packed: bytes) -> list[bytes]:
        """Return the ids of a bucket, the newest last."""
        size = self.id_bytes
        if len(packed) == size:
            return [packed]
        if len(packed) % size:
            raise self._bucket_damage()
        return [packed[at : at + size] for at in range(0, len(packed), size)]

    def others_in(self, keys: Iterable[bytes], packed: Iterable[bytes | None], own: bytes) -> dict[bytes, list[bytes]]:
        """Return by key the ids of buckets without ``own``; keys without others are left out."""
        try:
            return others_in(keys, packed, own, self.id_bytes)
        except ValueError:
            raise self._bucket_damage() from None

    def _bucket_damage(self) -> DamageError:
        return DamageError(
            f"The store {self.shown} is damaged: a bucket of namespace {self._namespace!r} has a value that is not one "
            "of ours."
        )

    def candidate(
        self, id: bytes, found: ClaimEntry, tokens: set[bytes], witnessed: Container[bytes] = ()
    ) -> Candidate:
        """Decode a record; raise ``DamageError`` if it is damaged.

        Args:
            id: of the record.
            found: what stands under it.
            tokens: those of the store object.
            witnessed: those of other workers that were seen alive.
        """
        record = self.codec.unpack(found.value, lambda: f"{self.record_place(id)[1].decode()} {id.hex()}")
        if found.state == b"c":
            return Candidate(long_id(id, found.value), record, ClaimState.COMMITTED, mine=False)
        is_scraped = found.state == b"o" and found.owner[8:] == SCRAPED
        state = ClaimState.SCRAPED if is_scraped else _STATES[found.state]
        return Candidate(long_id(id, found.value), record, state, found.token in tokens, found.token in witnessed)

    # -- commands at the home of a record -------------------------------------------------------

    def _home(self, id: bytes) -> _TagKeys:
        return self._tags[int.from_bytes(id[:2], "big") >> _TAG_SHIFT]

    def record_place(self, id: bytes) -> tuple[int, bytes, bytes, bytes]:
        """Return the slot of a record, its hash, the stages of its tag, and its first field."""
        if compiled is None:
            return self.record_place_by_reference(id)
        found: tuple[int, bytes, bytes, bytes] = compiled.record_place(self._tags, id, self.record_shelves)
        return found

    def record_place_by_reference(self, id: bytes) -> tuple[int, bytes, bytes, bytes]:
        """Return the place of a record, computed in Python; see :meth:`record_place`."""
        tag, hash = self._home(id), 0
        is_whole = not id[1] >> _PIECES_SHIFT & _PIECES or not self.record_shelves
        if not is_whole:
            hash = int.from_bytes(id[2:], "big") % self.record_shelves
        name = tag.records if is_whole else b"%b%x" % (tag.records, hash)
        return tag.slot, name, tag.stages, b"%c%b" % (id[1] & _FIELD_BITS, id[2:])

    def _at_home(self, name: str, id: bytes, *words: bytes) -> Command:
        slot, records, stages, field = self.record_place(id)
        return _new_command(Command, (slot, (b"EVALSHA", DIGESTS[name], b"2", records, stages, field, *words)))

    def file(self, id: bytes, value: bytes, owner: bytes, key: bytes, *, pends: bool) -> Command:
        """File a record as an open claim, or as pending, and place its id in this bucket of the same tag.

        ``key`` b"" is for none.
        """
        slot, records, stages, first = self.record_place(id)
        _, shelf, _, field = self._shelf(key) if key else (0, self._home(id).buckets, b"", b"")
        mark = b"%c%b" % (first[0] | _MARK, first[1:])
        words = (records, stages, shelf, first, value, owner, mark, field, id, key[1:], b"1" if pends else b"")
        return _new_command(Command, (slot, (b"EVALSHA", DIGESTS["file"], b"3", *words)))

    def peek(self, id: bytes) -> Command:
        """Read a record cheaply; :meth:`peeked` decodes the reply."""
        if compiled is None:
            return self.peek_by_reference(id)
        found: Command = compiled.peek_command(Command, self._tags, id, self.record_shelves)
        return found

    def peek_by_reference(self, id: bytes) -> Command:
        """Return the command of :meth:`peek`, made in Python."""
        slot, records, _, field = self.record_place(id)
        first, rest = field[0], field[1:]
        others = [b"%c%b" % (first | piece << 6, rest) for piece in range(1, first >> _PIECES_SHIFT)]
        return Command(slot, (b"HMGET", records, field, *others, b"%c%b" % (first | _MARK, rest)))

    @staticmethod
    def peeked(reply: Any) -> ClaimEntry | None:
        """Return a committed record; None if another command must tell."""
        *pieces, mark = reply
        if pieces[0] is None or mark is not None:
            return None
        value = pieces[0] if len(pieces) == 1 else b"".join([piece or b"" for piece in pieces])
        return tuple.__new__(ClaimEntry, (b"c", value, b""))

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
        if compiled is None:
            return self.claim_by_reference(id)
        found: Command = compiled.claim_command(Command, self._tags, id)
        return found

    def claim_by_reference(self, id: bytes) -> Command:
        """Return the command of :meth:`claim`, made in Python."""
        slot, _, stages, field = self.record_place(id)
        return Command(slot, (b"HDEL", stages, b"p" + field))

    def settle(self, id: bytes, owner: bytes, known: bytes, value: bytes, *, commit: bool) -> Command:
        """Claim in spite of wounds by these blockers (b"*": by any), with another record unless that is b""."""
        return self._at_home("settle", id, owner, known, value, b"1" if commit else b"")

    def seal(self, id: bytes) -> list[Command]:
        """Make a claim permanent (the reply is 1 unless the claim had ended), and end its stage in a later call."""
        if compiled is None:
            return self.seal_by_reference(id)
        found: list[Command] = compiled.seal_commands(Command, self._tags, id, self.record_shelves)
        return found

    def seal_by_reference(self, id: bytes) -> list[Command]:
        """Return the commands of :meth:`seal`, made in Python."""
        slot, records, stages, field = self.record_place(id)
        mark = b"%c%b" % (field[0] | _MARK, field[1:])
        stage = (b"HDEL", stages, b"p" + field, b"w" + field, b"o" + field)
        return [Command(slot, (b"HDEL", records, mark)), Command(slot, stage)]

    def commit(self, id: bytes) -> Command:
        """Make a record permanent that may be no claim any more; the reply tells whether there is a record."""
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
        another in four cases of a million. So two pages without a common key may be compared; their sketches differ.
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

    def join(self, key: bytes, id: bytes, seen: bytes = b"") -> Command:
        """Place an id in a bucket that has other ids; the reply has the ids before it, from behind ``seen`` on."""
        slot, shelf, stages, field = self._shelf(key)
        return Command(slot, (b"EVALSHA", DIGESTS["join"], b"2", shelf, stages, field, id, key[1:], seen))

    def leave(self, key: bytes, id: bytes) -> Command:
        """Remove an id from a bucket."""
        slot, shelf, stages, field = self._shelf(key)
        return Command(slot, (b"EVALSHA", DIGESTS["leave"], b"2", shelf, stages, field, id, key[1:]))

    # -- commands about workers and whole tags --------------------------------------------------

    def alive(self, tokens: Sequence[bytes], now: bytes) -> Command:
        """Ask for each worker when its lease ends, 0 if it has ended; ``now`` b"": by the clock of the server."""
        words = (b"EVALSHA", DIGESTS["alive"], b"1", self._owners, now, *tokens)
        return Command(self._owners_slot, words)

    def keep_lease(self, token: bytes) -> Command:
        """Write the lease of a worker again: replicas are waited for as with any write of the wire."""
        return Command(self._owners_slot, (b"EVALSHA", DIGESTS["keep_lease"], b"1", self._owners, token))

    def records(self, n: int, cursor: bytes, count: int) -> Command:
        """Read a batch of the records of tag ``n``; :meth:`listed` decodes the reply. The first cursor is b"0"."""
        tag, (place, _, at) = self._tags[n], cursor.partition(b" ")
        keys = (tag.stages, *(self.record_keys(n, int(place), LISTED) if int(place) else (tag.records,)))
        words = (b"EVALSHA", DIGESTS["list"], b"%d" % len(keys), *keys, at or b"0", b"%d" % count)
        return Command(tag.slot, (*words, b"%d" % (self.id_bytes - 1)))

    def listed(self, n: int, cursor: bytes, reply: Any) -> tuple[bytes, list[tuple[bytes, ClaimEntry]]]:
        """Return the cursor after this one, b"0" at the end, and the records with their short ids."""
        place, then = int(cursor.partition(b" ")[0]), b"0"
        if reply[0] != b"0":
            then = b"%d %b" % (place, reply[0])
        elif (following := place + LISTED if place else 1) <= self.record_shelves:
            then = b"%d" % following
        return then, [(self.whole_id(n, field), ClaimEntry(*found)) for field, *found in reply[1]]

    @staticmethod
    def whole_id(n: int, field: bytes) -> bytes:
        """Return the short id of the record of tag ``n`` with this field."""
        first = n << _TAG_SHIFT
        return b"%c%c%b" % (first >> 8, first & 0xFF | field[0], field[1:])

    @staticmethod
    def first_byte(n: int) -> bytes:
        """Return the first byte of the keys of tag ``n``, which their fields lack."""
        return bytes([n << _TAG_SHIFT >> 8])

    @staticmethod
    def tag_of(key: bytes) -> int:
        """Return the tag of a key."""
        return int.from_bytes(key[:2], "big") >> _TAG_SHIFT

    def sweep(self, n: int, before: int) -> Command:
        """Remove ids that were condemned before this time; :meth:`swept` returns those that have other stages."""
        tag = self._tags[n]
        return Command(tag.slot, (b"EVALSHA", DIGESTS["sweep"], b"1", tag.stages, packed_time(before)))

    def swept(self, n: int, reply: Any) -> list[bytes]:
        """Return the ids of :meth:`sweep`."""
        return [self.whole_id(n, field) for field in reply]

    def tidy(self, id: bytes) -> Command:
        """Remove what is left of a claim that has ended."""
        return self._at_home("tidy", id)

    def census(self, n: int, samples: int) -> Command:
        """Count what is under tag ``n``, in its first ``COUNTED`` and ``COUNTED_RECORDS`` hashes."""
        tag = self._tags[n]
        records = self.record_keys(n, 1, COUNTED_RECORDS)
        keys = (tag.records, tag.stages, *records, *self.bucket_keys(n, COUNTED))
        numbers = (samples, len(records), self.id_bytes, self.record_shelves)
        return Command(
            tag.slot, (b"EVALSHA", DIGESTS["census"], b"%d" % len(keys), *keys, *(b"%d" % each for each in numbers))
        )

    def stages(self, n: int) -> tuple[int, bytes]:
        """Return the slot of tag ``n``, and the hash of its stages."""
        return self._tags[n].slot, self._tags[n].stages

    def record_keys(self, n: int, first: int, most: int) -> list[bytes]:
        """Return the keys of hashes of records of tag ``n``: number 0 has those that are whole."""
        name = self._tags[n].records
        numbers = range(first, min(first + most, self.record_shelves + 1))
        return [b"%b%x" % (name, each - 1) if each else name for each in numbers]

    def bucket_keys(self, n: int, most: int) -> list[bytes]:
        """Return the keys of the first bucket hashes of tag ``n``."""
        name, shelves = self._tags[n].buckets, self.shelves
        return [b"%b%x" % (name, each) for each in range(min(most, shelves))] if shelves > 1 else [name]


def long_id(id: bytes, value: bytes) -> int:
    """Return the id of a candidate: the time at which it was filed, and its short id."""
    return filed_in(value) * _LONG + int.from_bytes(id, "big")


def packed_time(milliseconds: int) -> bytes:
    """Return a time as a server keeps it."""
    return milliseconds.to_bytes(TIME_BYTES, "big")


def others_by_reference(
    keys: Iterable[bytes], packed: Iterable[bytes | None], own: bytes, size: int
) -> dict[bytes, list[bytes]]:
    """Return by key the ids of buckets, of this size, without ``own``; keys without others are left out.

    Raises ``ValueError`` for a bucket that has no whole ids.
    """
    found: dict[bytes, dict[bytes, None]] = {}
    for key, ids in zip(keys, packed, strict=True):
        if ids and ids != own:
            if len(ids) % size:
                raise ValueError
            there = (ids[at : at + size] for at in range(0, len(ids), size))
            found.setdefault(key, {}).update((id, None) for id in there if id != own)
    return {key: list(ids) for key, ids in found.items()}


others_in = others_by_reference if compiled is None else compiled.others_in
