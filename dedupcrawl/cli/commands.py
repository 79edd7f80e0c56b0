"""The commands by name. The module of a command is imported when it runs, to load no unneeded libraries."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from dedupcrawl.utils.redaction import hide_passwords_in_text

_UsageError: Any = typer.BadParameter.__base__  # typer does not export it
_COMMANDS = MappingProxyType(
    {
        "demo": "demo:demo",
        "read": "inspect:read",
        "inspect": "inspect:inspect",
        "compare": "compare:compare",
        "explain": "explain:explain",
        "batch": "batch:batch",
        "report": "report:report",
        "label": "label:label",
        "eval": "eval:evaluation",
        "store": "watch:store",  # imports the other store commands and adds one
        "lexicon": "lexicon:lexicon",
    }
)


class _Commands(TyperGroup):
    """The commands in the order of the help."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import a command; None for an unknown name."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        found = getattr(import_module(f"dedupcrawl.cli.{module}"), name)
        if isinstance(found, typer.Typer):
            command: Any = get_group(found)
        else:
            single = typer.Typer(add_completion=False)
            single.command(cmd_name)(found)
            command = get_command(single)
        command.name = cmd_name
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command. An error that repeats its arguments shows no password."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            error.message = hide_passwords_in_text(error.message)
            raise


app = typer.Typer(
    cls=_Commands,
    name="dedupcrawl",
    help="Keep one copy of every article that a crawl finds.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dedupcrawl.page import compiled  # noqa: PLC0415 - loads lxml
        from dedupcrawl.text import kernel  # noqa: PLC0415 - loads numpy

        parts = (f"text kernel: {kernel.description()}", f"page reading: {compiled.description()}")
        typer.echo("\n".join((f"dedupcrawl {version('dedupcrawl')}", *parts)))
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
) -> None:
    """Make Typer build a group although no command is registered here."""
