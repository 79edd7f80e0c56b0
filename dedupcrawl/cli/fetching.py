"""A page from a URL or a file."""

from __future__ import annotations

import gzip
import zlib
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from dedupcrawl.errors import DedupError
from dedupcrawl.page import Page, PageError, ReadOptions, read_page

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
