"""The SQLite connections of the code under test, for faults of a disk and ends of processes."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def noted_connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Return the connections that are opened from now on, in a list that grows."""
    connect, opened = sqlite3.connect, list[sqlite3.Connection]()

    def noting(*args: Any, **options: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*args, **options)
        opened.append(database)
        return database

    monkeypatch.setattr(sqlite3, "connect", noting)
    return opened
