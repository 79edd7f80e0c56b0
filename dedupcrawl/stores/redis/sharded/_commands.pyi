"""Commands, requests, values and buckets, compiled from ``_commands.pyx``; Python does the same without it."""

from collections.abc import Iterable, Sequence
from typing import Any

from dedupcrawl.stores.base import Record
from dedupcrawl.stores.redis.sharded.layout import Command

VERSION: int

def bucket_commands(
    command: type[Command], name: bytes, keys: Iterable[bytes], id: bytes | None, tags: Sequence[object], shelves: int
) -> list[Command]: ...
def requests(
    commands: Sequence[Command], owners: list[tuple[str, int] | None]
) -> dict[tuple[str, int] | None, tuple[list[int], list[bytes]]]: ...
def record_place(tags: list[Any], id: bytes, shelves: int) -> tuple[int, bytes, bytes, bytes]: ...
def place_replies(replies: list[Any], numbers: list[int], answers: list[Any]) -> bool: ...
def others_in(
    keys: Iterable[bytes], packed: Iterable[bytes | None], own: bytes, size: int
) -> dict[bytes, list[bytes]]: ...
def pack_value(filed: int, seen: int, record: Record, cluster: bytes, minhash: int, url: bytes) -> bytes | None: ...
def unpack_value(
    value: bytes, count: int, minhash: int, slots: int, hash_bytes: int, tag: int
) -> tuple[int, bytes, bytes, tuple[bytes, ...], bytes] | None: ...
