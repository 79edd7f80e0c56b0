"""The forms of valid replies. Another program may answer at the server's address, or a proxy may mix replies up.

:func:`is_reply` knows the replies of the scripts for one server (``lua/``). :class:`ReplyFilter` refuses bytes that a
parser must not see.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from redis.connection import DefaultParser
from redis.exceptions import InvalidResponse, ResponseError

from dedupcrawl.errors import StoreUnreachableError
from dedupcrawl.stores.redis.known_candidates import KNOWN_BYTES
from dedupcrawl.stores.redis.namespace import MAX_ID, TIMESTAMP_BYTES
from dedupcrawl.stores.redis.packed_records import MIN_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ELEMENTS = 1 << 17  #: of a list in a reply; the longest have some thousand
MAX_REPLY_BYTES = 1 << 29  #: of all replies to the requests of one round trip
#: What Python and redis-py raise where they cannot use a reply.
UNUSABLE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


class InvalidReplyError(StoreUnreachableError):
    """The server has sent an invalid reply: the operation may have been executed."""


def is_whole(reply: Any, least: int = 0, most: int = MAX_ID) -> bool:
    """Return whether a reply is a number from ``least`` to ``most``."""
    return type(reply) is int and least <= reply <= most


def is_list(reply: Any, is_part: Callable[[Any], bool]) -> bool:
    """Return whether a reply is a list of such parts."""
    return type(reply) is list and all(map(is_part, reply))


def is_row(reply: Any, *are_parts: Callable[[Any], bool]) -> bool:
    """Return whether a reply is a list with one part for each of these functions, which accepts its part."""
    return (
        type(reply) is list
        and len(reply) == len(are_parts)
        and all(is_part(part) for is_part, part in zip(are_parts, reply, strict=True))
    )


def is_bytes(reply: Any) -> bool:
    """Return whether a reply is a text."""
    return type(reply) is bytes


def is_bytes_or_none(reply: Any) -> bool:
    """Return whether a reply is a text, or nothing."""
    return reply is None or type(reply) is bytes


def is_flag(reply: Any) -> bool:
    """Return whether a reply is 0 or 1."""
    return is_whole(reply, 0, 1)


is_id = partial(is_whole, least=1)
_is_place = partial(is_whole, least=-1)  #: the id to go on with; -1 at the end
_are_texts = partial(is_list, is_part=is_bytes)


def _are_ids(reply: Any) -> bool:
    return type(reply) is list and all(type(each) is int and 0 < each <= MAX_ID for each in reply)


def _is_value(reply: Any) -> bool:
    return type(reply) is bytes and len(reply) >= TIMESTAMP_BYTES + MIN_BYTES


def _is_hit(reply: Any) -> bool:
    """Return whether a reply is a record that was found: id, value, state of the claim, and 1 for an own one.

    A scraped claim of another worker has two more parts: its token, and the time up to which its claims are renewed.
    """
    if type(reply) is not list or len(reply) not in {4, 6}:
        return False
    id, value, state, mine, *worker = reply
    is_record = type(id) is int and 0 < id <= MAX_ID and _is_value(value) and type(state) is int is type(mine)
    return is_record and (not worker or (type(worker[0]) is bytes and is_whole(worker[1])))


def _are_hits(reply: Any) -> bool:
    return type(reply) is list and all(map(_is_hit, reply))


def _are_known(reply: Any) -> bool:
    """Return whether a reply has the rows of records that the client has."""
    return type(reply) is bytes and not len(reply) % KNOWN_BYTES


def _is_offer(reply: Any) -> bool:
    """Return whether a reply is an id, or the records found in place of it."""
    if type(reply) is int:
        return 0 < reply <= MAX_ID
    return _are_hits(reply) and bool(reply)


#: By the operation of a script.
_REPLIES: dict[str, Callable[[Any], bool]] = {
    "offer": _is_offer,
    "offer_again": _is_offer,
    "offer_many": partial(is_list, is_part=_is_offer),
    "offer_many_again": partial(is_list, is_part=_is_offer),
    "find": _are_hits,
    "find_new": lambda reply: is_row(reply, _are_known, _are_hits, is_whole),
    "get_many": _are_hits,
    "get": _are_hits,
    "lookup": _are_hits,
    "list_records": lambda reply: is_row(reply, _is_place, _are_hits, _are_texts),
    "edge_time": lambda reply: is_row(reply, _is_place, is_whole),
    "count_claims": lambda reply: is_row(reply, is_bytes, is_whole, is_whole, is_whole, _are_texts),
    "scraped": is_flag,
    "commit": _are_ids,
    "commit_again": _are_ids,
    "release": _are_ids,
    "own_claims": _are_ids,
    "withdraw_offers": is_bytes,
    "open_namespace": lambda reply: is_row(reply, *[is_bytes_or_none] * 4),
    "renew": is_whole,
    "lease": is_flag,
    "leave": is_flag,
    "remove_owners": _are_texts,
    "forget": lambda reply: is_row(reply, is_whole, is_flag, _are_texts, _are_others),
    "forget_scan": lambda reply: is_row(reply, is_whole, _is_place, _are_texts),
    "prune": lambda reply: is_row(reply, is_whole, _is_place, _are_texts),
    "last_id": is_whole,
    "retract": is_flag,
}


def _are_others(reply: Any) -> bool:
    return is_list(reply, lambda each: is_row(each, is_id, _is_value))


def is_reply(operation: str, reply: Any) -> bool:
    """Return whether this is a reply to an operation of a script."""
    return _REPLIES[operation](reply)


# -- what a parser must not see -----------------------------------------------------------------

_NOT_ASKED_FOR = b"%~>|=#_,(!"  #: first bytes of values of RESP 3, where RESP 2 was asked for
_REFUSED = rb"(?:[%b]|\*[0-9]{6})" % re.escape(_NOT_ASKED_FOR)
_begins_refused, _has_refused = re.compile(_REFUSED).match, re.compile(rb"\n" + _REFUSED).search
_BEGINNING = 16  #: bytes of the beginning of a value; a part of them may be at the end of the bytes read


def may_be_refused(piece: bytes) -> bool:
    """Return whether some bytes of replies may begin a value that is refused. It takes less than a microsecond."""
    return bool(_begins_refused(piece) or _has_refused(piece))


class ReplyFilter:
    """Refuses replies before a parser sees them: a parser trusts the server.

    hiredis takes memory for all elements of a list as soon as it has read their number: 8 GB for a billion, which then
    takes seconds to free. And some maps with errors in them crash it.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] | None = []  # until one may begin a value that is refused
        self._end = b""  # of the pieces before
        self._left = 0  # bytes of a text that are still to come
        self._rest = b""  # the beginning of a line
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Examine the next bytes of replies.

        Raises:
            InvalidResponse: a list has too many elements, a value is of RESP 3, or there are too many bytes.
        """
        self._size += len(piece)
        if self._size > MAX_REPLY_BYTES:
            raise InvalidResponse(f"a reply of more than {MAX_REPLY_BYTES} bytes")
        if self._pieces is None:
            self._read(piece)
            return
        self._pieces.append(piece)
        if may_be_refused(self._end + piece):
            pieces, self._pieces = self._pieces, None
            self._read(b"".join(pieces))
        self._end = piece[-_BEGINNING:]

    def _read(self, piece: bytes) -> None:
        """Read the beginnings of all values, and pass over texts."""
        data, at = self._rest + piece, 0
        while at < len(data):
            if self._left:
                passed = min(self._left, len(data) - at)
                self._left -= passed
                at += passed
                continue
            end = data.find(b"\r\n", at)
            if end < 0:
                break
            self._read_line(data[at:end])
            at = end + 2
        self._rest = data[at:]

    def _read_line(self, line: bytes) -> None:
        kind, number = line[:1], line[1:]
        if kind and kind in _NOT_ASKED_FOR:
            raise InvalidResponse("a value that RESP 2 does not have")
        if not number.isdigit():
            return  # the parser says what is wrong with it
        count = int(number[:20])
        if kind == b"$":
            self._left = count + 2
        elif kind == b"*" and count > MAX_ELEMENTS:
            raise InvalidResponse(f"a list of {count} elements")


def reply_error(text: str) -> Exception:
    """Return the error that a server has sent; redis-py raises another one for some that it cannot read."""
    try:
        error: Exception = DefaultParser.parse_error(text)  # type: ignore[no-untyped-call]
    except UNUSABLE:
        return ResponseError(text)
    return error


class FilteringParser(DefaultParser):  # type: ignore[misc, valid-type]  # a variable of redis-py
    """The parser of redis-py, for its own commands and for connections that it reads itself.

    Without hiredis, it reads value by value, and takes no memory before they have come.
    """

    @classmethod
    def parse_error(cls, response: str) -> Exception:
        return reply_error(response)

    def on_connect(self, connection: Any, **options: Any) -> None:
        super().on_connect(connection, **options)
        reader: Any = getattr(self, "_reader", None)  # redis-py has no public name for it
        if reader is not None:
            self._reader = _FilteringReader(reader)


class _FilteringReader:
    """A reader of hiredis that is fed with examined replies."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._filter = ReplyFilter()
        self.has_data = reader.has_data

    def feed(self, data: bytearray, start: int, length: int) -> None:
        piece = bytes(data[start : start + length])
        self._filter.add(piece)
        self._reader.feed(piece)

    def gets(self, *options: Any) -> Any:
        reply = self._reader.gets(*options)
        if not self.has_data():  # the next bytes begin a reply
            self._filter = ReplyFilter()
        return reply


def filter_replies(connection: Any) -> None:
    """Let a connection of redis-py, which was just made, filter its replies."""
    connection.set_parser(FilteringParser)
    connection._parser.on_connect(connection)
