"""The configuration: every constant that affects a verdict, with its default.

A field ``name`` is the Scrapy setting ``DEDUP_NAME``: ``threshold`` is ``DEDUP_THRESHOLD``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

from dedupcrawl.detectors.base import MAX_LENGTH_SLACK, Relation
from dedupcrawl.errors import SettingError
from dedupcrawl.page.options import LINK_RULES, READER_ACCEPTED, ReadOptions
from dedupcrawl.text.lexicon import LANGUAGE_ACCEPTED, is_language
from dedupcrawl.text.normalize import FOLDING
from dedupcrawl.text.secret_seed import SECRET
from dedupcrawl.text.words import SEGMENTER_ACCEPTED, check_segmenter
from dedupcrawl.utils.optional import require_extra

Detectors = Sequence[str] | Mapping[str, Mapping[str, Any]]

_READ_DEFAULTS = ReadOptions()
_MAX_SECONDS = 1e9  #: a server stores times as milliseconds in 48 bits
#: Relations that drop a page by default.
DROP = frozenset({Relation.IDENTICAL, Relation.NEAR_DUPLICATE, Relation.UNCHANGED})


class ConfigChanges(TypedDict, total=False):
    """The fields of :class:`Config` as keyword arguments."""

    detectors: Detectors
    threshold: float
    length_ratio: float
    length_slack: int
    min_chars: int
    reader: str
    segmenter: str
    lexicon: str
    language: str
    fold_chinese: bool
    link_density_noise: float
    link_density_content: float
    link_run: int
    drop: frozenset[Relation]
    scope: str
    keep: str
    lease: float
    wait: float
    ttl: float | None
    seed: int | Literal["secret"]


@dataclass(frozen=True, slots=True)
class Config:
    """Every constant that affects a verdict. The Scrapy setting of a field is ``DEDUP_`` and its name in capitals.

    Raises:
        SettingError: a value is not accepted.
    """

    detectors: Detectors = ("exact", "minhash")  #: names, or names with their constants
    threshold: float = 0.8  #: lowest similarity of a near-duplicate, above 0, at most 1
    length_ratio: float = 1.10  #: α, highest ratio of the lengths of two copies, at least 1
    length_slack: int = 500  #: highest difference of the lengths of two copies in characters, 0…10⁹
    min_chars: int = 100  #: texts with fewer characters (0…) are compared by ``exact`` only
    reader: str = _READ_DEFAULTS.reader  #: "blocks", "topic", "text", or the dotted name of a function
    segmenter: str = "jieba"  #: splits Chinese into words: "jieba", "rjieba", or the dotted name of a function
    lexicon: str = ""  #: path of a file of document frequencies; "": the packaged ones
    language: str = ""  #: required language of the lexicon, a primary subtag of BCP 47; "": any
    fold_chinese: bool = False  #: whether to convert traditional characters to simplified ones
    link_density_noise: float = _READ_DEFAULTS.link_density_noise  #: R1 of the link rules, see ``ReadOptions``; R2…1
    link_density_content: float = _READ_DEFAULTS.link_density_content  #: R2, 0…1
    link_run: int = _READ_DEFAULTS.link_run  #: S, links, 0…
    drop: frozenset[Relation] = DROP  #: relations to an earlier page that drop a page
    scope: str = "all"  #: which pages are compared: "all", or "other-hosts" for those of other sites only
    keep: str = "first"  #: which copy is kept, "first" or "latest"
    lease: float = 60.0  #: seconds after which a claim ends unless it is renewed, above 0, at most 10⁹
    wait: float = 30.0  #: highest number of seconds to wait for another worker's claim, 0…
    ttl: float | None = None  #: seconds after which a record expires, above 0, at most 10⁹; None: never
    #: seed of all hash functions, 0…2⁶⁴ - 1, the same on all workers; "secret": a random one that the store keeps
    seed: int | Literal["secret"] = 0

    def __post_init__(self) -> None:
        with suppress(TypeError, ValueError):  # _ACCEPTED refuses other values below
            object.__setattr__(self, "drop", frozenset(map(Relation, self.drop)))
        for name, (is_fine, accepted) in _ACCEPTED.items():
            try:
                fine = is_fine(self)
            except TypeError:
                fine = False
            if not fine:
                raise SettingError(name, getattr(self, name), accepted)
        check_segmenter(self.segmenter)
        if self.fold_chinese:
            require_extra("opencc", FOLDING, "zh")

    @property
    def reading(self) -> ReadOptions:
        """The options for reading pages."""
        return ReadOptions(
            reader=self.reader,
            link_density_noise=self.link_density_noise,
            link_density_content=self.link_density_content,
            link_run=self.link_run,
            blocks=False,
        )


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_ACCEPTED: Mapping[str, tuple[Callable[[Config], bool], str]] = {
    "threshold": (lambda c: 0 < c.threshold <= 1, "a number above 0, at most 1"),
    "length_ratio": (lambda c: c.length_ratio >= 1, "a number of at least 1"),
    "length_slack": (
        lambda c: _is_integer(c.length_slack) and 0 <= c.length_slack <= MAX_LENGTH_SLACK,
        f"a whole number from 0 to {MAX_LENGTH_SLACK}",
    ),
    "min_chars": (lambda c: _is_integer(c.min_chars) and c.min_chars >= 0, "a whole number of at least 0"),
    "reader": (lambda c: isinstance(c.reader, str) and bool(c.reader), READER_ACCEPTED),
    "segmenter": (lambda c: isinstance(c.segmenter, str) and bool(c.segmenter), SEGMENTER_ACCEPTED),
    "lexicon": (lambda c: isinstance(c.lexicon, str), "the path of a lexicon file, or an empty text"),
    "language": (lambda c: is_language(c.language), LANGUAGE_ACCEPTED),
    "fold_chinese": (lambda c: isinstance(c.fold_chinese, bool), "True or False"),
    **LINK_RULES,
    "drop": (
        lambda c: isinstance(c.drop, frozenset) and c.drop <= frozenset(Relation),
        f"a set of relations, of {', '.join(Relation)}",
    ),
    "scope": (lambda c: c.scope in ("all", "other-hosts"), '"all" or "other-hosts"'),
    "keep": (lambda c: c.keep in ("first", "latest"), '"first" or "latest"'),
    "lease": (lambda c: 0 < c.lease <= _MAX_SECONDS, "seconds above 0, at most a billion"),
    "wait": (lambda c: c.wait >= 0, "seconds of at least 0"),
    "ttl": (lambda c: c.ttl is None or 0 < c.ttl <= _MAX_SECONDS, "seconds above 0, at most a billion, or None"),
    "seed": (
        lambda c: c.seed == SECRET or (isinstance(c.seed, int) and _is_integer(c.seed) and 0 <= c.seed < 2**64),
        'a whole number from 0 to 2**64 - 1, or "secret"',
    ),
}

CONFIG_FIELDS = tuple(field.name for field in fields(Config))
