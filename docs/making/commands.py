"""Writes what ``docs/commands.md`` says of each command and its options anew, from the command itself.

``python docs/making/commands.py`` does it; what stands outside of the marks is written by hand, and stays.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.main import get_command

from dedupcrawl.cli.commands import app

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parents[1] / "commands.md"
_BEGIN, _END = "<!-- options of: {} -->", "<!-- end of options -->"
_LEFT_OUT = {"help", "install_completion", "show_completion"}


def main() -> None:
    """Write the page."""
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")


def renewed(page: str) -> str:
    """Return the page as it should be; a command without a section gets one at the end."""
    for name, command in commands():
        begin = _BEGIN.format(name)
        if begin not in page:
            page = f"{page.rstrip()}\n\n## {name}\n\n{begin}\n{_END}\n"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{_described(name, command)}{_END}{rest.partition(_END)[2]}"
    return page


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, and what it is called."""
    yield from _below("dedupcrawl", get_command(app))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    context = typer.Context(command)
    for each in command.list_commands(context):
        yield from _below(f"{name} {each}", command.get_command(context, each))


def _described(name: str, command: Any) -> str:
    arguments = [each for each in command.params if type(each).__name__ == "TyperArgument"]
    options = [each for each in command.params if each not in arguments and each.name not in _LEFT_OUT]
    called = " ".join([name, *(_named(each) for each in arguments), *(["[OPTIONS]"] if options else [])])
    rows = [f"| {_code(_named(each))} | {_told(each)} |" for each in arguments]
    rows += [f"| {_spelled(each)} | {_told(each)} |" for each in options]
    head = "| | |\n|---|---|\n" if rows else ""
    says = re.sub(r"\s*\n\s*", " ", re.sub(r"\n\n+", "¶", command.help or "")).replace("¶", "\n\n")
    return f"\n`{called}`\n\n{says.strip()}\n\n{head}" + "".join(f"{row}\n" for row in rows) + "\n"


def _named(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper()).strip("{}[]")


def _spelled(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} {_code(option.metavar or _kind(option))}"


def _code(text: str) -> str:
    """Set as code; a bar in it must not end the cell of a table."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _kind(option: Any) -> str:
    kind = option.type_descriptor.annotation
    return {"int": "NUMBER", "float": "NUMBER", "Path": "PATH"}.get(getattr(kind, "__name__", ""), "TEXT")


def _told(parameter: Any) -> str:
    told = re.sub(r"\s+", " ", parameter.help or "").replace("|", "\\|").replace("<", "&lt;")
    default = parameter.default
    if not parameter.required and default not in (None, False, True, "", [], ()) and not callable(default):
        told += f" Default: `{default}`."
    return told


if __name__ == "__main__":
    main()
