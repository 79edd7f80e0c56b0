"""The settings of a crawl, read and checked into one frozen dataclass."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from math import inf
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured
from scrapy.utils.project import data_path

from dedupcrawl.config import CONFIG_FIELDS, PREFIX, Config, check_detectors, setting_name
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.stores import MEMORY
from dedupcrawl.stores.redis.address import SCRAPY_REDIS, url_from_settings
from dedupcrawl.utils.redaction import hide_password_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy.settings import BaseSettings

CLOSE_PATIENCE = 60.0  #: default of ``DEDUP_CLOSE_PATIENCE``, seconds
PAGE_TIMEOUT = 2.0  #: default of ``DEDUP_PAGE_TIMEOUT``, seconds
TAG_FIELD = "dedup"  #: default of ``DEDUP_TAG_FIELD``
#: default of ``DEDUP_URL_FIELDS``
URL_FIELDS = ("url", "link", "page_url", "permalink", "canonical_url", "source_url")
#: Values of ``DEDUP_COMMIT``: when an item counts as stored. "auto" is the last one with feeds, else the one before.
COMMIT_MODES = (AUTO, ITEM_MODE, FEED_MODE) = ("auto", "item_scraped", "feed_slot_closed")

#: Values of ``DEDUP_FORESEE`` beside False: what is done with requests whose pages are foreseen to be copies
FORESEE_MODES = ("observe", "postpone", "skip")

#: Values of ``DEDUP_LOG_LANGUAGE``
LOG_LANGUAGES = ("en", "zh")

#: Settings that are not fields of ``Config``.
_CRAWL_SETTINGS = (
    "enabled",
    "action",
    "tag_field",
    "store",
    "namespace",
    "reset",
    "item_fields",
    "url_fields",
    "text_field",
    "response_meta",
    "follow_duplicates",
    "revalidate",
    "foresee",
    "commit",
    "on_overwrite",
    "on_store_error",
    "store_patience",
    "close_patience",
    "page_timeout",
    "gc_freeze",
    "report",
    "log_language",
)
_ITEM_FIELDS, _DETECTORS = map(setting_name, ("item_fields", "detectors"))
_LISTS = ("detectors", "drop", "item_fields", "url_fields")
_TEXTS = ("keep", "scope", "versions", "reader", "segmenter", "lexicon", "language")
_BOOLEANS: Mapping[object, bool] = {"1": True, "0": False, "true": True, "false": False}

_REPORT_ACCEPTED = (
    'a path that ends in ".html", in a folder that exists and can be written; '
    "%(name)s, %(time)s and %(pid)s in it stand for the spider, the time and the process"
)
_REPORT_STATE = "dedup-report.json"  #: in JOBDIR: the paths of the report of the whole job

#: Names of all settings.
SETTINGS = tuple(setting_name(name) for name in (*_CRAWL_SETTINGS, *CONFIG_FIELDS))


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The paths of the report of a crawl and of its ledger."""

    template: str  #: value of ``DEDUP_REPORT``
    page: Path  #: the report
    job: str = ""  #: random name of the job that ``JOBDIR`` resumes; "" without JOBDIR
    resumes: bool = False  #: whether this crawl appends to an earlier crawl's ledger

    @property
    def ledger(self) -> Path:
        """The ledger, from which the report is made."""
        return self.page.with_suffix(".ledger")

    @classmethod
    def named(cls, value: object, spider_name: str) -> Self | None:
        """Read ``DEDUP_REPORT``; return None if it is empty. Raises ``SettingError``; writes nothing."""
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

    def resumed(self, job: str | None) -> ReportOptions:
        """Return the paths stored in the folder ``job`` (``JOBDIR``), or store these paths there."""
        if not job:
            return self
        state = Path(job, _REPORT_STATE)
        with suppress(OSError, ValueError, LookupError, TypeError):
            stored = json.loads(state.read_text("utf-8"))
            earlier = ReportOptions(stored["template"], Path(stored["page"]), stored["job"], resumes=True)
            if earlier.template == self.template and earlier._has_ledger():
                return earlier
        paths = replace(self, job=token_hex(8))
        try:
            state.parent.mkdir(parents=True, exist_ok=True)
            stored = {"template": paths.template, "page": str(paths.page), "job": paths.job}
            state.write_text(json.dumps(stored), "utf-8")
        except OSError as error:
            raise DedupError(f"{state} cannot be written: {error.strerror}") from None
        return paths

    def _has_ledger(self) -> bool:
        from dedupcrawl.ledger.ledger import Ledger  # noqa: PLC0415  # most crawls need no ledger

        with suppress(DedupError, IndexError), Ledger.open(self.ledger) as ledger:
            return ledger.runs[-1].about.get("job") == self.job
        return False


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a crawl, checked one by one and together."""

    store: str = field(repr=False)  #: URL; it may hold a password
    namespace: str  #: part of the store
    config: Config  #: the constants that affect verdicts
    reset: bool = False  #: whether the namespace is emptied when the crawl starts
    drops: bool = True  #: False: every page is kept, and its items are tagged
    tag_field: str = TAG_FIELD  #: item field for the verdict, unless pages are dropped
    item_fields: tuple[str, ...] = ()  #: their text is judged; (): the page of the item is judged
    url_fields: tuple[str, ...] = URL_FIELDS  #: item fields that may hold the URL of the page that an item is about
    url_fields_given: bool = False  #: whether the project has chosen them
    text_field: str = ""  #: item field for the main text of the page; "": it is not written
    response_meta: bool = False  #: whether ``response.meta`` gets the page and its verdict
    follow_duplicates: bool = True  #: False: known pages are withheld from the spider
    revalidate: bool = False  #: whether known pages are asked for conditionally
    foresee: str = FORESEE_MODES[0]  #: one of ``FORESEE_MODES``; "": copies are not foreseen
    commit: str = AUTO  #: one of ``COMMIT_MODES``
    on_overwrite: str = "warn"  #: "warn" or "close": policy for feeds that would lack what earlier crawls have stored
    on_store_error: str = "keep"  #: "keep", "wait" or "close": policy during an outage of the store
    store_patience: float = 300.0  #: seconds of an outage after which "wait" closes the crawl
    close_patience: float = CLOSE_PATIENCE  #: seconds for which the end of a crawl waits for the store
    page_timeout: float | None = PAGE_TIMEOUT  #: seconds of processor time for one page; None: no limit
    gc_freeze: bool = True  #: whether garbage collections skip what exists when the crawl starts
    log_language: str = LOG_LANGUAGES[0]  #: of the summary, one of ``LOG_LANGUAGES``
    log_interval: float = 0.0  #: seconds between two progress lines; 0: none is logged
    report: ReportOptions | None = None  #: None: no report
    spool: Path | None = None  #: folder of the spools; None: none is needed with a store in memory

    @classmethod
    def from_settings(cls, settings: BaseSettings, spider_name: str) -> Self:
        """Read and check all settings that start with ``DEDUP_``.

        Raises :class:`~dedupcrawl.errors.SettingError` for a value that is not accepted, and for a name that
        does not exist.
        """
        _refuse_unknown(settings)
        given = _given(settings)
        drops = _choice(given, "action", ("drop", "tag")) == "drop"
        store = _store(given, settings)
        options = cls(
            store=store,
            namespace=_text(given, "namespace") or spider_name,
            config=_config_of_items(given),
            reset=_boolean(given, "reset", default=False),
            drops=drops,
            tag_field=_tag_field(given),
            item_fields=_item_fields(given),
            url_fields=_names(given, "url_fields", URL_FIELDS),
            url_fields_given=setting_name("url_fields") in given,
            text_field=_text(given, "text_field"),
            response_meta=_boolean(given, "response_meta", default=False),
            follow_duplicates=_boolean(given, "follow_duplicates", default=True),
            revalidate=_boolean(given, "revalidate", default=False),
            foresee=_foresee(given),
            commit=_choice(given, "commit", COMMIT_MODES),
            on_overwrite=_choice(given, "on_overwrite", ("warn", "close")),
            on_store_error=_choice(given, "on_store_error", ("keep", "wait", "close")),
            store_patience=_seconds(given, "store_patience", 300.0),
            close_patience=_finite_seconds(given, "close_patience", CLOSE_PATIENCE),
            page_timeout=_page_timeout(given, settings),
            gc_freeze=_boolean(given, "gc_freeze", default=True),
            log_language=_choice(given, "log_language", LOG_LANGUAGES),
            log_interval=_log_interval(settings),
            report=ReportOptions.named(given.get("DEDUP_REPORT", ""), spider_name),
            spool=None if store == MEMORY else _folder(settings, "dedup-spool"),
        )
        options._check_together(settings)
        return options

    @property
    def shows_pages(self) -> bool:
        """Whether spiders see the page of a response in ``response.meta``."""
        return self.response_meta or bool(self.text_field)

    @property
    def changes_crawl(self) -> bool:
        """Whether requests are postponed or skipped."""
        return self.foresee in FORESEE_MODES[1:]

    def _check_together(self, settings: BaseSettings) -> None:
        if self.commit == FEED_MODE and not names_feeds(settings):
            raise SettingError("DEDUP_COMMIT", FEED_MODE, f'"{AUTO}" or "{ITEM_MODE}", as long as FEEDS names no feed')
        if self.text_field == self.tag_field:
            accepted = "the name of another field: this one is for the verdict"
            raise SettingError("DEDUP_TEXT_FIELD", self.text_field, accepted)
        if self.changes_crawl and self.item_fields:
            accepted = '"observe" or False with DEDUP_ITEM_FIELDS, which judges items and not pages'
            raise SettingError("DEDUP_FORESEE", self.foresee, accepted)
        if self.foresee == "skip" and not self.drops:
            accepted = '"observe", "postpone" or False with DEDUP_ACTION = "tag", which keeps every page'
            raise SettingError("DEDUP_FORESEE", self.foresee, accepted)
        if not self.follow_duplicates and not self.drops:
            accepted = 'True with DEDUP_ACTION = "tag", which keeps every page'
            raise SettingError("DEDUP_FOLLOW_DUPLICATES", False, accepted)
        if not self.follow_duplicates and self.item_fields:
            accepted = "True with DEDUP_ITEM_FIELDS, which judges items and not pages"
            raise SettingError("DEDUP_FOLLOW_DUPLICATES", False, accepted)


def config_in(settings: BaseSettings) -> Config:
    """Return the configuration of a project, as its crawls have it; raises ``SettingError``."""
    _refuse_unknown(settings)
    return _config_of_items(_given(settings))


def namespace_in(settings: BaseSettings) -> str | None:
    """Return the namespace that a project sets for all its spiders, if any."""
    return _text(_given(settings), "namespace") or None


def store_in(settings: BaseSettings) -> str:
    """Return the URL of the store that the crawls of a project have; raises ``SettingError``."""
    return _store(_given(settings), settings)


def names_feeds(settings: BaseSettings) -> bool:
    """Whether a project names feeds, or a command line does."""
    return bool(settings["FEEDS"] or settings["FEED_URI"])


def is_enabled(settings: BaseSettings) -> bool:
    """Read ``DEDUP_ENABLED``, and no other setting; raises ``SettingError``."""
    return _boolean(_given(settings, ["DEDUP_ENABLED"]), "enabled", default=True)


def as_setting(error: SettingError) -> SettingError:
    """Return an error about a constant of ``Config`` as one about its setting."""
    if error.name.startswith(PREFIX):
        return error
    constant, bracket, detail = error.name.partition("[")
    return SettingError(setting_name(constant) + bracket + detail, error.value, error.accepted)


def _log_interval(settings: BaseSettings) -> float:
    value = settings["LOGSTATS_INTERVAL"]
    try:
        seconds = float(value or 0)
    except (TypeError, ValueError):
        raise SettingError("LOGSTATS_INTERVAL", value, "seconds; with 0 no progress is logged") from None
    return seconds if 0 < seconds < inf else 0.0


def _store(given: Mapping[str, object], settings: BaseSettings) -> str:
    url = _text(given, "store") or f"lmdb://{_folder(settings, 'dedup')}"
    return url_from_settings(settings) if url == SCRAPY_REDIS else url


def _given(settings: BaseSettings, names: Iterable[str] = SETTINGS) -> dict[str, object]:
    return {name: _parsed(settings[name], name) for name in names if settings[name] is not None}


def _folder(settings: BaseSettings, name: str) -> Path:
    """Return a folder in ``JOBDIR``, or in the project's data folder ``.scrapy``."""
    job = settings["JOBDIR"]
    return (Path(job, name) if job else Path(_data_path(name))).absolute()


def _data_path(name: str) -> str:
    try:
        return data_path(name)
    except NotConfigured:  # a project without scrapy.cfg, as SCRAPY_SETTINGS_MODULE names it: in an image, by scrapyd
        return str(Path(".scrapy", name))
    except FileExistsError:  # another worker of the project has created its data folder at the same moment
        return data_path(name)


def _refuse_unknown(settings: BaseSettings) -> None:
    for name in settings:
        if name.startswith(PREFIX) and name not in SETTINGS:
            near = get_close_matches(name, SETTINGS, n=1, cutoff=0)
            raise SettingError(name, settings[name], f"there is no such setting; the nearest is {near[0]}")


def _parsed(value: object, setting: str) -> object:
    """Parse the text of a setting that was given on the command line."""
    if not isinstance(value, str):
        return value
    name = setting.removeprefix(PREFIX).lower()
    if name in _LISTS:
        return _from_json(value, setting) if value.lstrip()[:1] in ("[", "{") else _split(value)
    if name in ("fold_chinese", "site_memory"):
        return _BOOLEANS.get(value.lower(), value)
    if (name in CONFIG_FIELDS and name not in _TEXTS) or name in ("store_patience", "close_patience", "page_timeout"):
        return _number(value)
    return value


def _from_json(value: str, setting: str) -> object:
    """Parse JSON; refuse an object that has a name twice: ``json`` would ignore the first value."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        for name, count in Counter(name for name, _ in pairs).items():
            if count > 1:
                raise SettingError(setting, value, f"each name once; {name!r} occurs {count} times")
        return dict(pairs)

    try:
        return json.loads(value, object_pairs_hook=unique)
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
        return Config(**names)  # type: ignore[arg-type]  # Config checks its values
    except SettingError as error:
        raise as_setting(error) from None


def _config_of_items(given: Mapping[str, object]) -> Config:
    """Return the configuration of a crawl; each of the fields in a dict ``DEDUP_ITEM_FIELDS`` has its detector."""
    fields, config = given.get(_ITEM_FIELDS), _config(given)
    if not isinstance(fields, Mapping):
        return config
    if _DETECTORS in given:
        raise SettingError(_DETECTORS, given[_DETECTORS], f"no value beside a dict in {_ITEM_FIELDS}")
    try:
        config = replace(config, detectors={"combined": {"fields": fields}})
        check_detectors(config)
    except SettingError as error:
        path = error.name.replace("detectors['combined'].fields", _ITEM_FIELDS)
        raise SettingError(path, error.value, error.accepted) from None
    return config


def _item_fields(given: Mapping[str, object]) -> tuple[str, ...]:
    fields = given.get(_ITEM_FIELDS)
    return tuple(fields) if isinstance(fields, Mapping) else _names(given, "item_fields")


def _relations(value: object) -> frozenset[Relation]:
    try:
        return frozenset(map(Relation, value))  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise SettingError("DEDUP_DROP", value, f"a list of relations, of {', '.join(Relation)}") from None


def _names(given: Mapping[str, object], name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    value = given.get(setting_name(name), default)
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise SettingError(setting_name(name), value, "a list of names of item fields")
    return tuple(value)


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(setting_name(name), "")
    if not isinstance(value, str):
        raise SettingError(setting_name(name), hide_password_in(value) if name == "store" else value, "a text")
    return value


def _tag_field(given: Mapping[str, object]) -> str:
    field = _text(given, "tag_field") if setting_name("tag_field") in given else TAG_FIELD
    if not field:
        raise SettingError(setting_name("tag_field"), field, "the name of an item field")
    return field


def _choice(given: Mapping[str, object], name: str, accepted: Sequence[str]) -> str:
    value = given.get(setting_name(name), accepted[0])
    if value not in accepted:
        *others, last = (f'"{each}"' for each in accepted)
        raise SettingError(setting_name(name), value, f"{', '.join(others)} or {last}")
    return str(value)


def _foresee(given: Mapping[str, object]) -> str:
    value = given.get(setting_name("foresee"), FORESEE_MODES[0])
    if value in FORESEE_MODES:
        return str(value)
    if _BOOLEANS.get(str(int(value)) if isinstance(value, bool | int) else str(value).lower()) is not False:
        *others, last = (f'"{each}"' for each in FORESEE_MODES)
        raise SettingError(setting_name("foresee"), value, f"{', '.join(others)}, {last} or False")
    return ""


def _seconds(given: Mapping[str, object], name: str, default: float) -> float:
    value = given.get(setting_name(name), default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
        raise SettingError(setting_name(name), value, "seconds of at least 0")
    return float(value)


def _finite_seconds(given: Mapping[str, object], name: str, default: float, more: str = "") -> float:
    seconds = _seconds(given, name, default)
    if seconds == inf:
        raise SettingError(setting_name(name), seconds, f"seconds of at least 0, and not infinite{more}")
    return seconds


def _page_timeout(given: Mapping[str, object], settings: BaseSettings) -> float | None:
    name = setting_name("page_timeout")
    if given.get(name) is None and name in settings:
        return None
    return _finite_seconds(given, "page_timeout", PAGE_TIMEOUT, "; None: no limit") or None


def _boolean(given: Mapping[str, object], name: str, *, default: bool) -> bool:
    value = given.get(setting_name(name), default)
    known = _BOOLEANS.get(str(int(value)) if isinstance(value, bool | int) else str(value).lower())
    if known is None:
        raise SettingError(setting_name(name), value, "True or False")
    return known


def _filled(value: str, spider_name: str) -> str:
    """Replace placeholders, as Scrapy does in ``FEEDS``."""
    now = datetime.now(UTC).replace(microsecond=0, tzinfo=None).isoformat()
    try:
        return value % {"name": spider_name, "time": now.replace(":", "-"), "pid": os.getpid()}
    except (LookupError, TypeError, ValueError):
        raise SettingError("DEDUP_REPORT", value, _REPORT_ACCEPTED) from None
