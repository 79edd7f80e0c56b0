"""Which readers of main text there are, and how a user's choice becomes a function."""

from __future__ import annotations

from functools import cache
from inspect import iscoroutinefunction, signature
from pkgutil import resolve_name
from typing import TYPE_CHECKING, TypeAlias

from dedupcrawl.errors import SettingError
from dedupcrawl.page.everything import read_everything
from dedupcrawl.page.maintext import read_blocks
from dedupcrawl.page.topic import read_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lxml.etree import _Element

    from dedupcrawl.page.model import Page
    from dedupcrawl.page.options import ReadOptions

#: (root of the tree, URL, constants) → page.
TreeReader: TypeAlias = "Callable[[_Element, str, ReadOptions], Page]"

#: A user's function: (HTML, URL) → main text, or a whole page; None or "" where there is no main text.
OwnReader: TypeAlias = "Callable[[str, str], str | Page | None]"

READERS: Mapping[str, TreeReader] = {
    "blocks": read_blocks,
    "topic": read_topic,
    "text": read_everything,
}
READER_ACCEPTED = '"blocks", "topic", "text" or the dotted name of a function, "package.module:name"'


def check_reader(name: object) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` for a name behind which there is no reader."""
    if not isinstance(name, str):
        raise SettingError("reader", name, READER_ACCEPTED)
    if name not in READERS:
        own_reader(name)


@cache
def own_reader(name: str) -> OwnReader:
    """Import the function of a dotted name, ``package.module:name`` or ``package.module.name``.

    Raises:
        SettingError: there is none; the message says why.
    """
    if not {".", ":"} & {*name}:
        raise SettingError("reader", name, READER_ACCEPTED)
    try:
        function = resolve_name(name)
    except Exception as error:  # a user's module may raise whatever it likes
        why = f"it cannot be imported: {type(error).__name__}: {error}"
        raise SettingError("reader", name, f"{READER_ACCEPTED}; {why}") from error
    if not callable(function) or iscoroutinefunction(function):
        what = "a coroutine function" if callable(function) else f"a {type(function).__name__}"
        raise SettingError("reader", name, f"{READER_ACCEPTED}; this is {what}")
    if why := _unfit(function):
        raise SettingError("reader", name, f"{READER_ACCEPTED}; it is called with HTML and URL: {why}")
    reader: OwnReader = function
    return reader


def _unfit(function: Callable[..., object]) -> str:
    """Say why a function cannot be called as a reader is, as far as its signature tells."""
    try:
        accepts = signature(function)
    except (TypeError, ValueError):  # not every function in C has one
        return ""
    try:
        accepts.bind("html", "url")
    except TypeError as error:
        return str(error)
    return ""
