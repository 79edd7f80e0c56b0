"""The demo from end to end: serve the bundled web, crawl it with Scrapy, check and print every verdict.

Its folder is a small Scrapy project:

``items.jsonl``   the items kept by all crawls
``summary.json``  the figures of the last crawl
``crawl.jsonl``   the feed of the last crawl, with index pages
``journal.jsonl`` the outcome of each page of the last crawl, in order
``crawl.log``     the log of the last crawl
``report.html``   the report of the last crawl, made from ``report.ledger``
``.scrapy/dedup`` the store (the default one of a Scrapy project)
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from itemadapter import ItemAdapter
from rich.box import HEAVY_HEAD, SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from scrapy import signals

import dedupcrawl
from dedupcrawl.crawl.page_view import current_page
from dedupcrawl.errors import DedupError
from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.sites import FIRST_PORT, HOST, SiteLayout, serve
from dedupcrawl.utils.formatting import similarity_text
from dedupcrawl.utils.messages import mark, tr, tr_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from scrapy.crawler import Crawler

    from dedupcrawl.decision import Verdict
    from dedupcrawl.tools.demo.corpus import BundledCorpus

INDEX = "index"


@dataclass(frozen=True, slots=True)
class PageLabel:
    """The label of a page."""

    site: str
    path: str
    kind: str  #: original, reprint, excerpt… or index
    cluster: str  #: name of its content: equal for copies

    @property
    def is_index(self) -> bool:
        """Whether the page has only links; such a page is no duplicate, and is counted apart."""
        return self.kind == INDEX


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """The outcome of a page in a crawl."""

    truth: PageLabel
    kept: bool
    verdict: Mapping[str, object]  #: of :meth:`dedupcrawl.Verdict.to_dict`


class FaultKind(StrEnum):
    """How a verdict can be wrong."""

    WRONGLY_DROPPED = "wrongly dropped"  #: although no earlier page of its cluster had been kept
    MISSED = "missed"  #: kept although one was


@dataclass(frozen=True, slots=True)
class DemoReport:
    """The figures of one crawl.

    The first four count pages with an article. Index pages are not counted, but a dropped one is wrongly
    dropped.
    """

    pages: int
    distinct: int  #: clusters among the pages
    kept: int
    dropped: int
    wrongly_dropped: int
    missed: int


def all_pages(content: BundledCorpus) -> dict[tuple[str, str], PageLabel]:
    """Return the label of every page of the bundled web, by site and path."""
    truths = [PageLabel(page.site, page.path, page.kind, page.cluster) for page in content.pages]
    for site in content.sites.values():
        listings = SiteLayout(content, site, dict.fromkeys(content.sites, "")).listings()
        truths += [PageLabel(site.key, page.path, INDEX, f"{site.key}{page.path}") for page in listings]
    return {(truth.site, truth.path): truth for truth in truths}


def find_faults(outcomes: Iterable[PageOutcome], kept_before: Collection[str] = ()) -> list[FaultKind | None]:
    """Return the fault of each outcome in the order of the crawl, None where the verdict is right.

    ``kept_before``: clusters with a page that an earlier crawl kept.
    """
    kept = set(kept_before)
    found = []
    for outcome in outcomes:
        found.append(_fault(outcome, has_earlier=outcome.truth.cluster in kept))
        if outcome.kept:
            kept.add(outcome.truth.cluster)
    return found


def _fault(outcome: PageOutcome, *, has_earlier: bool) -> FaultKind | None:
    if outcome.truth.is_index:
        return None if outcome.kept else FaultKind.WRONGLY_DROPPED
    if outcome.kept == has_earlier:
        return FaultKind.MISSED if outcome.kept else FaultKind.WRONGLY_DROPPED
    return None


def summarize(outcomes: Sequence[PageOutcome], found: Sequence[FaultKind | None]) -> DemoReport:
    """Return the figures; ``found``: the fault of each outcome."""
    articles = [outcome for outcome in outcomes if not outcome.truth.is_index]
    kept = sum(outcome.kept for outcome in articles)
    return DemoReport(
        pages=len(articles),
        distinct=len({outcome.truth.cluster for outcome in articles}),
        kept=kept,
        dropped=len(articles) - kept,
        wrongly_dropped=found.count(FaultKind.WRONGLY_DROPPED),
        missed=found.count(FaultKind.MISSED),
    )


PROJECT = "[settings]\ndefault = dedupcrawl.tools.demo.settings\n"
FEED = "crawl.jsonl"
REPORT = "report.html"
_LAST_CRAWL = (FEED, "journal.jsonl", "summary.json", REPORT, "report.ledger")
_FILES = ("items.jsonl", "crawl.log", *_LAST_CRAWL)


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """The files of the demo below ``path``."""

    path: Path

    def prepare(self, *, fresh: bool) -> None:
        """Make the folder a Scrapy project; ``fresh``: remove the results of earlier crawls.

        Raises:
            DedupError: the folder is another Scrapy project, or cannot be written.
        """
        project = self.path / "scrapy.cfg"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if project.exists() and project.read_text("utf-8") != PROJECT:
                raise DedupError(f"{self.path} is a Scrapy project already; give the demo a folder of its own")
            project.write_text(PROJECT, "utf-8")
            if fresh:
                for name in _FILES:
                    (self.path / name).unlink(missing_ok=True)
                shutil.rmtree(self.path / ".scrapy", ignore_errors=True)
        except OSError as error:
            raise DedupError(f"{self.path} cannot be written: {error}") from None

    def kept_urls(self) -> list[str]:
        """Return the URLs of the items kept so far."""
        return [row["url"] for row in self._rows("items.jsonl")]

    def journal(self) -> list[dict[str, Any]]:
        """Return the outcomes of pages written so far, in order."""
        return self._rows("journal.jsonl")

    def add_items(self, is_wanted: Callable[[str], bool]) -> None:
        """Append the items of the last crawl whose URL is wanted to ``items.jsonl``."""
        with (self.path / "items.jsonl").open("a", encoding="utf-8") as file:
            for row in self._rows(FEED):
                if is_wanted(row["url"]):
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def write_summary(self, summary: DemoReport) -> None:
        """Write the figures."""
        (self.path / "summary.json").write_text(json.dumps(asdict(summary), indent=2) + "\n", "utf-8")

    def remove_last(self) -> None:
        """Remove the results of the last crawl, so that they are not taken for those of the next."""
        for name in _LAST_CRAWL:
            (self.path / name).unlink(missing_ok=True)

    def _rows(self, name: str) -> list[dict[str, Any]]:
        file = self.path / name
        # A last line without a line end is still being written.
        *lines, _ = file.read_text("utf-8").split("\n") if file.exists() else ("",)
        return [json.loads(line) for line in lines]


class JournalWriter:
    """Scrapy extension that writes ``{"url", "kept", "verdict"}`` for each item to ``JOURNAL_FILE``."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the item signals."""
        journal = cls(Path(crawler.settings["JOURNAL_FILE"]))
        crawler.signals.connect(journal.scraped, signals.item_scraped)
        crawler.signals.connect(journal.dropped, signals.item_dropped)
        crawler.signals.connect(journal.close, signals.spider_closed)
        return journal

    def scraped(self, item: Any) -> None:
        """Write an item that passed all pipelines, with the verdict on its page if that says more than "new"."""
        view = current_page()
        verdict = view.verdict if view is not None else None
        told = verdict.to_dict() if verdict is not None and verdict.is_informative else {}
        self._write(ItemAdapter(item)["url"], kept=True, verdict=told)

    def dropped(self, item: Any, exception: Exception) -> None:
        """Write a dropped item; one that another pipeline dropped has no verdict."""
        verdict: Verdict | None = getattr(exception, "verdict", None)
        self._write(ItemAdapter(item)["url"], kept=False, verdict=verdict.to_dict() if verdict else {})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, url: str, *, kept: bool, verdict: dict[str, object]) -> None:
        row = {"url": url, "kept": kept, "verdict": verdict}
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self._file.flush()


_START_SITE = "jiangchao"
_POLL_INTERVAL = 0.1  #: seconds between two reads of the journal
_INTERRUPT_TIMEOUT = 30  #: seconds for the crawler to finish after an interrupt
_WIDTH = 170  #: columns of the output if there is no terminal
_WIDE, _NARROW = 120, 70  #: columns of a terminal for the whole table, and for that of pages with their originals
#: After the outcome of a page.
_COLUMNS = (mark("page"), mark("what it is"), mark("relation"), mark("of"), mark("similarity"), mark("detector"))

Pages = dict[tuple[str, str], "PageLabel"]


def run_crawl(folder: DemoFolder, start: str, pages: int, console: Console, settings: Sequence[str] = ()) -> None:
    """Run ``scrapy crawl site`` in a prepared folder, with a progress bar of ``pages`` pages.

    ``start`` is the URL of the first page; ``settings`` are Scrapy settings, each as ``NAME=VALUE``.

    Raises:
        DedupError: the crawler failed.
    """
    command = ["scrapy", "crawl", "site", "-a", f"url={start}", "-a", "authors=1", "-O", FEED]
    command += [part for setting in settings for part in ("-s", setting)]
    shown = escape(shlex.join(command))
    told = tr("In {folder}: {command}", folder=folder.path, command=f"[bold]{shown}[/]")
    console.print(told, highlight=False, soft_wrap=True)
    log = folder.path / "crawl.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  # our own command
            [sys.executable, "-m", *command], cwd=folder.path, env=_environment(), stdout=output, stderr=output
        )
        try:
            _watch(process, folder, pages, console)
        except KeyboardInterrupt:
            # The crawler was interrupted too. Let it finish: store and items must agree.
            process.wait(_INTERRUPT_TIMEOUT)
            raise
    if process.returncode:
        end = log.read_text("utf-8", "replace").strip().rpartition("\n")[2]
        raise DedupError(f"scrapy ended with status {process.returncode}: {end} (see {log})")


def _environment() -> dict[str, str]:
    """Return an environment with this dedupcrawl, the project of the folder, and no proxy for loopback."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    package = str(Path(dedupcrawl.__file__).parents[1])
    path = os.pathsep.join(filter(None, (package, inherited.get("PYTHONPATH"))))
    return inherited | {"PYTHONPATH": path, "no_proxy": HOST, "NO_PROXY": HOST}


def _watch(process: subprocess.Popen[bytes], folder: DemoFolder, pages: int, console: Console) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(tr("pages, {n} dropped", n="{task.fields[dropped]}")),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(tr("Crawling"), total=pages, dropped=0)
        while True:
            over = process.poll() is not None
            rows = folder.journal()
            progress.update(task, completed=len(rows), dropped=sum(not row["kept"] for row in rows))
            if over:
                return
            try:
                process.wait(_POLL_INTERVAL)
            except subprocess.TimeoutExpired:
                continue


def print_verdicts(
    console: Console,
    folder: Path,
    sites: Mapping[str, str],
    judged: Sequence[tuple[PageOutcome, FaultKind | None]],
    summary: DemoReport,
) -> None:
    """Print the verdicts by cluster, then the summary.

    ``sites``: key of each site by host and port; ``judged``: outcomes and faults in the order of the crawl.
    """
    console.print(_table(sites, judged, console.width))
    index = [outcome for outcome, _ in judged if outcome.truth.is_index]
    statuses = Counter(_status_text(outcome.verdict) for outcome in index).items()
    counted = tr(", ").join(tr("{n} {status}", n=n, status=status) for status, n in statuses)
    console.print(tr("{n} index pages, counted apart: {counts}.", n=len(index), counts=counted))
    console.print(
        tr(
            "{n} pages of {m} different contents: {kept}, {dropped}; {wrong} wrongly dropped, {missed} missed.",
            n=summary.pages,
            m=summary.distinct,
            kept=f"[green]{tr('{n} kept', n=summary.kept)}[/]",
            dropped=f"[yellow]{tr('{n} dropped', n=summary.dropped)}[/]",
            wrong=summary.wrongly_dropped,
            missed=summary.missed,
        )
    )
    if not summary.kept:
        console.print(tr("All of it was kept by earlier crawls: nothing new."))
    files = {"items": folder / "items.jsonl", "figures": folder / "summary.json"}
    console.print(tr("Kept so far: {items}   Figures: {figures}", **files), soft_wrap=True)
    if (folder / REPORT).exists():
        console.print(tr("To look at: {file}", file=folder / REPORT), soft_wrap=True)


def _table(sites: Mapping[str, str], judged: Sequence[tuple[PageOutcome, FaultKind | None]], width: int) -> Table:
    """Return the table of pages, in a narrow terminal without the columns that say least."""
    left_out = {"what it is", "detector"} if width < _WIDE else set()
    left_out |= {"of"} if width < _NARROW else set()
    title = tr("What was kept, what was dropped, and why")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD if left_out else HEAVY_HEAD)
    table.add_column(no_wrap=True)
    for name in _COLUMNS:
        if name not in left_out:
            table.add_column(tr(name), no_wrap=name not in {"page", "of"}, overflow="ellipsis")
    of_clusters: dict[str, list[tuple[PageOutcome, FaultKind | None]]] = {}
    for outcome, fault in judged:
        if not outcome.truth.is_index or fault:
            of_clusters.setdefault(outcome.truth.cluster, []).append((outcome, fault))
    # Clusters of one page, mostly traps, come last.
    for group in sorted(of_clusters.values(), key=lambda group: len(group) == 1):
        for outcome, fault in group:
            shown, *cells = _row(sites, outcome, fault)
            table.add_row(shown, *(cell for name, cell in zip(_COLUMNS, cells, strict=True) if name not in left_out))
        if len(group) > 1:
            table.add_section()
    return table


def _row(sites: Mapping[str, str], outcome: PageOutcome, fault: FaultKind | None) -> tuple[str | Text, ...]:
    truth, verdict = outcome.truth, outcome.verdict
    shown = Text(tr_sentence("kept"), "green") if outcome.kept else Text(tr_sentence("dropped"), "yellow")
    similarity = verdict.get("similarity")
    return (
        Text(tr_sentence(str(fault)), "bold red") if fault else shown,
        f"{truth.site}{truth.path}",
        tr_sentence(truth.kind),
        tr_sentence(str(verdict.get("relation") or verdict.get("reason") or "–")),
        _short_url(sites, verdict.get("of")),
        similarity_text(similarity) if isinstance(similarity, float | int) else "",
        str(verdict.get("detector", "")),
    )


def _status_text(verdict: Mapping[str, object]) -> str:
    reason = verdict.get("reason")
    status = tr_sentence(str(verdict.get("status", "unjudged")))
    return tr("{status} ({reason})", status=status, reason=tr_sentence(str(reason))) if reason else status


def _short_url(sites: Mapping[str, str], url: object) -> str:
    if not isinstance(url, str):
        return ""
    parts = urlsplit(url)
    return url.replace(f"{parts.scheme}://{parts.netloc}", sites.get(parts.netloc, parts.netloc), 1)


def run_demo(
    out: Path, *, settings: Sequence[str] = (), fresh: bool = False, first_port: int = FIRST_PORT
) -> DemoReport:
    """Serve the bundled web, crawl it with ``scrapy crawl site``, check and print every verdict.

    Args:
        out: folder for the results (see :mod:`dedupcrawl.tools.demo.crawl`), with the store.
        settings: Scrapy settings of this crawl, each as ``NAME=VALUE``.
        fresh: remove the results of earlier crawls first.
        first_port: see :func:`~dedupcrawl.tools.demo.sites.serve`.

    Raises:
        DedupError: the folder cannot be used, or the crawl did not reach every page.
    """
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)
    folder, content = DemoFolder(out), load_content()
    folder.prepare(fresh=fresh)
    pages = all_pages(content)
    kept_before = _clusters(pages, folder.kept_urls())
    folder.remove_last()
    with serve(content, first_port) as origins:
        sites = {urlsplit(origin).netloc: key for key, origin in origins.items()}
        try:
            run_crawl(folder, f"{origins[_START_SITE]}/", len(pages), console, settings)
        finally:
            # However the crawl ended, the store will drop these articles next time.
            folder.add_items(lambda url: not _truth(url, sites, pages).is_index)
    outcomes = _outcomes(folder, sites, pages)
    found = find_faults(outcomes, kept_before)
    summary = summarize(outcomes, found)
    folder.write_summary(summary)
    print_verdicts(console, folder.path, sites, list(zip(outcomes, found, strict=True)), summary)
    return summary


def _clusters(pages: Pages, urls: Sequence[str]) -> set[str]:
    """Return the clusters of pages that earlier crawls kept, perhaps with other ports."""
    by_path = {truth.path: truth.cluster for truth in pages.values() if not truth.is_index}
    return {by_path[_path(url)] for url in urls if _path(url) in by_path}


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _truth(url: str, sites: Mapping[str, str], pages: Pages) -> PageLabel:
    try:
        return pages[sites[urlsplit(url).netloc], _path(url)]
    except KeyError:
        raise DedupError(f"the crawl left the bundled web: {url} is not one of its pages") from None


def _outcomes(folder: DemoFolder, sites: Mapping[str, str], pages: Pages) -> list[PageOutcome]:
    rows = folder.journal()
    outcomes = [PageOutcome(_truth(row["url"], sites, pages), row["kept"], row["verdict"]) for row in rows]
    missing = pages.keys() - {(outcome.truth.site, outcome.truth.path) for outcome in outcomes}
    if missing:
        named = ", ".join(sorted(f"{site}{path}" for site, path in missing)[:3])
        log = folder.path / "crawl.log"
        raise DedupError(f"the crawl reached {len(outcomes)} of {len(pages)} pages, not {named}…; see {log}")
    return outcomes
