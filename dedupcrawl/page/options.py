"""The constants of page reading that a user may change, the name of a reader among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from inspect import iscoroutinefunction, signature
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol, TypeAlias

from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dedupcrawl.page.model import Page

#: A user's function: (HTML, URL) → main text, or a whole page; None or "" where there is no main text.
OwnReader: TypeAlias = "Callable[[str, str], str | Page | None]"

BUILT_IN = ("blocks", "topic", "text")  #: names of the readers that :mod:`dedupcrawl.page.readers` has
READER_ACCEPTED = '"blocks", "topic", "text" or the dotted name of a function, "package.module:name"'


class LinkRules(Protocol):
    """The constants of the link rules, in :class:`ReadOptions` as in the configuration."""

    @property
    def link_density_noise(self) -> float:
        """R1: a block with a larger share of guide links is noise."""
        ...

    @property
    def link_density_content(self) -> float:
        """R2: a block with a smaller share keeps its links."""
        ...

    @property
    def link_run(self) -> int:
        """S: between R1 and R2, a longer run of adjacent links is noise."""
        ...


#: For each of them whether its value is accepted, and which values are.
LINK_RULES: Mapping[str, tuple[Callable[[LinkRules], bool], str]] = {
    "link_density_content": (lambda rules: 0 <= rules.link_density_content <= 1, "a number from 0 to 1"),
    "link_density_noise": (
        lambda rules: rules.link_density_content <= rules.link_density_noise <= 1,
        "a number from link_density_content to 1",
    ),
    "link_run": (
        lambda rules: (
            isinstance(rules.link_run, int) and not isinstance(rules.link_run, bool) and rules.link_run >= 0
        ),
        "a whole number of at least 0",
    ),
}


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """The constants of the reader ``"topic"``, as patent CN101645082 has them.

    Raises :class:`~dedupcrawl.errors.SettingError` for a value that makes no sense.
    """

    characters: int = 100  #: of text, from which on a block element is a block of its own
    levels: int = 5  #: level tags, from which on it is one too
    overlap: float = 0.3  #: share of its words that a block has in common with the longest, to be topic
    anchors: float = 0.7  #: a topic block with a larger share of anchor text is a topic-anchor block

    def __post_init__(self) -> None:
        for name in ("characters", "levels"):
            if getattr(self, name) < 1:
                raise SettingError(name, getattr(self, name), "a whole number of at least 1")
        for name in ("overlap", "anchors"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingError(name, getattr(self, name), "a number from 0 to 1")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a page is read; the defaults are those of the block model's authors.

    Raises :class:`~dedupcrawl.errors.SettingError` for a value that makes no sense.
    """

    link_density_noise: float = 0.9  #: R1: a block with a larger share of guide links is noise
    link_density_content: float = 0.3  #: R2: a block with a smaller share keeps its links
    link_run: int = 3  #: S: between R1 and R2, a longer run of adjacent links is noise
    reader: str = "blocks"  #: which method finds the main text, see :mod:`dedupcrawl.page.readers`
    topic: TopicOptions = TopicOptions()  #: the constants of one of these methods
    max_bytes: int = 10_000_000  #: a larger page is refused ("too-large")
    blocks: bool = True  #: whether the page keeps its blocks; who only judges pages need not pay for them

    def __post_init__(self) -> None:
        for name, (is_fine, accepted) in LINK_RULES.items():
            if not is_fine(self):
                raise SettingError(name, getattr(self, name), accepted)
        if self.max_bytes < 1:
            raise SettingError("max_bytes", self.max_bytes, "a whole number of bytes, at least 1")
        check_reader(self.reader)


def check_reader(name: object) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` for a name behind which there is no reader."""
    if not isinstance(name, str):
        raise SettingError("reader", name, READER_ACCEPTED)
    if name not in BUILT_IN:
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
