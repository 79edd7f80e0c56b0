"""Offers: each is filed once, though its answer be lost.

A claim is told by its serial number from another offer of the same page. What is filed for good has no claim;
it is told by its value: a moment to the microsecond, a URL and sketches are not the same twice.
"""

from __future__ import annotations

from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.stores.base import KEY_BYTES
from dedupcrawl.stores.codec import encode
from dedupcrawl.stores.redis.client import NamespaceLostError, RequestNotSentError
from dedupcrawl.stores.redis.namespace import milliseconds
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.stores.base import Record
    from dedupcrawl.stores.redis.client import Argument

MAX_IDS_PER_CALL = 500  #: most claims that one call settles, so that other workers wait a few milliseconds
MAX_ID = 2**48 - 1  #: highest id
PROBES_ARE_KEYS = b"="  #: in place of probes that are the keys
T = TypeVar("T")


class OfferClient:
    """The offers of one store object.

    Args:
        ask: calls an operation.
        ask_many: calls one many times in one round trip.
        begin_anew: called with the error and the mark of a namespace whose server has lost its data.
        clock: Unix time in seconds on this machine.
        lease: milliseconds of a claim.
        ttl: milliseconds after which a record no longer counts; "": never.
    """

    def __init__(
        self,
        ask: Callable[..., Any],
        ask_many: Callable[..., list[Any]],
        begin_anew: Callable[[NamespaceLostError, bytes], None],
        clock: Callable[[], float],
        *,
        lease: Argument,
        ttl: Argument,
    ) -> None:
        self._ask = ask
        self._ask_many = ask_many
        self._begin_anew = begin_anew
        self._clock = clock
        self._lease = lease
        self._ttl = ttl
        self._lock = Lock()
        self._serials = count(1)
        self._doubtful: set[bytes] = set()  # serials of offers whose answer never came
        self._unheard: dict[bytes, bytes] = {}  # value and keys of what was to be filed for good, the same
        self.mark = b""
        self.highest = 0  # id that this object has heard of

    def claim(self, record: Record, since: int) -> int | list[Any]:
        """File an open claim; return its id, or what stands there."""
        serial = next(self._serials).to_bytes(6, "big")
        request = (self._lease, *self._request(record, since), b"")
        try:
            return self._file(serial, *request)
        except RequestNotSentError:
            raise
        except StoreUnreachableError:
            self._doubtful.add(serial)
            raise

    def add(self, record: Record, since: int, supersede: Iterable[int]) -> int | list[Any]:
        """File it for good and remove what it supersedes; return its id, or what stands there."""
        request = self._request(record, since)
        value, keys = request[2:4]
        try:
            return self._file(b"", b"", *request, b"".join(id.to_bytes(6, "big") for id in supersede))
        except RequestNotSentError:
            raise
        except StoreUnreachableError:
            self._unheard[value] = keys
            raise

    def restore(self, records: Sequence[Record]) -> None:
        """File many for good in one round trip, whatever stands there."""
        self.add_many(records, MAX_ID)

    def add_many(self, records: Sequence[Record], since: int) -> list[int | list[Any]]:
        """File many for good in one round trip; return for each its id, or what stands there."""
        requests = [self._request(record, since) for record in records]
        mark = self.mark
        try:
            answers = self._file_many(requests)
        except NamespaceLostError as error:
            self._begin_anew(error, mark)
            answers = self._file_many(requests)
        self._hear(max(map(_highest_id, answers), default=0))
        return answers

    def _file_many(self, requests: Sequence[tuple[int, int, bytes, bytes, bytes]]) -> list[int | list[Any]]:
        first, second = (
            [
                (self.mark, b"", since, self.highest, b"", self._ttl, age, again, *rest, b"")
                for since, age, *rest in requests
            ]
            for again in (b"", b"1")
        )
        try:
            return self._ask_many("offer", first, second)
        except RequestNotSentError:
            raise
        except StoreError:  # of one of them, or of all: the others may be filed
            self._unheard.update((value, keys) for _, _, value, keys, _ in requests)
            raise

    def _request(self, record: Record, since: int) -> tuple[int, int, bytes, bytes, bytes]:
        value = encode(record)
        self.settle()
        age = milliseconds(self._clock() - record.seen)
        probes = PROBES_ARE_KEYS if record.probes is None else join_keys(record.probes)
        return min(since, MAX_ID), age, value, join_keys(dict.fromkeys(record.keys)), probes

    def _file(self, serial: bytes, lease: Argument, since: int, age: int, *rest: bytes) -> int | list[Any]:
        terms = (serial, since, self.highest, lease, self._ttl, age)
        mark = self.mark
        try:
            answer = self._ask("offer", mark, *terms, b"", *rest, again=(mark, *terms, b"1", *rest))
        except NamespaceLostError as error:
            self._begin_anew(error, mark)
            answer = self._ask("offer", self.mark, *terms, b"", *rest, again=(self.mark, *terms, b"1", *rest))
        self._hear(_highest_id(answer))
        return answer  # type: ignore[no-any-return]

    def _hear(self, id: int) -> None:
        with self._lock:
            self.highest = max(self.highest, id)

    @property
    def in_doubt(self) -> bool:
        """Whether there are offers of which nobody knows whether they were filed."""
        return bool(self._doubtful or self._unheard)

    def settle(self) -> None:
        """Withdraw them."""
        if not self.in_doubt:
            return
        for value, keys in list(self._unheard.items()):
            try:
                self._ask("retract", value, keys)
            except StoreUnreachableError:
                raise
            except StoreError:
                pass  # among damaged buckets nothing was filed
            self._unheard.pop(value, None)
        for chunk in chunked(tuple(self._doubtful), MAX_IDS_PER_CALL):
            cursor = b"0"
            while True:
                cursor = self._ask("disown", cursor, *chunk)
                if cursor == b"0":
                    break
            self._doubtful.difference_update(chunk)


def _highest_id(answer: int | list[Any]) -> int:
    """Return the id under which a record was filed, or the highest of those that stand there."""
    return answer if isinstance(answer, int) else int(answer[-1][0])


def join_keys(keys: Iterable[bytes]) -> bytes:
    """Return keys one behind the other.

    Raises :class:`~dedupcrawl.errors.StoreError` when one has another size than all must have.
    """
    keys = tuple(keys)
    if keys and {*map(len, keys)} != {KEY_BYTES}:
        raise StoreError(f"A key is not {KEY_BYTES} bytes long.")
    return b"".join(keys)
