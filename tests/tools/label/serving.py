"""A label server that serves in a thread."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.tools.label.server import LabelServer


@contextmanager
def serving(server: LabelServer) -> Iterator[LabelServer]:
    """Serve in a thread within the context."""
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
