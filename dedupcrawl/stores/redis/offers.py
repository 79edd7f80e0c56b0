"""Offers that are filed once, even if the reply to the first call is lost.

The script recognises a repeated claim by the serial number of its offer. A record that is filed as committed
has no claim; the script recognises it by its value, since two records never have the same time in
microseconds, URL and sketches.
"""

from __future__ import annotations

from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.stores.base import KEY_BYTES
from dedupcrawl.stores.redis.client import NamespaceLostError, RequestNotSentError
from dedupcrawl.stores.redis.namespace import milliseconds
from dedupcrawl.stores.redis.packed_records import pack_record
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.stores.base import Record
    from dedupcrawl.stores.redis.client import RedisSession
    from dedupcrawl.stores.redis.transports import Argument

MAX_IDS_PER_CALL = 500  #: claims that one call changes, so that other workers wait a few milliseconds at most
MAX_ID = 2**48 - 1
PROBES_ARE_KEYS = b"="  #: in place of probes that equal the keys


class OfferClient:
    """Sends the offers of one store object.

    Each method returns, for each record, the id under which it was filed, or the records found there as the
    script returns them.

    ``on_namespace_lost`` is called with the error and the mark of a namespace whose server has lost its data;
    it creates the namespace again and sets :attr:`mark`. ``lease`` and ``ttl`` are in milliseconds; ``ttl``
    "" means that records never expire.
    """

    def __init__(
        self,
        session: RedisSession,
        on_namespace_lost: Callable[[NamespaceLostError, bytes], None],
        clock: Callable[[], float],
        *,
        lease: Argument,
        ttl: Argument,
    ) -> None:
        self._session = session
        self._on_namespace_lost = on_namespace_lost
        self._clock = clock
        self._lease = lease
        self._ttl = ttl
        self._lock = Lock()
        self._serials = count(1)
        self._unconfirmed_claims: set[bytes] = set()  # serial numbers of offers that got no reply
        self._unconfirmed_records: dict[bytes, bytes] = {}  # value -> keys of records that got no reply
        self.mark = b""
        self.highest = 0  # id that this object has seen

    def claim(self, record: Record, since: int) -> int | list[Any]:
        """File an open claim."""
        serial = next(self._serials).to_bytes(6, "big")
        request = (self._lease, *self._request(record, since), b"")
        try:
            return self._file(serial, *request)
        except StoreUnreachableError as error:
            if not isinstance(error, RequestNotSentError):
                self._unconfirmed_claims.add(serial)
            raise

    def add(self, record: Record, since: int, supersede: Iterable[int]) -> int | list[Any]:
        """File a record as committed, and remove those that it supersedes."""
        request = self._request(record, since)
        value, keys = request[2:4]
        try:
            return self._file(b"", b"", *request, b"".join(id.to_bytes(6, "big") for id in supersede))
        except StoreUnreachableError as error:
            if not isinstance(error, RequestNotSentError):
                self._unconfirmed_records[value] = keys
            raise

    def add_many(self, records: Sequence[Record], since: int) -> list[int | list[Any]]:
        """File many records as committed in one round trip."""
        requests = [self._request(record, since) for record in records]
        mark = self.mark
        try:
            replies = self._file_many(requests)
        except NamespaceLostError as error:
            self._on_namespace_lost(error, mark)
            replies = self._file_many(requests)
        self._note_id(max(map(_highest_id, replies), default=0))
        return replies

    def _file_many(self, requests: Sequence[tuple[int, int, bytes, bytes, bytes]]) -> list[int | list[Any]]:
        first, second = (
            [
                (self.mark, b"", since, self.highest, b"", self._ttl, age, again, *rest, b"")
                for since, age, *rest in requests
            ]
            for again in (b"", b"1")
        )
        try:
            return self._session.call_many("offer", first, second)
        except RequestNotSentError:
            raise
        except StoreError:  # of one request, or of all: the others may have been filed
            self._unconfirmed_records.update((value, keys) for _, _, value, keys, _ in requests)
            raise

    def _request(self, record: Record, since: int) -> tuple[int, int, bytes, bytes, bytes]:
        value = pack_record(record)
        self.withdraw_unconfirmed()
        age = milliseconds(self._clock() - record.seen)
        probes = PROBES_ARE_KEYS if record.probes is None else join_keys(record.probes)
        return min(since, MAX_ID), age, value, b"".join(dict.fromkeys(record.keys)), probes

    def _file(self, serial: bytes, lease: Argument, since: int, age: int, *rest: bytes) -> int | list[Any]:
        terms = (serial, since, self.highest, lease, self._ttl, age)

        def offer(mark: bytes) -> int | list[Any]:
            again = (mark, *terms, b"1", *rest)
            return self._session.call("offer", mark, *terms, b"", *rest, again=again)  # type: ignore[no-any-return]

        mark = self.mark
        try:
            reply = offer(mark)
        except NamespaceLostError as error:
            self._on_namespace_lost(error, mark)
            reply = offer(self.mark)
        self._note_id(_highest_id(reply))
        return reply

    def _note_id(self, id: int) -> None:
        if id > self.highest:
            with self._lock:
                self.highest = max(self.highest, id)

    def withdraw_unconfirmed(self) -> None:
        """Withdraw the offers that got no reply."""
        if not (self._unconfirmed_records or self._unconfirmed_claims):
            return
        for value, keys in list(self._unconfirmed_records.items()):
            try:
                self._session.call("retract", value, keys)
            except StoreUnreachableError:
                raise
            except StoreError:
                pass  # in damaged buckets nothing was filed
            self._unconfirmed_records.pop(value, None)
        for serials in chunked(tuple(self._unconfirmed_claims), MAX_IDS_PER_CALL):
            cursor = b"0"
            while True:
                cursor = self._session.call("withdraw_offers", cursor, *serials)
                if cursor == b"0":
                    break
            self._unconfirmed_claims.difference_update(serials)


def _highest_id(reply: int | list[Any]) -> int:
    """Return the id of the filed record, or the highest id of the records found."""
    return reply if isinstance(reply, int) else int(reply[-1][0])


def join_keys(keys: Iterable[bytes]) -> bytes:
    """Return bucket keys as one string, the form in which scripts take them."""
    keys = tuple(keys)
    if keys and {*map(len, keys)} != {KEY_BYTES}:
        raise StoreError(f"A key is not {KEY_BYTES} bytes long.")
    return b"".join(keys)
