"""A page from a URL or a file.

``dedupcrawl inspect``: a page with its blocks, and why each of them was kept or cut.
"""

from __future__ import annotations

import gzip
import json
import re
import webbrowser
import zlib
from contextlib import ExitStack
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import typer
from rich.text import Text

from dedupcrawl.cli.console import complain, out
from dedupcrawl.cli.options import Assignments, OfProject, assignments_of, project_here
from dedupcrawl.cli.store import only_namespace
from dedupcrawl.config import Config
from dedupcrawl.constants import with_constant
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.page import Page, PageError, ReadOptions, read_page
from dedupcrawl.page.options import READER_ACCEPTED
from dedupcrawl.store_config import recovered
from dedupcrawl.stores import open_existing
from dedupcrawl.stores.base import check_scheme, scheme_json
from dedupcrawl.stores.workers import printable
from dedupcrawl.tools.inspect.comparison import compare_with_page, compare_with_store
from dedupcrawl.tools.inspect.inspection import inspect_page
from dedupcrawl.tools.inspect.render import render
from dedupcrawl.utils.formatting import size

if TYPE_CHECKING:
    from dedupcrawl.stores.base import Store
    from dedupcrawl.tools.inspect.comparison import ComparisonResult
    from dedupcrawl.tools.inspect.inspection import Inspection


_TIMEOUT = 30  # seconds
_LIMIT = 64 * 1024 * 1024  # bytes
_AGENT = "dedupcrawl (+https://pypi.org/project/dedupcrawl/)"


def fetch_page(where: str, options: ReadOptions | None = None) -> Page:
    """Read the page at ``where``, a URL or the path of a file (``.gz`` is unpacked).

    Raises:
        DedupError: it cannot be fetched, or is no page.
    """
    url, body, content_type = fetch_body(where)
    try:
        return read_page(body, url, content_type=content_type, options=options or ReadOptions())
    except PageError as error:
        raise DedupError(f"{where}: {error}") from error


def fetch_body(where: str) -> tuple[str, bytes, str]:
    """Return the URL, the bytes and the Content-Type of what is at ``where``, which may be no page.

    Raises :class:`~dedupcrawl.errors.DedupError`: it cannot be fetched.
    """
    if where.lower().startswith(("http://", "https://")):
        return _download(where)
    path = Path(where)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            body = file.read(_LIMIT)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DedupError(f"{where}: neither an http(s) URL nor a readable file: {error}") from error
    plain = path.name.removesuffix(".gz").endswith(".txt")
    return path.absolute().as_uri(), body, "text/plain" if plain else ""


def _download(url: str) -> tuple[str, bytes, str]:
    try:
        request = Request(url, headers={"User-Agent": _AGENT})  # noqa: S310 - http and https only, see above
        with urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310
            return response.url, response.read(_LIMIT), response.headers.get("Content-Type", "")
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise DedupError(f"{url}: cannot be fetched: {error}") from error


_TITLE, _SENTENCE = 200, 4000  #: characters on the terminal


def inspect(
    where: Annotated[
        str, typer.Argument(metavar="URL|FILE", help="An http(s) URL, or a file (.gz is unpacked).")
    ],
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write the page.")
    ] = None,
    reader: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"What finds the main text: {READER_ACCEPTED}.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="STORE", help="Show also which page of this store it would match.")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Of the store (default: the only one there).")] = None,
    other: Annotated[
        str | None,
        typer.Option(metavar="URL|FILE", help="Compare it also with this page, an earlier one."),
    ] = None,
    assignments: Assignments = None,
    project: OfProject = False,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Where a page in a file came from.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Show a page with its blocks, which of them are its main text, and why the others were cut."""
    if namespace is not None and against is None:
        raise SettingError("--namespace", namespace, "nothing without --against: stores have namespaces")
    with ExitStack() as stack:
        store = stack.enter_context(_store(against, namespace)) if against else None
        config, notes = _config(store, reader, assignments, project=project)
        seen = _look(where, config, url)
        met = compare_with_store(seen.page, store, config, _name(store), notes) if store else None
        beside = compare_with_page(seen.page, _look(other, config).page, config) if other else None
    file = output or Path(default_name(url or where))
    _write(file, render(seen, met, beside))
    _tell(file, seen, met, beside)
    if open_ and not webbrowser.open(file.resolve().as_uri()):
        complain(f"no browser can be opened here; the page is {file}")


def default_name(where: str) -> str:
    """Return the name of the page that is written, after the page that is looked at.

    >>> default_name("https://a.example/news/2024/flood.html?x=1"), default_name("pages/flood.html.gz")
    ('a.example-flood.inspect.html', 'flood.inspect.html')
    """
    parts = urlsplit(where) if where.lower().startswith(("http://", "https://")) else None
    host = (parts.hostname or "") if parts else ""
    last = Path((parts.path if parts else where).rstrip("/")).name.removesuffix(".gz")
    stem = re.sub(r"\.(?:html?|txt|php|aspx?|jsp)\Z", "", last, flags=re.IGNORECASE)
    name = re.sub(r"[^\w.-]+", "-", "-".join(filter(None, (host, stem)))).strip("-.")[:80]
    return f"{name or 'page'}.inspect.html"


def _store(where: str, namespace: str | None) -> Store:
    return open_existing(where, only_namespace(where) if namespace is None else namespace)


def _name(store: Store) -> str:
    info = store.info()
    return f"{info.url}, namespace {info.namespace}, {info.pages:,} pages"


def _config(
    store: Store | None, reader: str | None, assignments: list[str] | None, *, project: bool
) -> tuple[Config, tuple[str, ...]]:
    """Return the configuration: that of the store as far as it tells, with what had to be concluded."""
    config = project_here()[0] if project else Config()
    notes: tuple[str, ...] = ()
    if store is not None:
        found = recovered(json.loads(store.info().scheme), config)
        config, notes = found.config, tuple(map(_sentence, found.notes))
        if reader not in (None, config.reader):
            raise SettingError("--reader", reader, f"{config.reader!r}, with which the store was filled")
        source = "the project" if project else "the defaults"
        given = " or as --set says" if assignments else ""
        notes = (f"What is in no store, such as length_ratio, is as in {source}{given}.", *notes)
    elif reader is not None:
        config = replace(config, reader=reader)
    for name, value in assignments_of(assignments).items():
        config = with_constant(config, name, value)
    if store is not None:
        _refuse_other(store, config)
    return config, notes


def _refuse_other(store: Store, config: Config) -> None:
    """Raise StoreMismatchError where the keys and sketches of the store mean something else under this."""
    info = store.info()
    here = scheme_json(schemes(build_detectors(config), config))
    check_scheme(info.url, info.namespace, info.scheme, here)


def _sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:].rstrip('.')}."


def _look(where: str, config: Config, url: str | None = None) -> Inspection:
    found, body, content_type = fetch_body(where)
    if found.startswith("file:"):
        found = Path(where).name  # the page may be passed on: where it lies here is nobody's business
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


def _tell(file: Path, seen: Inspection, *meetings: ComparisonResult | None) -> None:
    kept = sum(block.kept for block in seen.blocks)
    name = printable(seen.page.title or seen.page.url, _TITLE)
    out().print(Text(f"{name}: {seen.page.kind}, {kept} of {len(seen.blocks)} blocks kept"))
    for note in seen.notes:
        out().print(Text(f"  {note}", style="yellow"))
    for each in filter(None, meetings):
        out().print(Text(f"{each.heading}: {printable(each.sentence, _SENTENCE)}"))
    out().print(Text(f"written to {file} ({size(file.stat().st_size)})"))
