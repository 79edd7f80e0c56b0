"""The options of page reading, and the import of a user's reader by its dotted name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from inspect import iscoroutinefunction, signature
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeAlias

from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dedupcrawl.page.model import Page

#: A user's reader: (HTML, URL) → main text, or a whole page; None or "" if the page has no main text.
UserReader: TypeAlias = "Callable[[str, str], str | Page | None]"

BUILT_IN = ("blocks", "topic", "text")  #: the names in :data:`dedupcrawl.page.readers.READERS`
READER_ACCEPTED = '"blocks", "topic", "text" or the dotted name of a function, "package.module:name"'

#: For each constant of the link rules a check and the accepted values. The checks take an object that has all
#: three constants, :class:`ReadOptions` or ``Config``.
LINK_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "link_density_content": (lambda rules: 0 <= rules.link_density_content <= 1, "a number from 0 to 1"),
    "link_density_noise": (
        lambda rules: rules.link_density_content <= rules.link_density_noise <= 1,
        "a number from link_density_content to 1",
    ),
    "link_run": (
        lambda rules: isinstance(rules.link_run, int) and not isinstance(rules.link_run, bool) and rules.link_run >= 0,
        "a whole number of at least 0",
    ),
}


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """The constants of the reader ``"topic"``; the defaults are those of patent CN101645082.

    Raises :class:`~dedupcrawl.errors.SettingError` for a value out of range.
    """

    characters: int = 100  #: a block element with at least this number of characters is a segment; 1…
    levels: int = 5  #: a block element with at least this number of level tags is a segment; 1…
    overlap: float = 0.3  #: a segment that shares more of its words with the longest one is topic; 0…1
    anchors: float = 0.7  #: a topic segment with a larger share of anchor text is topic anchors; 0…1

    def __post_init__(self) -> None:
        for name in ("characters", "levels"):
            if getattr(self, name) < 1:
                raise SettingError(name, getattr(self, name), "a whole number of at least 1")
        for name in ("overlap", "anchors"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingError(name, getattr(self, name), "a number from 0 to 1")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a page is read.

    R1, R2 and S have the values of the paper "Web page noise elimination by blocks". Raises
    :class:`~dedupcrawl.errors.SettingError` for a value out of range.
    """

    link_density_noise: float = 0.9  #: R1: the links of a block with a larger link density are noise; R2…1
    link_density_content: float = 0.3  #: R2: the links of one with a smaller link density are content; 0…1
    link_run: int = 3  #: S: between R1 and R2, a longer run of adjacent links is noise; 0…
    reader: str = "blocks"  #: a built-in reader or the dotted name of a function
    topic: TopicOptions = TopicOptions()  #: the constants of the reader ``"topic"``
    max_bytes: int = 10_000_000  #: a larger page is refused ("too-large"); bytes, 1…
    blocks: bool = True  #: whether ``Page.blocks`` is filled; duplicate detection does not need it

    def __post_init__(self) -> None:
        for name, (is_fine, accepted) in LINK_RULES.items():
            if not is_fine(self):
                raise SettingError(name, getattr(self, name), accepted)
        if self.max_bytes < 1:
            raise SettingError("max_bytes", self.max_bytes, "a whole number of bytes, at least 1")
        check_reader(self.reader)


def check_reader(name: object) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` if ``name`` is not the name of a reader."""
    if not isinstance(name, str):
        raise SettingError("reader", name, READER_ACCEPTED)
    if name not in BUILT_IN:
        import_reader(name)


@cache
def import_reader(name: str) -> UserReader:
    """Import the function of a dotted name, ``package.module:name`` or ``package.module.name``.

    Raises:
        SettingError: the function cannot be imported, or does not accept (HTML, URL); the message contains the reason.
    """
    if not {".", ":"} & {*name}:
        raise SettingError("reader", name, READER_ACCEPTED)
    try:
        function = resolve_name(name)
    except Exception as error:  # the import of a user's module may raise anything
        why = f"it cannot be imported: {type(error).__name__}: {error}"
        raise SettingError("reader", name, f"{READER_ACCEPTED}; {why}") from error
    if not callable(function) or iscoroutinefunction(function):
        what = "a coroutine function" if callable(function) else f"a {type(function).__name__}"
        raise SettingError("reader", name, f"{READER_ACCEPTED}; this is {what}")
    try:
        signature(function).bind("html", "url")
    except ValueError:
        pass  # some functions in C have no signature
    except TypeError as error:
        why = f"it is called with HTML and URL: {error}"
        raise SettingError("reader", name, f"{READER_ACCEPTED}; {why}") from None
    reader: UserReader = function
    return reader
