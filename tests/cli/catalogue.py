"""The texts of the command line, as they are in its code."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.main import get_command

import dedupcrawl
from dedupcrawl.cli.commands import COMMANDS, app
from dedupcrawl.cli.language import paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(dedupcrawl.__file__).parent
_INTERNAL = {"AttributeError", "TypeError", "ValueError", "KeyError", "MissingPackageError", "StaleAnswerError"}
MODULES = (*PACKAGE.glob("cli/*.py"), PACKAGE / "tools" / "demo" / "crawl.py")


def messages_in_code() -> Iterator[tuple[str, set[str] | None]]:
    """Yield each message that the code asks for, with the names of its values; None: they are not known there."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"tr", "mark"}:
                yield from _message(node)


def _message(call: ast.Call) -> Iterator[tuple[str, set[str] | None]]:
    text = call.args[0]
    if isinstance(text, ast.Constant):
        names = [each.arg for each in call.keywords]
        is_known = isinstance(call.func, ast.Name) and call.func.id == "tr" and None not in names
        yield str(text.value), {str(name) for name in names} if is_known else None
    else:  # a message that is marked elsewhere
        assert isinstance(text, ast.Name | ast.Attribute | ast.Subscript), ast.unparse(call)


def help_texts() -> set[str]:
    """Return the paragraphs of all help texts."""
    found = {each.summary for each in COMMANDS.values()}
    found.update(*map(_help_texts, _commands(get_command(app))))
    return found


def _commands(command: Any) -> Iterator[Any]:
    yield command
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from _commands(command.get_command(context, name))


def _help_texts(command: Any) -> set[str]:
    described = (command, *command.params, command.get_help_option(typer.Context(command)))
    return {paragraph for each in described for paragraph in paragraphs(each.help)}


# -- texts that the library makes --------------------------------------------------------------------


def errors_in(path: Path) -> Iterator[str]:
    """Yield a sample of each error that a module raises: "7" in place of each value."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            name = ast.unparse(node.exc.func)
            if name.endswith("Error") and name not in _INTERNAL:
                yield from samples(node.exc.args[-1 if name == "SettingError" else 0])


def remarks_in(path: Path) -> Iterator[str]:
    """Yield a sample of each sentence that a module makes."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Yield) and node.value is not None:
            yield from samples(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("found.append"):
            yield from samples(node.args[0])


def samples(node: ast.expr) -> Iterator[str]:
    """Yield a text with "7" in place of each value; nothing for one that is made elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)


def literals() -> str:
    """Return all literals of the package, a line each."""
    trees = (ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return "\n".join(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def steps() -> set[str]:
    """Return the names of the steps whose progress the package shows."""
    trees = (ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py"))
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    shown = (
        call.args[0] for call in calls if ast.unparse(call.func).endswith(("progress.begin", "bars.begin", ".track"))
    )
    return {str(each.value) for each in shown if isinstance(each, ast.Constant)}
