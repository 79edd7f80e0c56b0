"""The settings of a crawl, read and checked into one frozen dataclass."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from math import inf
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Self

from scrapy.utils.project import data_path

from dedupcrawl.config import CONFIG_FIELDS, Config
from dedupcrawl.constants import PREFIX, setting_name
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.stores.opening import MEMORY
from dedupcrawl.stores.redis.address import SCRAPY_REDIS, url_from_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.settings import BaseSettings

FEED_MODE = "feed_slot_closed"

_RIM = (
    "enabled",
    "action",
    "store",
    "namespace",
    "item_fields",
    "follow_duplicates",
    "commit",
    "on_store_error",
    "store_patience",
    "report",
)
_LISTS = ("detectors", "drop", "item_fields")
_TEXTS = ("keep", "reader", "segmenter", "lexicon", "language")
_BOOLEANS: Mapping[object, bool] = {"1": True, "0": False, "true": True, "false": False}

_REPORT_ACCEPTED = (
    'a path that ends in ".html", in a folder that exists and can be written; '
    "%(name)s, %(time)s and %(pid)s in it stand for the spider, the time and the process"
)
_REPORT_MEMORY = "dedup-report.json"  #: in JOBDIR

SETTINGS = tuple(setting_name(name) for name in (*_RIM, *CONFIG_FIELDS))


@dataclass(frozen=True, slots=True)
class ReportPaths:
    """Where the report of a crawl goes, and its ledger beside it."""

    template: str  #: as the user gave it
    page: Path
    job: str = ""  #: what tells the job of a resumed crawl from others; "" without JOBDIR
    resumes: bool = False  #: whether this crawl goes on with an earlier one's ledger

    @property
    def ledger(self) -> Path:
        """The ledger: what the report is made from."""
        return self.page.with_suffix(".ledger")

    @classmethod
    def named(cls, value: object, spider_name: str) -> Self | None:
        """Read ``DEDUP_REPORT``; None: there shall be no report.

        Raises :class:`~dedupcrawl.errors.SettingError`, before anything is written.
        """
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if not isinstance(value, str):
            raise SettingError("DEDUP_REPORT", value, _REPORT_ACCEPTED)
        if not value:
            return None
        page = Path(_filled(value, spider_name)).absolute()
        is_page = page.suffix.lower() in (".html", ".htm") and not page.is_dir()
        if not is_page or not page.parent.is_dir() or not os.access(page.parent, os.W_OK):
            raise SettingError("DEDUP_REPORT", value, _REPORT_ACCEPTED)
        return cls(value, page)

    def resumed(self, job: str | None) -> ReportPaths:
        """Return the paths of the crawl that is resumed, if the folder ``job`` (``JOBDIR``) names one."""
        if not job:
            return self
        memory = Path(job, _REPORT_MEMORY)
        return self._remembered(memory) or self._remember(memory)

    def _remembered(self, memory: Path) -> ReportPaths | None:
        try:
            stored = json.loads(memory.read_text("utf-8"))
            earlier = ReportPaths(stored["template"], Path(stored["page"]), stored["job"], resumes=True)
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return earlier if earlier.template == self.template and earlier._is_there() else None

    def _is_there(self) -> bool:
        from dedupcrawl.ledger.ledger import Ledger  # noqa: PLC0415  # most crawls need no ledger

        try:
            with Ledger.open(self.ledger) as ledger:
                return ledger.runs[-1].about.get("job") == self.job
        except (DedupError, IndexError):
            return False

    def _remember(self, memory: Path) -> ReportPaths:
        paths = replace(self, job=token_hex(8))
        stored = {"template": paths.template, "page": str(paths.page), "job": paths.job}
        try:
            memory.parent.mkdir(parents=True, exist_ok=True)
            memory.write_text(json.dumps(stored), "utf-8")
        except OSError as error:
            raise DedupError(f"{memory} cannot be written: {error.strerror}") from None
        return paths


@dataclass(frozen=True, slots=True)
class Options:
    """What a user chose, valid as a whole."""

    store: str  #: URL
    namespace: str
    config: Config
    drops: bool = True  #: False: every page is kept, and tagged
    item_fields: tuple[str, ...] = ()  #: whose text is judged; (): the page that the item came from
    follow_duplicates: bool = True  #: False: the spider does not see pages that the store knows
    commit_with_feeds: bool = False  #: an item is safe when its feeds are stored, not when it was scraped
    on_store_error: str = "keep"  #: "keep", "wait" or "close": what becomes of pages while the store is away
    store_patience: float = 300.0  #: seconds for which "wait" waits before the crawl is closed
    log_interval: float = 0.0  #: seconds between two lines that say how far the crawl is; 0: there are none
    report: ReportPaths | None = None  #: where the report goes; None: there is none
    spool: Path | None = None  #: where pages kept meanwhile are remembered; None: a store that ends with us

    @classmethod
    def from_settings(cls, settings: BaseSettings, spider_name: str) -> Self:
        """Read and check all settings that start with ``DEDUP_``.

        Raises :class:`~dedupcrawl.errors.SettingError`, naming the setting, for a value that is not
        accepted and for a name that does not exist.
        """
        _refuse_unknown(settings)
        given = _given(settings)
        drops = _choice(given, "action", ("drop", "tag")) == "drop"
        store = _store(given, settings)
        options = cls(
            store=store,
            namespace=_text(given, "namespace") or spider_name,
            config=_config(given),
            drops=drops,
            item_fields=_names(given, "item_fields"),
            follow_duplicates=_boolean(given, "follow_duplicates", default=True),
            commit_with_feeds=_choice(given, "commit", ("item_scraped", FEED_MODE)) == FEED_MODE,
            on_store_error=_choice(given, "on_store_error", ("keep", "wait", "close")),
            store_patience=_seconds(given, "store_patience", 300.0),
            log_interval=_log_interval(settings),
            report=ReportPaths.named(given.get("DEDUP_REPORT", ""), spider_name),
            spool=None if store == MEMORY else _folder(settings, "dedup-spool"),
        )
        options._check_together(settings)
        return options

    def _check_together(self, settings: BaseSettings) -> None:
        if self.commit_with_feeds and not (settings["FEEDS"] or settings["FEED_URI"]):
            raise SettingError("DEDUP_COMMIT", FEED_MODE, '"item_scraped", as long as FEEDS names no feed')
        if not self.follow_duplicates and not self.drops:
            accepted = 'True with DEDUP_ACTION = "tag", which keeps every page'
            raise SettingError("DEDUP_FOLLOW_DUPLICATES", False, accepted)
        if not self.follow_duplicates and self.item_fields:
            accepted = "True with DEDUP_ITEM_FIELDS, which judges items and not pages"
            raise SettingError("DEDUP_FOLLOW_DUPLICATES", False, accepted)


def config_in(settings: BaseSettings) -> Config:
    """Return the configuration of a project, whatever its spiders are.

    Raises :class:`~dedupcrawl.errors.SettingError` as :meth:`Options.from_settings` does.
    """
    _refuse_unknown(settings)
    return _config(_given(settings))


def namespace_in(settings: BaseSettings) -> str | None:
    """Return the namespace that a project names for all of its spiders."""
    return _text(_given(settings), "namespace") or None


def is_enabled(settings: BaseSettings) -> bool:
    """Read ``DEDUP_ENABLED``."""
    given = {"DEDUP_ENABLED": settings["DEDUP_ENABLED"]} if settings["DEDUP_ENABLED"] is not None else {}
    return _boolean(given, "enabled", default=True)


def _log_interval(settings: BaseSettings) -> float:
    """Read the setting that Scrapy's own line goes by."""
    value = settings["LOGSTATS_INTERVAL"]
    try:
        seconds = float(value or 0)
    except (TypeError, ValueError):
        raise SettingError("LOGSTATS_INTERVAL", value, "seconds; with 0 no progress is logged") from None
    return seconds if 0 < seconds < inf else 0.0


def _store(given: Mapping[str, object], settings: BaseSettings) -> str:
    """Return the URL of the store, which the settings of scrapy-redis may name."""
    url = _text(given, "store") or default_store(settings)
    return url_from_settings(settings) if url == SCRAPY_REDIS else url


def default_store(settings: BaseSettings) -> str:
    """Return the URL of an LMDB store below ``JOBDIR``, else below the project's data folder."""
    return f"lmdb://{_folder(settings, 'dedup')}"


def as_setting(error: SettingError) -> SettingError:
    """Name a constant of :class:`~dedupcrawl.config.Config` as the setting that it came from."""
    if error.name.startswith(PREFIX):
        return error
    constant, bracket, detail = error.name.partition("[")
    return SettingError(setting_name(constant) + bracket + detail, error.value, error.accepted)


def _given(settings: BaseSettings) -> dict[str, object]:
    return {name: _plain(settings[name], name) for name in SETTINGS if settings[name] is not None}


def _folder(settings: BaseSettings, name: str) -> Path:
    job = settings["JOBDIR"]
    return (Path(job, name) if job else Path(data_path(name))).absolute()


def _refuse_unknown(settings: BaseSettings) -> None:
    for name in settings:
        if name.startswith(PREFIX) and name not in SETTINGS:
            near = get_close_matches(name, SETTINGS, n=1, cutoff=0)
            raise SettingError(name, settings[name], f"there is no such setting; the nearest is {near[0]}")


def _plain(value: object, setting: str) -> object:
    """Read what the command line can only give as text."""
    if not isinstance(value, str):
        return value
    name = setting.removeprefix(PREFIX).lower()
    if name in _LISTS:
        return _from_json(value, setting) if value.lstrip()[:1] in ("[", "{") else _split(value)
    if name == "fold_chinese":
        return _BOOLEANS.get(value.lower(), value)
    if (name in CONFIG_FIELDS and name not in _TEXTS) or name == "store_patience":
        return _number(value)
    return value


def _from_json(value: str, setting: str) -> object:
    """Read JSON, and refuse a name that an object has twice, of which ``json`` would drop the first."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        for name, count in Counter(name for name, _ in pairs).items():
            if count > 1:
                raise SettingError(setting, value, f"each name once, and {name!r} stands there {count} times")
        return dict(pairs)

    try:
        return json.loads(value, object_pairs_hook=once)
    except json.JSONDecodeError:
        return value


def _split(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


def _number(value: str) -> object:
    if value.lower() == "none":
        return None
    for read in (int, float):
        with suppress(ValueError):
            return read(value)
    return value


def _config(given: Mapping[str, object]) -> Config:
    names = {name: given[setting_name(name)] for name in CONFIG_FIELDS if setting_name(name) in given}
    if "drop" in names:
        names["drop"] = _relations(names["drop"])
    try:
        return Config(**names)  # type: ignore[arg-type]  # Config checks its values itself
    except SettingError as error:
        raise as_setting(error) from None


def _relations(value: object) -> frozenset[Relation]:
    try:
        return frozenset(map(Relation, value))  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise SettingError("DEDUP_DROP", value, f"a list of relations, of {', '.join(Relation)}") from None


def _names(given: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = given.get(setting_name(name), ())
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise SettingError(setting_name(name), value, "a list of names of item fields")
    return tuple(value)


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(setting_name(name), "")
    if not isinstance(value, str):
        raise SettingError(setting_name(name), value, "text")
    return value


def _choice(given: Mapping[str, object], name: str, accepted: Sequence[str]) -> str:
    value = given.get(setting_name(name), accepted[0])
    if value not in accepted:
        *others, last = (f'"{each}"' for each in accepted)
        raise SettingError(setting_name(name), value, f"{', '.join(others)} or {last}")
    return str(value)


def _seconds(given: Mapping[str, object], name: str, default: float) -> float:
    value = given.get(setting_name(name), default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
        raise SettingError(setting_name(name), value, "seconds of at least 0")
    return float(value)


def _boolean(given: Mapping[str, object], name: str, *, default: bool) -> bool:
    value = given.get(setting_name(name), default)
    known = _BOOLEANS.get(str(int(value)) if isinstance(value, bool | int) else str(value).lower())
    if known is None:
        raise SettingError(setting_name(name), value, "True or False")
    return known


def _filled(value: str, spider_name: str) -> str:
    """Put names in the places of placeholders, as Scrapy's ``FEEDS`` does."""
    now = datetime.now(UTC).replace(microsecond=0, tzinfo=None).isoformat()
    try:
        return value % {"name": spider_name, "time": now.replace(":", "-"), "pid": os.getpid()}
    except (LookupError, TypeError, ValueError):
        raise SettingError("DEDUP_REPORT", value, _REPORT_ACCEPTED) from None
