"""Fingerprints in, earlier candidates out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dedupcrawl.errors import SettingError
from dedupcrawl.stores.memory import MemoryStore
from dedupcrawl.stores.scheme import scheme_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dedupcrawl.stores.base import Store

__all__ = ["open_store"]


def open_store(
    url: str,
    *,
    namespace: str,
    scheme: Mapping[str, object],
    lease: float = 60.0,
    ttl: float | None = None,
    clock: Callable[[], float] = time.time,
) -> Store:
    """Open a store."""
    if url == "memory://":
        return MemoryStore(namespace, scheme_json(scheme), lease=lease, ttl=ttl, clock=clock)
    raise SettingError("store", url, 'a URL like "memory://", "lmdb://folder" or "lmdb:///absolute/folder"')
