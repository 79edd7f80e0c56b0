"""``dedupcrawl read`` and ``dedupcrawl inspect``: how a page from a URL or a file is read."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import open_in_browser, output_console, print_json, print_line
from dedupcrawl.cli.fetch import DEADLINE, Deadline, fetch_body, fetch_page
from dedupcrawl.cli.options import (
    READER,
    AsJson,
    Assignments,
    Language,
    OneNamespace,
    OpenInBrowser,
    PageSource,
    UseProject,
    parse_assignments,
    project_config,
)
from dedupcrawl.cli.store import only_namespace
from dedupcrawl.config import Config, recovered, with_constant
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.page import Page, PageError, ReadOptions
from dedupcrawl.sites.text_notes import text_notes
from dedupcrawl.stores import open_existing
from dedupcrawl.stores.base import check_scheme, scheme_json
from dedupcrawl.stores.workers import printable
from dedupcrawl.text.features import compared_text
from dedupcrawl.tools.inspect.comparison import compare_with_page, compare_with_store
from dedupcrawl.tools.inspect.inspection import inspect_page
from dedupcrawl.tools.inspect.render import render
from dedupcrawl.tools.report.html_bundle import LanguageCode
from dedupcrawl.utils.formatting import size
from dedupcrawl.utils.messages import tr, tr_amount, tr_sentence
from dedupcrawl.utils.redaction import SECRET

if TYPE_CHECKING:
    from dedupcrawl.stores.base import StoreInfo
    from dedupcrawl.tools.inspect.comparison import ComparisonResult
    from dedupcrawl.tools.inspect.inspection import InspectedPage
    from dedupcrawl.utils.redaction import SecretSeed


_MAX_BLOCK_CHARS = 160  #: text of a block in the table
_MAX_TITLE_CHARS, _MAX_SENTENCE_CHARS = 200, 4000  #: printed on the terminal


def read(
    where: PageSource,
    *,
    blocks: Annotated[bool, typer.Option(help="Print every block, and why it was kept or not.")] = False,
    compared: Annotated[bool, typer.Option(help="Print the text that detectors compare.")] = False,
    reader: Annotated[str, READER] = "blocks",
    timeout: Deadline = DEADLINE,
    as_json: AsJson = False,
) -> None:
    """Print the main text of a page."""
    page = fetch_page(where, ReadOptions(reader=reader), seconds=timeout)
    if as_json:
        print_json(asdict(page) | {"layout": page.layout.hex(), "blocks": [block._asdict() for block in page.blocks]})
    elif blocks:
        output_console().print(_blocks_table(page))
    elif page.text:
        print_line(compared_text(page) if compared else page.text)
    else:
        print_line(tr("(no main text: {kind} page)", kind=tr_sentence(page.kind)), "yellow")


def _blocks_table(page: Page) -> Table:
    kept = sum(block.kept for block in page.blocks)
    kind, blocks = tr_sentence(page.kind), tr("{n} of {all} blocks kept", n=kept, all=len(page.blocks))
    title = Text(f"{page.title or page.url} · {kind} · {blocks}")
    table = Table(title=title, title_justify="left", expand=True)
    for name in (tr("bytes"), "R", tr("links"), tr("run")):
        table.add_column(name, justify="right", no_wrap=True)
    for name in (tr("tag"), tr("why")):
        table.add_column(name, no_wrap=True)
    table.add_column(tr("text"), ratio=1)
    for block in page.blocks:
        numbers = (str(block.length), f"{block.link_density:.2f}", str(block.links), str(block.longest_run))
        text = Text(block.text)
        text.truncate(_MAX_BLOCK_CHARS, overflow="ellipsis")
        table.add_row(*numbers, block.tag, tr_sentence(block.reason), text, style="green" if block.kept else "dim")
    return table


def inspect(
    where: PageSource,
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File to write (default: named after the page)."),
    ] = None,
    reader: Annotated[str | None, READER] = None,
    against: Annotated[str | None, typer.Option(metavar="STORE", help="Show its match in this store.")] = None,
    namespace: OneNamespace = None,
    other: Annotated[str | None, typer.Option(metavar="URL|FILE", help="Compare with this earlier page.")] = None,
    assignments: Assignments = None,
    project: UseProject = False,
    url: Annotated[str | None, typer.Option(metavar="URL", help="URL of a page in a file.")] = None,
    timeout: Deadline = DEADLINE,
    open_: OpenInBrowser = False,
    lang: Language = LanguageCode.AUTO,
) -> None:
    """Write an HTML page that shows each block of a page, and why it was kept or removed."""
    if namespace is not None and against is None:
        raise SettingError("--namespace", namespace, "only with --against, which names its store")
    with ExitStack() as stack:
        store = info = in_store = None
        if against:
            name = only_namespace(against) if namespace is None else namespace
            store = stack.enter_context(open_existing(against, name))
            info = store.info()
        config, notes = _config(info, reader, assignments, store.secret if store else None, project=project)
        inspected = _inspect_page(where, config, timeout, url)
        tables = store if config.site_memory else None
        inspected = replace(inspected, notes=(*inspected.notes, *text_notes(inspected.page, tables)))
        if store and info:
            name = f"{info.url}, namespace {info.namespace}, {info.pages:,} pages"
            in_store = compare_with_store(inspected.page, store, config, name, notes)
        beside = (
            compare_with_page(inspected.page, _inspect_page(other, config, timeout).page, config) if other else None
        )
    file = output or Path(default_name(url or where))
    _write(file, render(inspected, in_store, beside, lang))
    _print_result(file, inspected, in_store, beside)
    if open_:
        open_in_browser(file.resolve().as_uri(), tr("the page is {file}", file=file))


def default_name(where: str) -> str:
    """Return the name of the file to write for a page.

    >>> default_name("https://a.example/news/2024/flood.html?x=1"), default_name("pages/flood.html.gz")
    ('a.example-flood.inspect.html', 'flood.inspect.html')
    """
    parts = urlsplit(where) if where.lower().startswith(("http://", "https://")) else None
    host = (parts.hostname or "") if parts else ""
    last = Path((parts.path if parts else where).rstrip("/")).name.removesuffix(".gz")
    stem = re.sub(r"\.(?:html?|txt|php|aspx?|jsp)\Z", "", last, flags=re.IGNORECASE)
    name = re.sub(r"[^\w.-]+", "-", "-".join(filter(None, (host, stem)))).strip("-.")[:80]
    return f"{name or 'page'}.inspect.html"


def _config(
    info: StoreInfo | None,
    reader: str | None,
    assignments: list[str] | None,
    secret: SecretSeed | None,
    *,
    project: bool,
) -> tuple[Config, tuple[str, ...]]:
    """Return the configuration, as far as possible that of the store, and notes on missing constants."""
    config = project_config()[0] if project else Config()
    notes: tuple[str, ...] = ()
    if secret is not None:
        config = replace(config, seed=secret)
    if info is not None:
        found = recovered(json.loads(info.scheme), config)
        config, notes = found.config, tuple(f"{n[0].upper()}{n[1:].rstrip('.')}." for n in found.notes)
        if reader not in (None, config.reader):
            raise SettingError("--reader", reader, f"{config.reader!r}, with which the store was filled")
        source = "the project" if project else "the defaults"
        assigned = " or of --set" if assignments else ""
        notes = (f"Constants that no store records, such as length_ratio, are those of {source}{assigned}.", *notes)
    elif reader is not None:
        config = replace(config, reader=reader)
    for name, value in parse_assignments(assignments).items():
        config = with_constant(config, name, value)
    if secret is not None and config.seed == SECRET:
        config = replace(config, seed=secret)
    if info is not None:  # --set must not change what the keys and sketches of the store mean
        here = scheme_json(schemes(build_detectors(config), config))
        check_scheme(info.url, info.namespace, info.scheme, here)
    return config, notes


def _inspect_page(where: str, config: Config, seconds: float, url: str | None = None) -> InspectedPage:
    found, body, content_type = fetch_body(where, seconds=seconds)
    if found.startswith("file:"):
        found = Path(where).name  # the result may be passed on and must not show local paths
    options: ReadOptions = replace(config.reading, blocks=True)
    try:
        return inspect_page(body, url or found, options, content_type)
    except PageError as error:
        raise DedupError(f"{where}: {error}; a crawl keeps it, unchecked({error.reason})") from error


def _write(file: Path, html: str) -> None:
    try:
        file.write_text(html, "utf-8", "replace")
    except OSError as error:
        raise DedupError(f"{file}: cannot be written: {error.strerror or error}") from error


def _print_result(file: Path, inspected: InspectedPage, *matches: ComparisonResult | None) -> None:
    kept = sum(block.kept for block in inspected.blocks)
    name = printable(inspected.page.title or inspected.page.url, _MAX_TITLE_CHARS)
    kind, blocks = tr_sentence(inspected.page.kind), len(inspected.blocks)
    counted = tr("{n} of {all} blocks kept", n=kept, all=blocks)
    print_line(tr("{name}: {kind}, {blocks}", name=name, kind=kind, blocks=counted))
    for note in inspected.notes:
        print_line(f"  {tr_sentence(note)}", "yellow")
    for match in filter(None, matches):
        found = tr_sentence(printable(match.sentence, _MAX_SENTENCE_CHARS))
        print_line(tr("{heading}: {found}", heading=tr_sentence(match.heading), found=found))
    print_line(tr("written to {file} ({size})", file=file, size=tr_amount(size(file.stat().st_size))))
