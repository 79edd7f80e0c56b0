"""The command ``dedupcrawl``."""

from __future__ import annotations

import sys

import typer

from dedupcrawl.cli.comparing import compare
from dedupcrawl.cli.demonstrating import demo
from dedupcrawl.cli.evaluating import evaluation
from dedupcrawl.cli.lexicons import lexicon
from dedupcrawl.cli.reading import read
from dedupcrawl.cli.screen import complain, show_any_text
from dedupcrawl.cli.storing import store
from dedupcrawl.cli.watching import watch
from dedupcrawl.errors import DedupError

app = typer.Typer(
    name="dedupcrawl",
    help="Keep every article of a crawl once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(read)
app.command()(compare)
app.add_typer(evaluation, name="eval")
store.command()(watch)
app.add_typer(store, name="store")
app.add_typer(lexicon, name="lexicon")


def main() -> None:
    """Run the command; what a user got wrong ends in one sentence, not in a traceback."""
    show_any_text()
    sys.path.append("")  # a user's own reader may lie in the working directory, as it may for scrapy
    try:
        app()
    except DedupError as error:
        complain(str(error))
        sys.exit(2)
