"""Write the synopsis and the options of each command into ``docs/commands.md`` and its translation.

Run ``python docs/making/commands.py``. Only the text between the comment marks is replaced. The help texts of
options are those of the commands, in both languages of the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.main import get_command

from dedupcrawl.cli.commands import app
from dedupcrawl.cli.language import table_of
from dedupcrawl.utils.messages import ENGLISH, speak

if TYPE_CHECKING:
    from collections.abc import Iterator

_DOCS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class PageWords:
    """What differs between the languages of the page."""

    language: str  #: of the help texts
    default: str  #: how it names a default value


PAGES = {
    _DOCS / "commands.md": PageWords("en", " Default: `{}`."),
    _DOCS / "zh" / "commands.md": PageWords("zh", "默认值：`{}`。"),
}
_BEGIN, _END = "<!-- options of: {} -->", "<!-- end of options -->"
_OMITTED = {"help", "spoken_language", "install_completion", "show_completion"}


def main() -> None:
    """Update the pages."""
    for page, words in PAGES.items():
        page.write_text(renewed(page.read_text("utf-8"), words), "utf-8")


def renewed(page: str, words: PageWords) -> str:
    """Return the updated page; a command without a section gets one at the end."""
    speak(table_of(words.language))
    try:
        described = list(commands())
    finally:
        speak(ENGLISH)
    for name, command in described:
        begin = _BEGIN.format(name)
        if begin not in page:
            page = f"{page.rstrip()}\n\n## {name}\n\n{begin}\n{_END}\n"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{_section(name, command, words)}{_END}{rest.partition(_END)[2]}"
    return page


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the full name and the Click command of every command that is no group."""
    yield from _commands_in("dedupcrawl", get_command(app))


def _commands_in(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    context = typer.Context(command)
    for each in command.list_commands(context):
        yield from _commands_in(f"{name} {each}", command.get_command(context, each))


def _section(name: str, command: Any, words: PageWords) -> str:
    arguments = [each for each in command.params if type(each).__name__ == "TyperArgument"]
    options = [each for each in command.params if each not in arguments and each.name not in _OMITTED]
    synopsis = " ".join([name, *map(_metavar, arguments), *(["[OPTIONS]"] if options else [])])
    rows = [f"| {_code(_metavar(each))} | {_help(each, words)} |" for each in arguments]
    rows += [f"| {_option(each)} | {_help(each, words)} |" for each in options]
    head = "| | |\n|---|---|\n" if rows else ""
    paragraphs = [re.sub(r"\s*\n\s*", " ", each) for each in re.split(r"\n\n+", command.help or "")]
    text = "\n\n".join(paragraphs).strip()
    return f"\n`{synopsis}`\n\n{text}\n\n{head}" + "".join(f"{row}\n" for row in rows) + "\n"


def _metavar(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper()).strip("{}")


def _option(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} {_code(option.metavar or _type(option))}"


def _code(text: str) -> str:
    """Format as code; a bar would end the table cell and is escaped."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _type(option: Any) -> str:
    kind = option.type_descriptor.annotation
    return {"int": "NUMBER", "float": "NUMBER", "Path": "PATH"}.get(getattr(kind, "__name__", ""), "TEXT")


def _help(parameter: Any, words: PageWords) -> str:
    text = re.sub(r"\s+", " ", parameter.help or "").replace("|", "\\|").replace("<", "&lt;")
    default = parameter.default
    if not parameter.required and default not in (None, False, True, "", [], ()) and not callable(default):
        text += words.default.format(default)
    return text


if __name__ == "__main__":
    main()
