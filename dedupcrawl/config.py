"""The configuration: every constant that affects a verdict, with its default.

A field ``name`` is the Scrapy setting ``DEDUP_NAME``: ``threshold`` is ``DEDUP_THRESHOLD``. Constants have names
(``threshold``, ``minhash.slots``). A configuration can be written as text. :func:`recovered` makes a configuration from
the scheme of a store, as far as the scheme describes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from dedupcrawl.detectors.base import MAX_LENGTH_SLACK, Relation
from dedupcrawl.detectors.registry import DETECTORS, SHARED, build_detectors
from dedupcrawl.errors import DedupError, SettingError, StoreError
from dedupcrawl.page.options import LINK_RULES, READER_ACCEPTED, ReadOptions
from dedupcrawl.text.lexicon import LANGUAGE_ACCEPTED, is_language
from dedupcrawl.text.normalize import FOLDING
from dedupcrawl.text.words import SEGMENTER_ACCEPTED, check_segmenter
from dedupcrawl.utils.optional import require_extra
from dedupcrawl.utils.redaction import SECRET, SecretSeed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


Detectors = Sequence[str] | Mapping[str, Mapping[str, Any]]

_READ_DEFAULTS = ReadOptions()
_MAX_SECONDS = 1e9  #: a server stores times as milliseconds in 48 bits
#: Relations that drop a page by default.
DROP = frozenset({Relation.IDENTICAL, Relation.NEAR_DUPLICATE, Relation.UNCHANGED})


class ConfigFields(TypedDict, total=False):
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
    versions: str
    keep: str
    site_memory: bool
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
    versions: str = "siblings"  #: what versions of one page of a manual are, "siblings" or "copies"
    keep: str = "first"  #: which copy is kept, "first" or "latest"
    site_memory: bool = True  #: whether text that a site repeats on many pages is left out of comparisons
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
    "versions": (lambda c: c.versions in ("siblings", "copies"), '"siblings" or "copies"'),
    "keep": (lambda c: c.keep in ("first", "latest"), '"first" or "latest"'),
    "site_memory": (lambda c: isinstance(c.site_memory, bool), "True or False"),
    "lease": (lambda c: 0 < c.lease <= _MAX_SECONDS, "seconds above 0, at most a billion"),
    "wait": (lambda c: c.wait >= 0, "seconds of at least 0"),
    "ttl": (lambda c: c.ttl is None or 0 < c.ttl <= _MAX_SECONDS, "seconds above 0, at most a billion, or None"),
    "seed": (
        lambda c: c.seed == SECRET or (isinstance(c.seed, int) and _is_integer(c.seed) and 0 <= c.seed < 2**64),
        'a whole number from 0 to 2**64 - 1, or "secret"',
    ),
}

CONFIG_FIELDS = tuple(field.name for field in fields(Config))


# -- constants by name, and as text -------------------------------------------------------------

#: Fields of ``Config`` that do not affect an evaluation, or are chosen in another way.
_EXCLUDED = frozenset({"detectors", "lease", "wait", "ttl"})
PREFIX = "DEDUP_"  #: of Scrapy settings
_USUAL = ("detectors", "threshold", "length_ratio", "min_chars", "reader", "drop", "keep")
GENERAL = tuple(name for name in CONFIG_FIELDS if name not in _EXCLUDED)


def with_constant(config: Config, name: str, value: object) -> Config:
    """Return ``config`` with one constant changed.

    Raises:
        SettingError: the name or the value is not accepted, or no detector in use has this constant.
    """
    if wrong := complaint(config, name):
        raise SettingError(name, value, wrong)
    detector, dot, constant = name.partition(".")
    if dot:
        chosen = constants_of(config)
        changed = replace(config, detectors={**chosen, detector: {**chosen[detector], constant: value}})
    else:
        changes: dict[str, Any] = {name: value}
        changed = replace(config, **changes)
    stand_in = SecretSeed.draw()
    same = build_detectors(_with_seed(changed, stand_in)) == build_detectors(_with_seed(config, stand_in))
    if name in SHARED and same and value != getattr(config, name):
        raise SettingError(name, value, _not_had(config))
    return changed


def check_detectors(config: Config) -> None:
    """Raise SettingError unless the detectors accept their constants. The seed may be one that only a store knows."""
    build_detectors(_with_seed(config, SecretSeed.draw()))


def _with_seed(config: Config, secret: SecretSeed) -> Config:
    """Return ``config`` with ``secret`` if its seed is in a store; other constants do not depend on it."""
    return replace(config, seed=secret) if config.seed == SECRET else config


def _not_had(config: Config) -> str:
    """Describe the accepted constants, for a shared constant that no detector in use has."""
    chosen = constants_of(config)
    own = ", ".join(f"{each}.{constant}" for each in chosen for constant in constants_named(each))
    return f"a constant that {' or '.join(chosen)} has" + (f", and these are {own}" if own else "")


def value_of(config: Config, name: str) -> object:
    """Return the value of a constant; :func:`complaint` must accept its name."""
    detector, dot, constant = name.partition(".")
    if not dot:
        return getattr(config, name)
    built = {each.name: each for each in build_detectors(config)}
    return getattr(built[detector], constant)


def complaint(config: Config, name: str) -> str:
    """Return which names are accepted if ``name`` is none of them, otherwise ""."""
    detector, dot, constant = name.partition(".")
    chosen = constants_of(config)
    if not dot:
        names = ", ".join(GENERAL)
        return "" if name in GENERAL else f"one of {names}, or DETECTOR.CONSTANT as in {_example(config)}"
    if detector not in chosen:
        return f"a constant of a detector in use, and these are {' and '.join(chosen)}"
    names = ", ".join(constants_named(detector))
    return "" if constant in constants_named(detector) else f"{detector} has the constants {names}"


def _example(config: Config) -> str:
    detector = list(constants_of(config))[-1]
    return f"{detector}.{constants_named(detector)[0]}"


def constants_of(config: Config) -> dict[str, dict[str, Any]]:
    """Return the detectors in use, each with the constants that the user set."""
    chosen = config.detectors
    if isinstance(chosen, Mapping):
        return {name: dict(constants or {}) for name, constants in chosen.items()}
    return {name: {} for name in chosen}


def constants_named(detector: str) -> tuple[str, ...]:
    """Return the names of a detector's constants."""
    return tuple(each.name for each in fields(DETECTORS[detector]) if each.init)  # type: ignore[arg-type]


def setting_name(constant: str) -> str:
    """Return the Scrapy setting of a field of :class:`~dedupcrawl.config.Config`.

    >>> setting_name("length_ratio")
    'DEDUP_LENGTH_RATIO'
    """
    return PREFIX + constant.upper()


def settings_lines(config: Config, also: Iterable[str] = ()) -> list[str]:
    """Return a line of ``settings.py`` for each constant that differs from its default.

    Constants named in ``also`` ("name" or "name.detail") get a line in any case.
    """
    asked = {name.partition(".")[0] for name in also}
    return [f"{setting_name(name)} = {_as_python(value)}" for name, value in _changed(config, asked)]


def settings_shown(config: Config) -> dict[str, str]:
    """Return the settings that a report shows: the usual ones, and those that differ from their default."""
    return {setting_name(name): _as_prose(value) for name, value in _changed(config, _USUAL)}


def settings_json(values: Mapping[str, object]) -> dict[str, str]:
    """Return settings as a ledger stores them: each value as JSON."""
    return {setting_name(name): json.dumps(value, ensure_ascii=False) for name, value in values.items()}


def _changed(config: Config, also: Iterable[str]) -> Iterator[tuple[str, object]]:
    """Yield the constants that differ from their defaults, and those in ``also``."""
    default, asked = Config(), frozenset(also)
    for name in CONFIG_FIELDS:
        value = getattr(config, name)
        if name in asked or value != getattr(default, name):
            yield name, value


def _as_python(value: object) -> str:
    if isinstance(value, frozenset):
        return repr(sorted(map(str, value)))
    return repr(list(value) if isinstance(value, tuple) else value).replace("'", '"')


def _as_prose(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_as_prose(of)}".strip() for name, of in value.items())
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value)


# -- the configuration of a store ---------------------------------------------------------------

_TEXT = "text"  #: key of a scheme under which it describes how pages are read
_DIGESTS = frozenset({"lexicon", "stop_words"})  #: constants that a scheme stores as a hash
_COMBINED = "combined"
_RULES = ("all_of", "any_of")
_FIELDS = "fields"


@dataclass(frozen=True, slots=True)
class RecoveredConfig:
    """A configuration that is compatible with a store."""

    config: Config
    notes: tuple[str, ...] = ()  #: assumptions that were made, as sentences


def recovered(scheme: Mapping[str, Any], base: Config) -> RecoveredConfig:
    """Return ``base`` with all constants that the scheme of a store describes.

    A scheme does not contain constants that are used only in comparisons (thresholds, ratios): they stay
    those of ``base``. A secret seed is "secret" unless ``base`` has it. If the threshold does not give the
    bands of a sketch, another threshold that does is assumed.

    Raises:
        StoreError: the scheme names a detector that this version does not have, or was not written by dedupcrawl.
        SettingError: this version does not accept one of its constants.
    """
    try:
        return _recovered(scheme, base)
    except DedupError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:  # others may have written it
        raise StoreError("The configuration that the store was filled under is none of this version.") from error


def _recovered(scheme: Mapping[str, Any], base: Config) -> RecoveredConfig:
    described = {name: constants for name, constants in scheme.items() if name != _TEXT}
    for name in described:
        if name not in DETECTORS:
            raise StoreError(f"The store was filled with detector {name!r}, which this version does not have.")
    chosen = {name: _constants(name, constants) for name, constants in described.items()}
    banded = [(name, constants, chosen[name]) for name, constants in described.items()]
    banded += _members_with_schemes(described.get(_COMBINED, {}), chosen.get(_COMBINED, {}))
    notes = [note for each in banded if (note := _with_threshold(*each, base))]
    text = scheme.get(_TEXT, {})
    reader, fold_chinese = text.get("reader", "blocks"), "fold_chinese" in text
    config = replace(base, detectors=chosen, reader=reader, fold_chinese=fold_chinese)
    if _has_secret(described) and not isinstance(base.seed, SecretSeed):
        config = replace(config, seed=SECRET)
    return RecoveredConfig(config, tuple(notes))


def _has_secret(described: object) -> bool:
    """Whether the seed of any detector is a secret of the store."""
    if not isinstance(described, dict):
        return False
    return described.get("seed") == SECRET or any(map(_has_secret, described.values()))


def _members_with_schemes(
    described: Mapping[str, Any], chosen: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], dict[str, Any]]]:
    """Yield name, scheme and constants of the members of the combined detector."""
    for rule, members in chosen.items():
        for label, of in members.items():
            if rule != _FIELDS:
                yield label, described["members"][label], of
                continue
            for name, constants in of.items():
                yield name, described[_FIELDS][label][name], constants


def _constants(name: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constants in a detector's scheme that a user can set."""
    if name == _COMBINED and _FIELDS in described:
        fields = {label: described[_FIELDS][label] for label in described["order"]}
        return {
            _FIELDS: {label: {one: _constants(one, of) for one, of in each.items()} for label, each in fields.items()}
        }
    if name == _COMBINED:
        return {
            rule: {member: _constants(member, described["members"][member]) for member in described[rule]}
            for rule in _RULES
            if rule in described
        }
    known = set(constants_named(name)) - _DIGESTS
    found = {constant: value for constant, value in described.items() if constant in known}
    if found.get("seed") == SECRET:  # the configuration has it
        del found["seed"]
    if "groups" in described:  # boolean
        found["differing"] = described["groups"] - 1
    return found


def _with_threshold(name: str, described: Mapping[str, Any], constants: dict[str, Any], base: Config) -> str | None:
    """Add the threshold that gives the stored bands; return a note if it is not that of ``base``."""
    if not {"bands", "rows"} <= described.keys():
        return None
    from dedupcrawl.detectors.lsh import choose_bands  # noqa: PLC0415  # only for some stores
    from dedupcrawl.detectors.minhash import MinHash  # noqa: PLC0415  # the same

    slots, weight = _filed(name, constants)
    wanted = described["bands"], described["rows"]
    is_minhash = name == MinHash.name
    if choose_bands(min(base.threshold, MinHash.floor) if is_minhash else base.threshold, slots, weight) == wanted:
        return None
    found = _threshold(slots, weight, wanted)
    if found is None:
        return None  # opening the store will fail, with a message that names the bands
    if is_minhash:
        constants["floor"] = found
    if not is_minhash or base.threshold < found:
        constants["threshold"] = found
    bands, rows = wanted
    return f"{name} was filed in {bands} bands of {rows} slots, as with a threshold of some {found}, which is assumed."


def _threshold(slots: int, miss_weight: float, wanted: tuple[int, int]) -> float | None:
    """Return a threshold that gives these bands: of those with the fewest digits the middle one."""
    from dedupcrawl.detectors.lsh import choose_bands  # noqa: PLC0415  # as above

    for parts in (20, 100):  # each takes up to 20 ms
        grid = (at / parts for at in range(1, parts + 1))
        fitting = [each for each in grid if choose_bands(each, slots, miss_weight) == wanted]
        if fitting:
            return fitting[len(fitting) // 2]
    return None


def _filed(name: str, constants: Mapping[str, Any]) -> tuple[int, float]:
    """Return how many slots are filed in bands, and the weight of a miss."""
    from dedupcrawl.detectors.datasketch import MAX_PERMUTATIONS, Datasketch  # noqa: PLC0415  # as above
    from dedupcrawl.detectors.minhash import MinHash  # noqa: PLC0415  # as above

    if name == MinHash.name:
        slots: int = min(MinHash.filed, constants["slots"])
        return slots, MinHash.miss_weight
    if not 0 < constants["num_perm"] <= MAX_PERMUTATIONS:  # the bands of very many would be searched for hours
        raise ValueError
    return constants["num_perm"], Datasketch.miss_weight
