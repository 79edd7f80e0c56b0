"""The forms of valid replies to the commands of a sharded namespace; ``replies.py`` has those of one server.

The values in them may be damaged: they are examined when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedupcrawl.stores.redis.replies import is_bytes, is_bytes_or_none, is_flag, is_list, is_row, is_whole
from dedupcrawl.stores.redis.sharded.shard_scripts import script_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dedupcrawl.stores.redis.sharded.layout import Command

    Words = tuple[bytes, ...]
    Check = Callable[[Words, Any], bool]

_STATES = frozenset(
    {b"c", b"p", b"o", b"u"}
)  #: of a record, see :class:`~dedupcrawl.stores.redis.sharded.layout.ClaimEntry`
_ABSENT = b"X"


def _is_state(reply: Any) -> bool:
    return is_bytes(reply) and (reply in _STATES or reply == _ABSENT)


def _is_field(reply: Any) -> bool:
    """Return whether a reply is the field of a record, an id without its tag."""
    return is_bytes(reply) and len(reply) > 1


def _is_found(reply: Any) -> bool:
    """Return whether a reply describes the home of an id: "X", or state, record and owner."""
    return reply == [_ABSENT] or (is_row(reply, is_bytes, is_bytes, is_bytes) and reply[0] in _STATES)


def _is_listed(reply: Any) -> bool:
    return is_row(reply, _is_field, is_bytes, is_bytes, is_bytes) and reply[1] in _STATES


def _is_hot(reply: Any) -> bool:
    return is_row(reply, is_bytes, is_whole)


def _is_census(reply: Any) -> bool:
    return is_row(
        reply,
        is_whole,
        is_whole,
        lambda owners: is_list(owners, is_bytes),
        is_whole,
        is_whole,
        lambda heads: is_list(heads, is_bytes),
        lambda hot: is_list(hot, _is_hot),
    )


def _whole(_: Words, reply: Any) -> bool:
    return is_whole(reply)


def _flag(_: Words, reply: Any) -> bool:
    return is_flag(reply)


def _bytes(_: Words, reply: Any) -> bool:
    return is_bytes(reply)


def _bytes_or_none(_: Words, reply: Any) -> bool:
    return reply is None or type(reply) is bytes


def _fields(words: Words, reply: Any) -> bool:
    return type(reply) is list and len(reply) == len(words) - 2 and all(map(is_bytes_or_none, reply))


#: By the name of a command, or of a script.
_CHECKS: dict[str, Check] = {
    "HMGET": _fields,
    "HLEN": _whole,
    "UNLINK": _whole,
    "MEMORY": lambda _, reply: reply is None or is_whole(reply, most=1 << 62),
    "file": _bytes_or_none,
    "fetch": lambda _, reply: _is_found(reply),
    "look": lambda _, reply: _is_found(reply),
    "wound": lambda _, reply: _is_state(reply),
    "settle": _bytes,
    "commit": _flag,
    "scraped": _flag,
    "adopt": _flag,
    "bury": lambda _, reply: _is_state(reply),
    "remove": _flag,
    "join": _bytes,
    "leave": _flag,
    "alive": lambda words, reply: is_list(reply, is_whole) and len(reply) == len(words) - 5,
    "keep_lease": _flag,
    "list": lambda _, reply: is_row(reply, is_bytes, lambda found: is_list(found, _is_listed)),
    "sweep": lambda _, reply: is_list(reply, _is_field),
    "tidy": _whole,
    "census": lambda _, reply: _is_census(reply),
}
_BY_DIGEST = {digest: _CHECKS[name] for digest, name in script_names().items()}
_BY_COMMAND = {name.encode(): check for name, check in _CHECKS.items() if name.isupper()}
_EVALSHA = b"EVALSHA"


#: Types of the replies to the most frequent commands, for which a call would take too long.
_TYPES: dict[bytes, tuple[type, ...]] = {b"HSETNX": (int,), b"HDEL": (int,), b"HGET": (bytes, type(None))}


def are_answers(commands: Sequence[Command], replies: Sequence[Any]) -> bool:
    """Return whether these are replies to commands of the layout, in their order; others are not examined."""
    for (_, words), reply in zip(commands, replies, strict=False):
        types = _TYPES.get(words[0])
        if types is not None:
            if type(reply) not in types:
                return False
            continue
        check = _BY_DIGEST.get(words[1]) if words[0] == _EVALSHA else _BY_COMMAND.get(words[0])
        if check is not None and not check(words, reply):
            return False
    return True
