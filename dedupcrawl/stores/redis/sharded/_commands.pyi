"""Commands of buckets and requests, compiled from ``_commands.pyx``. ``layout.py`` and ``wire.py`` are its users."""

from collections.abc import Iterable, Sequence

from dedupcrawl.stores.redis.sharded.layout import Command

VERSION: int

def bucket_commands(
    command: type[Command], name: bytes, keys: Iterable[bytes], id: bytes | None, tags: Sequence[object], shelves: int
) -> list[Command]: ...
def requests(
    commands: Sequence[Command], owners: list[tuple[str, int] | None]
) -> dict[tuple[str, int] | None, tuple[list[int], list[bytes]]]: ...
