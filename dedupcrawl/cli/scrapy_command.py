"""``scrapy dedup …``: the commands of ``dedupcrawl``, as a command of Scrapy."""

from __future__ import annotations

from argparse import REMAINDER
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from dedupcrawl.cli import main

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class DedupCommand(ScrapyCommand):
    """Runs ``dedupcrawl`` with the arguments after ``scrapy dedup``. Scrapy finds it by an entry point."""

    requires_crawler_process = False

    def syntax(self) -> str:
        """Return what the help shows behind the name."""
        return "COMMAND [ARGUMENT ...]"

    def short_desc(self) -> str:
        """Return the line in the list of commands."""
        return "Inspect what dedupcrawl stores, and deduplicate files (scrapy dedup help)"

    def add_options(self, parser: ArgumentParser) -> None:
        """Leave all arguments to ``dedupcrawl``, those that Scrapy has too among them."""
        parser.add_argument("arguments", nargs=REMAINDER)
        parser.set_defaults(profile=None)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Change no setting of Scrapy."""

    def run(self, args: list[str], opts: Namespace) -> None:
        """Run the command; it ends the process."""
        given = [*opts.arguments, *args]
        main([] if given == ["help"] else given, "scrapy dedup")
