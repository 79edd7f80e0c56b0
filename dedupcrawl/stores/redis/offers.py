"""Offers that are filed once, even if the reply to the first call is lost.

The script recognises a repeated claim by the serial number of its offer. A record that is filed as committed
has no claim; the script recognises it by its value, since two records never have the same time in
microseconds, URL and sketches.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, count
from struct import Struct
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.stores.base import KEY_BYTES
from dedupcrawl.stores.redis.client import NamespaceLostError, RequestNotSentError
from dedupcrawl.stores.redis.known_candidates import KnownCandidateTable
from dedupcrawl.stores.redis.namespace import MAX_ID, milliseconds
from dedupcrawl.stores.redis.packed_records import pack_record_by_reference, record_packer
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.stores.base import Record
    from dedupcrawl.stores.redis.client import Arguments, RedisSession
    from dedupcrawl.stores.redis.transports import Argument

MAX_IDS_PER_CALL = 500  #: claims that one call changes, so that other workers wait a few milliseconds at most
VALUE = 2  #: index of an argument of the script ``offer``; the keys follow it
MANY = 25  #: records that one call files, so that other workers wait a few milliseconds at most

_pack_numbers = Struct(">5q").pack  #: since, highest id seen, age, time to live, lease; ``_NONE`` for the last two
_NONE = -1
PROBES_ARE_KEYS = b"="  #: in place of probes that equal the keys
PackedOffer = tuple[int, bytes, bytes, bytes]  #: age of a record in milliseconds, its bytes, its keys, and its probes


class OfferClient:
    """Sends the offers of one store object.

    Each method returns, for each record, the id under which it was filed, or the records found there as the
    script returns them.

    ``on_namespace_lost`` is called with the error and the mark of a namespace whose server has lost its data;
    it creates the namespace again and sets :attr:`mark`. ``lease`` and ``ttl`` are in milliseconds; ``ttl``
    None means that records never expire.
    """

    def __init__(
        self,
        session: RedisSession,
        on_namespace_lost: Callable[[NamespaceLostError, bytes], None],
        clock: Callable[[], float],
        *,
        lease: int,
        ttl: int | None,
    ) -> None:
        self._session = session
        self._on_namespace_lost = on_namespace_lost
        self._clock = clock
        self._lease = lease
        self._ttl = _NONE if ttl is None else ttl
        self._lock = Lock()
        self._serials = count(1)
        self._unconfirmed_claims: set[bytes] = set()  # serial numbers of offers that got no reply
        self._unconfirmed_records: dict[bytes, _UnconfirmedOffer] = {}  # by their values
        self.known = KnownCandidateTable()  #: what a server need not send again
        self.mark = b""
        self.highest = 0  # id that this object has seen

    def claim(self, record: Record, since: int) -> int | list[Any]:
        """File an open claim."""
        self.withdraw_unconfirmed()
        serial = next(self._serials).to_bytes(6, "big")
        request = self._request(record, since, self._lease, serial)
        try:
            return self._noted(record, since, request, self._file(request))
        except StoreUnreachableError as error:
            if not isinstance(error, RequestNotSentError):
                self._unconfirmed_claims.add(serial)
            raise

    def add(self, record: Record, since: int, supersede: Iterable[int], *, is_stored: bool = False) -> int | list[Any]:
        """File a record as committed, and remove those that it supersedes.

        ``is_stored``: its item is stored, so it is not withdrawn if there is no reply. The call is repeated then.
        """
        self.withdraw_unconfirmed()
        superseded = b"".join([id.to_bytes(6, "big") for id in supersede]) if supersede else b""
        request = self._request(record, since, _NONE, b"", superseded)
        try:
            reply = self._file(request, "offer_again" if is_stored else "offer")
            return self._noted(record, since, request, reply)
        except StoreUnreachableError as error:
            if not (is_stored or isinstance(error, RequestNotSentError)):
                value, keys = cast("tuple[bytes, bytes]", request[VALUE : VALUE + 2])
                self._unconfirmed_records[value] = _UnconfirmedOffer(keys)
            raise

    def add_many(self, records: Sequence[Record], since: int) -> list[int | list[Any]]:
        """File many records as committed in one round trip."""
        self.withdraw_unconfirmed()
        now = self._clock()
        packed = [pack_offer(record, now) for record in records]
        mark = self.mark
        try:
            replies = self._file_many(packed, since)
        except NamespaceLostError as error:
            self._on_namespace_lost(error, mark)
            replies = self._file_many(packed, since)
        self.note_id(max(map(_highest_id, replies), default=0))
        return replies

    def _file_many(self, packed: Sequence[PackedOffer], since: int) -> list[int | list[Any]]:
        head = (self.mark, _pack_numbers(min(since, MAX_ID), self.highest, 0, self._ttl, _NONE))
        requests = [(*head, *_joined(some)) for some in chunked(packed, MANY)]
        try:
            replies = [*chain.from_iterable(self._session.call_many("offer_many", requests, "offer_many_again"))]
            if len(replies) != len(packed):
                raise self._session.invalid_reply("offer_many")
            return replies  # noqa: TRY300  # the handlers are for all of this
        except RequestNotSentError:
            raise
        except StoreError:  # of one request, or of all: the others may have been filed
            self._unconfirmed_records.update((value, _UnconfirmedOffer(keys)) for _, value, keys, _ in packed)
            raise

    def _request(self, record: Record, since: int, lease: int, serial: bytes, supersede: bytes = b"") -> Arguments:
        """Return the arguments of the script ``offer``."""
        age, value, keys, probes = pack_offer(record, self._clock())
        numbers = _pack_numbers(min(MAX_ID, since), self.highest, age, self._ttl, lease) + serial
        if supersede or probes != PROBES_ARE_KEYS:
            return self.mark, numbers, value, keys, probes, supersede
        return self.mark, numbers, value, keys

    def _file(self, request: Arguments, operation: str = "offer") -> int | list[Any]:
        try:
            reply = self._session.call_with(operation, request, "offer_again")
        except NamespaceLostError as error:
            self._on_namespace_lost(error, cast("bytes", request[0]))
            reply = self._session.call_with("offer", (self.mark, *request[1:]), "offer_again")
        if type(reply) is not int or reply > self.highest:
            self.note_id(_highest_id(reply))
        return reply  # type: ignore[no-any-return]

    def _noted(self, record: Record, since: int, request: Arguments, reply: int | list[Any]) -> int | list[Any]:
        """Return a reply; a record that was filed need not be sent back."""
        if type(reply) is int and since:
            self.known.add_filed(reply, record, cast("bytes", request[VALUE]), since)
        return reply

    @property
    def has_unconfirmed(self) -> bool:
        """Whether there are offers that got no reply."""
        return bool(self._unconfirmed_records or self._unconfirmed_claims)

    def note_id(self, id: int) -> None:
        """Note an id that was seen: no record that is filed from now on gets one up to it."""
        if id > self.highest:
            with self._lock:
                self.highest = max(self.highest, id)

    def withdraw_unconfirmed(self) -> None:
        """Withdraw the offers that got no reply."""
        if not self.has_unconfirmed:
            return
        if self._unconfirmed_records:
            self._retract()
        for serials in chunked(tuple(self._unconfirmed_claims), MAX_IDS_PER_CALL):
            cursor = b"0"
            while True:
                cursor = self._session.call("withdraw_offers", cursor, *serials)
                if cursor == b"0":
                    break
            self._unconfirmed_claims.difference_update(serials)

    def _retract(self) -> None:
        """Withdraw the records that got no reply.

        A call without a reply may be executed later, and other threads file these records again meanwhile. So only ids
        that were given before the list of the records is read are removed: a record that was filed again stays.
        """
        highest = self._session.call("last_id")
        self.note_id(highest)  # a server that has lost its latest writes gives no id below it
        with self._lock:
            unconfirmed = dict(self._unconfirmed_records)
        for some in chunked(unconfirmed.items(), MAX_IDS_PER_CALL):
            self._retract_many([(value, each.keys, highest) for value, each in some])
        with self._lock:
            for value, each in unconfirmed.items():
                if self._unconfirmed_records.get(value) is each:  # else another call has got no reply since
                    del self._unconfirmed_records[value]

    def _retract_many(self, requests: Sequence[Arguments]) -> None:
        try:
            self._session.call_many("retract", requests)
        except StoreUnreachableError:
            raise
        except StoreError:  # of one request; in damaged buckets nothing was filed
            if len(requests) > 1:
                for request in requests:
                    self._retract_many([request])


@dataclass(frozen=True, eq=False, slots=True)
class _UnconfirmedOffer:
    """A record that got no reply, by one call."""

    keys: bytes


def _highest_id(reply: int | list[Any]) -> int:
    """Return the id of the filed record, or the highest id of the records found."""
    return reply if isinstance(reply, int) else int(reply[-1][0])


def _joined(offers: Iterable[PackedOffer]) -> Iterable[Argument]:
    return chain.from_iterable(offers)


def pack_offer(record: Record, now: float) -> PackedOffer:
    """Return what a script needs to file a record that was seen before ``now``."""
    packed: PackedOffer | None = None if record_packer is None else record_packer.pack_offer(record, now)
    return pack_offer_by_reference(record, now) if packed is None else packed


def pack_offer_by_reference(record: Record, now: float) -> PackedOffer:
    """Pack an offer in Python: the reference of the compiled code, and for records that it does not take."""
    keys, probes = record.keys, record.probes
    searched = PROBES_ARE_KEYS if probes is None or probes == keys else join_keys(probes)
    value = pack_record_by_reference(record)
    return milliseconds(now - record.seen), value, b"".join(dict.fromkeys(keys)), searched


def join_keys(keys: Iterable[bytes]) -> bytes:
    """Return bucket keys as one string, the form in which scripts take them."""
    keys = tuple(keys)
    if keys and {*map(len, keys)} != {KEY_BYTES}:
        raise StoreError(f"A key is not {KEY_BYTES} bytes long.")
    return b"".join(keys)
