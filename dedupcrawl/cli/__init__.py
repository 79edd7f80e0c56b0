"""The command ``dedupcrawl``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.cli.commands import app

__all__ = ["app", "main"]


def main(arguments: Sequence[str] | None = None, program: str | None = None) -> None:
    """Run the command; an error of the user ends it with one sentence instead of a traceback.

    Args:
        arguments: None: those of the process.
        program: its name in the help; None: that of the process.
    """
    from dedupcrawl.cli.commands import app  # noqa: PLC0415  # worker processes of a batch import this module
    from dedupcrawl.cli.console import escape_unencodable, print_error  # noqa: PLC0415
    from dedupcrawl.errors import DedupError  # noqa: PLC0415
    from dedupcrawl.utils.messages import tr_sentence  # noqa: PLC0415

    escape_unencodable()
    sys.path.append("")  # a reader of the user may be a module in the working directory, as with scrapy
    try:
        app(arguments, prog_name=program)
    except DedupError as error:
        print_error(tr_sentence(str(error)))
        sys.exit(2)


def __getattr__(name: str) -> object:
    """Import the commands on first use."""
    if name == "app":
        from dedupcrawl.cli.commands import app  # noqa: PLC0415

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
