"""The bundled web by itself, for crawlers of your own."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

from dedupcrawl.demo.content import load_content
from dedupcrawl.demo.server import FIRST_PORT, serve

if TYPE_CHECKING:
    from collections.abc import Callable

_ENDS = (signal.SIGINT, signal.SIGTERM)


def serve_alone(say: Callable[[str], None], first_port: int = FIRST_PORT) -> None:
    """Serve the five sites until the process is interrupted or told to end.

    Args:
        say: is given the address of each site's first page.
        first_port: see :func:`~dedupcrawl.demo.server.serve`.
    """
    over = threading.Event()
    earlier = {number: signal.signal(number, lambda *_: over.set()) for number in _ENDS}
    try:
        with serve(load_content(), first_port) as origins:
            for origin in origins.values():
                say(f"{origin}/")
            over.wait()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
