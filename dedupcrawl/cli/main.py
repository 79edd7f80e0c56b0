"""The commands, each loaded when it is asked for: most of them need much that the others do not."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

if TYPE_CHECKING:
    from collections.abc import Callable


_COMMANDS = MappingProxyType(
    {
        "demo": "demo:demo",
        "read": "eval:read",
        "inspect": "inspect:inspect",
        "compare": "compare:compare",
        "explain": "explain:explain",
        "batch": "batch:batch",
        "report": "report:report",
        "label": "label:label",
        "eval": "eval:evaluation",
        "store": "watch:store",  # which adds a command to those of storing
        "lexicon": "lexicon:lexicon",
    }
)


class _Commands(TyperGroup):
    """The commands by their names, in the order of the help."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return their names."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Load a command."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        found = getattr(import_module(f"dedupcrawl.cli.{module}"), name)
        command = get_group(found) if isinstance(found, typer.Typer) else _alone(cmd_name, found)
        command.name = cmd_name
        return command


def _alone(name: str, function: Callable[..., object]) -> Any:
    alone = typer.Typer(add_completion=False)
    alone.command(name)(function)
    return get_command(alone)


app = typer.Typer(
    cls=_Commands,
    name="dedupcrawl",
    help="Keep every article of a crawl once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _commands() -> None:
    """Say that there are commands, for none is here yet."""
