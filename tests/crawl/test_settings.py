"""Settings, from Python or as text from the command line, become one valid object."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from dedupcrawl.config import CONFIG_FIELDS, Config, constants_of
from dedupcrawl.crawl.settings import SETTINGS, Options, ReportOptions, config_in, is_enabled
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import SettingError
from dedupcrawl.ledger.ledger import Ledger


def options(**settings: Any) -> Options:
    return Options.from_settings(Settings(settings), "news")


def test_a_command_with_the_project_has_the_configuration_of_its_crawls() -> None:
    given: dict[str, Any] = {"DEDUP_ITEM_FIELDS": {"title": "exact", "body": {"minhash": {"threshold": 0.8}}}}
    found = config_in(Settings(given))
    assert found == options(**given).config
    assert constants_of(found)["combined"] == {"fields": given["DEDUP_ITEM_FIELDS"]}


def test_without_settings_everything_is_as_in_config() -> None:
    chosen = options()

    assert chosen.config == Config()
    assert chosen.namespace == "news"
    assert chosen.drops
    assert chosen.follow_duplicates
    assert (chosen.commit, chosen.on_overwrite) == ("auto", "warn")
    assert chosen.item_fields == ()
    assert is_enabled(Settings())


def test_every_constant_of_config_is_a_setting() -> None:
    assert {f"DEDUP_{name.upper()}" for name in CONFIG_FIELDS} <= set(SETTINGS)


@pytest.mark.parametrize(
    ("setting", "value", "as_text"),
    [
        ("threshold", 0.7, "0.7"),
        ("length_ratio", 1.5, "1.5"),
        ("min_chars", 30, "30"),
        ("link_run", 5, "5"),
        ("seed", 7, "7"),
        ("ttl", 3600, "3600"),
        ("ttl", None, "None"),
        ("wait", 0, "0"),
        ("lease", 5.0, "5.0"),
        ("keep", "latest", "latest"),
        ("reader", "text", "text"),
        ("segmenter", "rjieba", "rjieba"),
        ("lexicon", "1", "1"),
        ("language", "th", "th"),
        ("fold_chinese", True, "true"),
        ("fold_chinese", False, "0"),
        ("detectors", ["minhash"], "minhash"),
        ("detectors", ["exact", "minhash"], "exact, minhash"),
        ("detectors", ["exact"], '["exact"]'),
        ("detectors", {"minhash": {"slots": 64}}, '{"minhash": {"slots": 64}}'),
        ("drop", frozenset({Relation.IDENTICAL, Relation.EXCERPT}), "identical,excerpt"),
        ("drop", frozenset({Relation.UNCHANGED}), '["unchanged"]'),
        ("drop", frozenset(), ""),
    ],
)
def test_values_may_be_python_or_text(setting: str, value: object, as_text: str) -> None:
    for given in (value, as_text):
        assert getattr(options(**{f"DEDUP_{setting.upper()}": given}).config, setting) == value


@pytest.mark.parametrize(("text", "value"), [("0", False), ("False", False), ("true", True), (1, True)])
def test_booleans(text: object, value: bool) -> None:
    assert options(DEDUP_FOLLOW_DUPLICATES=text).follow_duplicates is value
    assert is_enabled(Settings({"DEDUP_ENABLED": text})) is value


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ('{"minhash": {"words": 4}, "exact": {}, "minhash": {}}', "minhash"),
        ('{"minhash": {"words": 4, "words": 5}}', "words"),
        ('{"combined": {"any_of": {"exact": {}, "minhash": {}, "exact": {}}}}', "exact"),
    ],
)
def test_a_name_given_twice_on_the_command_line_is_refused(text: str, twice: str) -> None:
    with pytest.raises(SettingError, match=f"each name once; '{twice}' occurs 2 times") as caught:
        options(DEDUP_DETECTORS=text)
    assert caught.value.name == "DEDUP_DETECTORS"


def test_names_of_fields() -> None:
    assert options(DEDUP_ITEM_FIELDS="title, body").item_fields == ("title", "body")
    assert options(DEDUP_ITEM_FIELDS=["title"]).item_fields == ("title",)


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"DEDUP_THRESHOLD": 7}, "DEDUP_THRESHOLD = 7", "at most 1"),
    ({"DEDUP_THRESHOLD": "high"}, "DEDUP_THRESHOLD = 'high'", "a number above 0"),
    ({"DEDUP_LENGTH_RATIO": 0.5}, "DEDUP_LENGTH_RATIO = 0.5", "at least 1"),
    ({"DEDUP_MIN_CHARS": 1.5}, "DEDUP_MIN_CHARS = 1.5", "a whole number"),
    ({"DEDUP_MIN_CHARS": None, "DEDUP_SEED": -1}, "DEDUP_SEED = -1", "a whole number from 0"),
    ({"DEDUP_LINK_DENSITY_NOISE": 0.1}, "DEDUP_LINK_DENSITY_NOISE = 0.1", "link_density_content"),
    ({"DEDUP_LINK_RUN": "many"}, "DEDUP_LINK_RUN = 'many'", "a whole number"),
    ({"DEDUP_KEEP": "newest"}, "DEDUP_KEEP = 'newest'", '"first" or "latest"'),
    ({"DEDUP_DROP": ["same"]}, "DEDUP_DROP = ['same']", "near-duplicate"),
    ({"DEDUP_DROP": 3}, "DEDUP_DROP = 3", "a list of relations"),
    ({"DEDUP_LEASE": 0}, "DEDUP_LEASE = 0", "seconds above 0"),
    ({"DEDUP_LEASE": "inf"}, "DEDUP_LEASE = inf", "seconds above 0, at most a billion"),
    ({"DEDUP_TTL": 1e300}, "DEDUP_TTL = 1e+300", "seconds above 0, at most a billion, or None"),
    ({"DEDUP_WAIT": -1}, "DEDUP_WAIT = -1", "seconds of at least 0"),
    ({"DEDUP_TTL": "soon"}, "DEDUP_TTL = 'soon'", "seconds above 0, at most a billion, or None"),
    ({"DEDUP_ACTION": "delete"}, "DEDUP_ACTION = 'delete'", '"drop" or "tag"'),
    ({"DEDUP_COMMIT": "later"}, "DEDUP_COMMIT = 'later'", '"auto", "item_scraped" or "feed_slot_closed"'),
    ({"DEDUP_ON_OVERWRITE": "stop"}, "DEDUP_ON_OVERWRITE = 'stop'", '"warn" or "close"'),
    ({"DEDUP_LOG_LANGUAGE": "zh_CN"}, "DEDUP_LOG_LANGUAGE = 'zh_CN'", '"en" or "zh"'),
    ({"DEDUP_ON_STORE_ERROR": "die"}, "DEDUP_ON_STORE_ERROR = 'die'", '"keep", "wait" or "close"'),
    ({"DEDUP_STORE_PATIENCE": -1}, "DEDUP_STORE_PATIENCE = -1", "seconds of at least 0"),
    ({"DEDUP_STORE_PATIENCE": "long"}, "DEDUP_STORE_PATIENCE = 'long'", "seconds of at least 0"),
    ({"DEDUP_CLOSE_PATIENCE": -1}, "DEDUP_CLOSE_PATIENCE = -1", "seconds of at least 0"),
    ({"DEDUP_CLOSE_PATIENCE": "inf"}, "DEDUP_CLOSE_PATIENCE = inf", "seconds of at least 0, and not infinite"),
    ({"DEDUP_CLOSE_PATIENCE": True}, "DEDUP_CLOSE_PATIENCE = True", "seconds of at least 0"),
    ({"DEDUP_PAGE_TIMEOUT": -1}, "DEDUP_PAGE_TIMEOUT = -1", "seconds of at least 0"),
    ({"DEDUP_PAGE_TIMEOUT": float("inf")}, "DEDUP_PAGE_TIMEOUT = inf", "None: no limit"),
    ({"DEDUP_PAGE_TIMEOUT": "1e400"}, "DEDUP_PAGE_TIMEOUT = inf", "None: no limit"),
    ({"DEDUP_PAGE_TIMEOUT": "short"}, "DEDUP_PAGE_TIMEOUT = 'short'", "seconds of at least 0"),
    ({"DEDUP_COMMIT": "feed_slot_closed"}, "DEDUP_COMMIT = 'feed_slot_closed'", "FEEDS"),
    ({"DEDUP_FOLLOW_DUPLICATES": "maybe"}, "DEDUP_FOLLOW_DUPLICATES = 'maybe'", "True or False"),
    ({"DEDUP_FOLLOW_DUPLICATES": False, "DEDUP_ACTION": "tag"}, "DEDUP_FOLLOW_DUPLICATES = False", "tag"),
    (
        {"DEDUP_FOLLOW_DUPLICATES": False, "DEDUP_ITEM_FIELDS": ["body"]},
        "DEDUP_FOLLOW_DUPLICATES = False",
        "DEDUP_ITEM_FIELDS",
    ),
    ({"DEDUP_ITEM_FIELDS": {"body": 1}}, "DEDUP_ITEM_FIELDS['body'] = 1", "list of names"),
    ({"DEDUP_ITEM_FIELDS": {}}, "DEDUP_ITEM_FIELDS = {}", "1 to 16"),
    ({"DEDUP_ITEM_FIELDS": {"": "exact"}}, "DEDUP_ITEM_FIELDS = {'': 'exact'}", "names of item fields"),
    ({"DEDUP_ITEM_FIELDS": {"body": "minhsh"}}, "DEDUP_ITEM_FIELDS['body'] = 'minhsh'", "minhash"),
    ({"DEDUP_ITEM_FIELDS": {"body": ["exact", "minhash"]}}, "DEDUP_ITEM_FIELDS['body'] = ['exact', 'minhash']", "one"),
    (
        {"DEDUP_ITEM_FIELDS": {"body": {"minhash": {"slts": 1}}}},
        "DEDUP_ITEM_FIELDS['body']['minhash'].slts = 1",
        "slots",
    ),
    (
        {"DEDUP_ITEM_FIELDS": {"body": "exact"}, "DEDUP_DETECTORS": ["minhash"]},
        "DEDUP_DETECTORS = ['minhash']",
        "DEDUP_ITEM_FIELDS",
    ),
    ({"DEDUP_ITEM_FIELDS": [""]}, "DEDUP_ITEM_FIELDS = ['']", "names of item fields"),
    ({"DEDUP_STORE": 5}, "DEDUP_STORE = 5", "text"),
    ({"DEDUP_NAMESPACE": ["x"]}, "DEDUP_NAMESPACE = ['x']", "text"),
    ({"DEDUP_TRESHOLD": 0.5}, "DEDUP_TRESHOLD = 0.5", "the nearest is DEDUP_THRESHOLD"),
    ({"DEDUP_XYZ": 1}, "DEDUP_XYZ = 1", "there is no such setting"),
]


@pytest.mark.parametrize(("settings", "says", "accepts"), BAD)
def test_what_makes_no_sense_is_named(settings: dict[str, Any], says: str, accepts: str) -> None:
    with pytest.raises(SettingError) as caught:
        options(**settings)

    message = str(caught.value)
    assert message.startswith(f"{says} is not accepted: ")
    assert accepts in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("given", "seconds"), [({}, 2.0), ("3.5", 3.5), (1, 1.0), (0, None), ("0", None), (None, None), ("None", None)]
)
def test_the_time_limit_of_a_page(given: object, seconds: float | None) -> None:
    assert options(**({} if given == {} else {"DEDUP_PAGE_TIMEOUT": given})).page_timeout == seconds


def test_what_becomes_of_pages_while_the_store_is_away(tmp_path: Path) -> None:
    assert (options().on_store_error, options().store_patience) == ("keep", 300.0)
    assert options(DEDUP_ON_STORE_ERROR="wait", DEDUP_STORE_PATIENCE="2.5").store_patience == 2.5
    assert (options().close_patience, options(DEDUP_CLOSE_PATIENCE="0.5").close_patience) == (60.0, 0.5)
    assert options(JOBDIR=str(tmp_path)).spool == tmp_path / "dedup-spool"
    assert options(DEDUP_STORE="memory://").spool is None


def test_the_default_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert options().store == f"lmdb://{tmp_path}/.scrapy/dedup"
    assert options(JOBDIR="job").store == f"lmdb://{tmp_path}/job/dedup"
    assert options(JOBDIR="job", DEDUP_STORE="memory://").store == "memory://"


# -- where the report goes -------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_ledger_lies_beside_the_page(folder: Path) -> None:
    for value in ("report.html", Path("report.html"), str(folder / "report.html")):
        paths = ReportOptions.named(value, "news")
        assert paths is not None
        assert paths.page == folder / "report.html"
        assert paths.ledger == folder / "report.ledger"


def test_placeholders_are_filled_in(folder: Path) -> None:
    paths = ReportOptions.named("%(name)s-%(pid)s-%(time)s-100%%.html", "news")
    assert paths is not None
    assert paths.page.name.startswith(f"news-{os.getpid()}-20")
    assert paths.page.name.endswith("-100%.html")
    assert ":" not in paths.page.name


def test_no_report_is_the_default() -> None:
    assert ReportOptions.named("", "news") is None


@pytest.mark.parametrize(
    "value",
    [
        "none/report.html",
        "report",
        "report.txt",
        "folder.html",
        ".html",
        "%(nme)s.html",
        "100%.html",
        "%",
        7,
        None,
        True,
    ],
)
def test_what_is_not_accepted_is_named(folder: Path, value: object) -> None:
    (folder / "folder.html").mkdir()
    with pytest.raises(SettingError, match=r'DEDUP_REPORT = .* is not accepted: a path that ends in "\.html"'):
        ReportOptions.named(value, "news")
    assert [path.name for path in folder.iterdir()] == ["folder.html"]


def _write(paths: ReportOptions) -> None:
    Ledger.create(paths.ledger, {"job": paths.job}).close()


def test_a_job_records_its_ledger(folder: Path) -> None:
    first = _paths("report-%(time)s.html").resumed("job")
    assert not first.resumes
    _write(first)
    again = ReportOptions(first.template, folder / "report-later.html").resumed("job")
    assert again.resumes
    assert again.ledger == first.ledger


@pytest.mark.parametrize("what", ["gone", "another", "damaged", "renamed", "forgotten"])
def test_a_ledger_that_is_not_the_jobs_own_is_not_gone_on_with(folder: Path, what: str) -> None:
    first = _paths("report.html").resumed("job")
    _write(first)
    template = "report.html"
    if what == "gone":
        first.ledger.unlink()
    elif what == "another":
        _write(_paths("report.html").resumed("other-job"))
    elif what == "damaged":
        first.ledger.write_bytes(b"x" * 9000)
    elif what == "renamed":
        template = "other.html"
    else:
        (folder / "job" / "dedup-report.json").write_text("[]")
    assert not _paths(template).resumed("job").resumes


def test_without_a_job_nothing_is_remembered(folder: Path) -> None:
    paths = _paths("report.html")
    assert paths.resumed(None) == paths
    assert not [*folder.iterdir()]


def _paths(template: str) -> ReportOptions:
    paths = ReportOptions.named(template, "news")
    assert paths is not None
    return paths


def test_workers_of_a_new_project_may_start_at_the_same_moment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    attempts = []

    def created_by_another(name: str) -> str:
        attempts.append(name)
        if len(attempts) == 1:
            raise FileExistsError(17, "File exists", str(tmp_path))
        return str(tmp_path / name)

    monkeypatch.setattr("dedupcrawl.crawl.settings.data_path", created_by_another)
    assert options().store == f"lmdb://{tmp_path}/dedup"


def test_a_project_without_scrapy_cfg_has_a_data_folder_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In an image, or by scrapyd: Scrapy's own function raises NotConfigured, which would switch everything off."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "dedupcrawl.settings")
    assert options().store == f"lmdb://{tmp_path}/.scrapy/dedup"
