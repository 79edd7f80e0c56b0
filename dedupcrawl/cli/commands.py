"""The commands by name. The module of a command is imported when it runs, to load no unneeded libraries."""

from __future__ import annotations

import sys
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from dedupcrawl.cli.language import CommandLanguage, choose_language, translate_command, translate_error, typer_texts
from dedupcrawl.errors import package_version
from dedupcrawl.tools.report.html_bundle import LanguageCode
from dedupcrawl.utils.messages import tr
from dedupcrawl.utils.redaction import hide_passwords_in_text

_UsageError: Any = typer.BadParameter.__base__  # typer does not export it


class _Entry(NamedTuple):
    place: str  #: "module:name" in this package
    summary: str  #: first paragraph of its help; the list of commands is printed without importing them


COMMANDS = MappingProxyType(
    {
        "demo": _Entry("demo:demo", "Crawl five bundled sites that reprint each other, and check every verdict."),
        "read": _Entry("inspect:read", "Print the main text of a page."),
        "inspect": _Entry(
            "inspect:inspect", "Write an HTML page that shows each block of a page, and why it was kept or removed."
        ),
        "compare": _Entry(
            "compare:compare", "Show whether page B duplicates page A, why, and which passages they share."
        ),
        "explain": _Entry(
            "explain:explain",
            "Explain a verdict: the pages compared, the result of each detector, the settings that would change it.",
        ),
        "batch": _Entry(
            "batch:batch", "Keep one copy of every article in a corpus, as a crawl of these pages in this order would."
        ),
        "report": _Entry(
            "report:report",
            "Write a self-contained HTML page: what a crawl, a batch or a store kept and dropped, and why.",
        ),
        "label": _Entry(
            "label:label", "Label pairs near the threshold as same or different, on a local page; write JSON Lines."
        ),
        "eval": _Entry("eval:evaluation", "Score readers and detectors on labelled pages."),
        # Its module imports the other store commands and adds one.
        "store": _Entry("watch:store", "Inspect a store, remove records, export and import it."),
        "lexicon": _Entry("lexicon:lexicon", "Count the documents that contain each word."),
    }
)


class _CommandGroup(TyperGroup):
    """The commands in the order of the help."""

    _is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names."""
        return list(COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, which needs the summaries of the commands only: importing them takes a second."""
        self._is_listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._is_listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import a command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        place, summary = COMMANDS[cmd_name]
        if self._is_listing:
            return TyperCommand(cmd_name, help=tr(summary))
        module, _, name = place.partition(":")
        found = getattr(import_module(f"dedupcrawl.cli.{module}"), name)
        if isinstance(found, typer.Typer):
            command: Any = get_group(found)
        else:
            single = typer.Typer(add_completion=False)
            single.command(cmd_name)(found)
            command = get_command(single)
        command.name = cmd_name
        translate_command(command)
        return command

    def main(self, args: Any = None, *arguments: Any, **options: Any) -> Any:
        """Choose the language, and run the command with these arguments (None: those of the process)."""
        choose_language(sys.argv[1:] if args is None else args)
        translate_command(self)
        with typer_texts():
            return super().main(args, *arguments, **options)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments; an error is in the language."""
        try:
            return super().make_context(*arguments, **options)
        except _UsageError as error:
            translate_error(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command. An error that repeats its arguments shows no password."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            error.message = hide_passwords_in_text(error.message)
            translate_error(error)
            raise


app = typer.Typer(
    cls=_CommandGroup,
    name="dedupcrawl",
    help="Keep one copy of every article that a crawl finds.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dedupcrawl.page import compiled  # noqa: PLC0415 - loads lxml
        from dedupcrawl.stores.redis import packed_urls  # noqa: PLC0415 - only for this option
        from dedupcrawl.stores.redis.sharded import packed_values  # noqa: PLC0415 - the same
        from dedupcrawl.text import features  # noqa: PLC0415 - loads numpy

        parts = (
            f"text kernel: {features.kernel_description()}",
            f"page reading: {compiled.description()}",
            f"requests to servers: {packed_urls.description()}",
            f"commands for a cluster: {packed_values.description()}",
        )
        typer.echo("\n".join((f"dedupcrawl {package_version()}", *parts)))
        raise typer.Exit


@app.callback()
def _commands(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Show the version, and which compiled code is in use.",
        ),
    ] = False,
    spoken_language: CommandLanguage = LanguageCode.AUTO,
) -> None:
    """Make Typer build a group although no command is registered here."""
