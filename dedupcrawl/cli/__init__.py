"""The command ``dedupcrawl``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupcrawl.cli.main import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command; what a user got wrong ends in one sentence, not in a traceback."""
    from dedupcrawl.cli.console import complain, show_any_text  # noqa: PLC0415
    from dedupcrawl.cli.main import app  # noqa: PLC0415  # processes of a batch load this module too
    from dedupcrawl.errors import DedupError  # noqa: PLC0415

    show_any_text()
    sys.path.append("")  # a user's own reader may lie in the working directory, as it may for scrapy
    try:
        app()
    except DedupError as error:
        complain(str(error))
        sys.exit(2)


def __getattr__(name: str) -> object:
    """Load the commands when they are asked for."""
    if name == "app":
        from dedupcrawl.cli.main import app  # noqa: PLC0415

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
