"""Fetches the page that a command was given: a URL or a file."""

from __future__ import annotations

import gzip
import re
import zlib
from http.client import HTTPException
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Annotated
from urllib.error import URLError
from urllib.request import Request, urlopen

import typer

from dedupcrawl.errors import DedupError
from dedupcrawl.page import Page, PageError, ReadOptions, read_page

DEADLINE = 30.0  #: seconds for a download in all

Deadline = Annotated[
    float,
    typer.Option(
        "--timeout", metavar="SECONDS", min=0.1, help="Give up when a page has not been fetched after this time."
    ),
]

_MAX_BYTES = 64 * 1024 * 1024  #: of a page; the rest is not read
_USER_AGENT = "dedupcrawl (+https://pypi.org/project/dedupcrawl/)"

_HOST = re.compile(r"[\w-]+(\.[\w-]+)*(\.[^\W\d]{2,}|:\d+)")  #: with a name, or a port
_PAGE_SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".txt", ".gz"})  #: of files; no top-level domains

_Fetched = tuple[str, bytes, str]


def fetch_page(where: str, options: ReadOptions | None = None, *, seconds: float = DEADLINE) -> Page:
    """Fetch and read the page at ``where``: a URL, or the path of a file (``.gz`` is decompressed).

    Raises:
        DedupError: it cannot be fetched within ``seconds``, or it is no page.
    """
    url, body, content_type = fetch_body(where, seconds=seconds)
    try:
        return read_page(body, url, content_type=content_type, options=options or ReadOptions())
    except PageError as error:
        raise DedupError(f"{where}: {error}") from error


def fetch_body(where: str, *, seconds: float = DEADLINE) -> _Fetched:
    """Return the URL after redirects, the body and the Content-Type of a URL or file; it may be no page.

    Raises:
        DedupError: it cannot be fetched, or not within ``seconds``.
    """
    if where.lower().startswith(("http://", "https://")):
        return _download_until(where, seconds)
    path = Path(where)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            body = file.read(_MAX_BYTES)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if isinstance(error, FileNotFoundError) and _is_address(where):
            raise DedupError(f"{where}: there is no such file; for a page of the web, type https://{where}") from None
        raise DedupError(f"{where}: neither an http(s) URL nor a readable file: {error}") from error
    is_text = path.name.removesuffix(".gz").endswith(".txt")
    return path.absolute().as_uri(), body, "text/plain" if is_text else ""


def _is_address(where: str) -> bool:
    """Whether a URL without its scheme was meant, such as example.com/news, and not a file such as news.html."""
    host = re.split("[/?#]", where, maxsplit=1)[0]
    return _HOST.fullmatch(host) is not None and Path(host).suffix.lower() not in _PAGE_SUFFIXES


def _download_until(url: str, seconds: float) -> _Fetched:
    """Download in a thread: the timeout of a socket begins again with every byte, in headers and bodies."""
    results = SimpleQueue[_Fetched | DedupError]()
    Thread(target=_download, args=(url, seconds, results), daemon=True).start()
    try:
        found = results.get(timeout=seconds)
    except Empty:
        raise DedupError(f"{url}: not fetched within {seconds:g} seconds; --timeout changes this limit") from None
    if isinstance(found, DedupError):
        raise found
    return found


def _download(url: str, seconds: float, results: SimpleQueue[_Fetched | DedupError]) -> None:
    try:
        request = Request(url, headers={"User-Agent": _USER_AGENT})  # noqa: S310  # fetch_body checked the scheme
        with urlopen(request, timeout=seconds + 1) as response:  # noqa: S310  # the deadline comes first
            body = response.read(_MAX_BYTES)
            results.put((response.url, body, response.headers.get("Content-Type", "")))
    except (URLError, HTTPException, OSError, ValueError) as error:
        results.put(DedupError(f"{url}: cannot be fetched: {error}"))
    except BaseException as error:  # noqa: BLE001  # for example from a decoder of the library; the caller waits
        results.put(DedupError(f"{url}: cannot be fetched: {error!r}"))
