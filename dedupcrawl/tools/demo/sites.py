"""The five sites of the demo: their pages as bytes, and HTTP servers for them on the loopback address."""

from __future__ import annotations

import re
import signal
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from zlib import crc32

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from dedupcrawl.tools.demo.corpus import load_content, write_story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from dedupcrawl.tools.demo.corpus import BundledCorpus, PlannedPage, SectionConfig, SiteConfig


_RELATED = 4  #: links to related articles on a page
_POPULAR = 6  #: links to popular articles on a page
_COMMENTS = 3  #: most comments on a page
_LATEST = 6  #: articles of a section on the front page


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """An entry in a list of articles."""

    href: str
    title: str
    published: datetime


@dataclass(frozen=True, slots=True)
class ListingGroup:
    """A list of articles under a heading."""

    href: str
    label: str
    links: tuple[ListingEntry, ...]


@dataclass(frozen=True, slots=True)
class ListingPage:
    """An index page: only links."""

    path: str
    label: str
    groups: tuple[ListingGroup, ...]


class SiteLayout:
    """Renders the pages of one site; ``origins``: scheme and host of every site by its key."""

    def __init__(self, content: BundledCorpus, site: SiteConfig, origins: Mapping[str, str]) -> None:
        self.content, self.site, self._origins = content, site, origins
        self.pages = tuple(page for page in content.pages if page.site == site.key)
        self._variants = {page.view_of: page.path for page in self.pages if page.view_of}
        self._environment = Environment(
            loader=PackageLoader("dedupcrawl.tools.demo", "web/templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=False,
        )
        self._environment.filters["linked"] = _linked

    def documents(self) -> dict[str, bytes]:
        """Return the encoded pages of the site by path."""
        articles = {page.path: self._article(page) for page in self.pages}
        return articles | {
            listing.path: self._render("index", page=listing, listing=listing) for listing in self.listings()
        }

    def listings(self) -> tuple[ListingPage, ...]:
        """Return the index pages: the front page, and one of each section."""
        groups = tuple(
            ListingGroup(section.path, section.label, self._links(self._listed(section)))
            for section in self.site.sections
        )
        front = tuple(ListingGroup(group.href, group.label, group.links[:_LATEST]) for group in groups)
        sections = (ListingPage(group.href, group.label, (group,)) for group in groups)
        return (ListingPage("/", self.site.name, front), *sections)

    def _listed(self, section: SectionConfig | None = None) -> list[PlannedPage]:
        """Return the pages in lists, the newest first, without other views and continuations."""
        hidden = {page.continued for page in self.pages} | {page.path for page in self.pages if page.view_of}
        listed = [page for page in self.pages if page.path not in hidden]
        listed = [page for page in listed if section in (None, self._section(page))]
        return sorted(listed, key=lambda page: (self.content.published(page), page.path), reverse=True)

    def _section(self, page: PlannedPage) -> SectionConfig:
        return self.site.section_of(self.content.articles[page.article])

    def _links(self, pages: Iterable[PlannedPage]) -> tuple[ListingEntry, ...]:
        return tuple(
            ListingEntry(page.path, write_story(self.content, page).title, self.content.published(page))
            for page in pages
        )

    def _article(self, page: PlannedPage) -> bytes:
        story = write_story(self.content, page)
        others = [other for other in self._listed() if other != page]
        by_checksum = sorted(others, key=lambda other: crc32((page.path + other.path).encode()))
        return self._render(
            page.view,
            page=page,
            story=story,
            section=self._section(page),
            related=self._links(by_checksum[:_RELATED]),
            comments=self._comments(page),
            variant=self._variants.get(page.path, ""),
        )

    def _popular(self) -> tuple[ListingEntry, ...]:
        by_checksum = sorted(self._listed(), key=lambda page: crc32(page.path.encode()))
        return self._links(by_checksum[:_POPULAR])

    def _comments(self, page: PlannedPage) -> list[dict[str, str]]:
        if not self.content.articles[page.article].comments:
            return []
        pool = self.content.comments[self.site.language]
        chosen = sorted(pool, key=lambda comment: crc32((page.path + comment[0]).encode()))
        return [{"name": name, "text": text} for name, text in chosen[: 1 + crc32(page.path.encode()) % _COMMENTS]]

    def _render(self, view: str, **context: object) -> bytes:
        template = self._environment.get_template(f"{self.site.key}/{view}.html")
        markup = template.render(site=self.site, origins=self._origins, popular=self._popular(), **context)
        return markup.encode(self.site.charset, "xmlcharrefreplace")


def _linked(text: str, links: Iterable[tuple[str, str]]) -> Markup:
    """Link the first occurrence of each phrase."""
    targets = {str(escape(phrase)): href for phrase, href in links}
    if not targets:
        return escape(text)
    seen: set[str] = set()

    def link(match: re.Match[str]) -> str:
        phrase = match.group()
        if phrase in seen:
            return phrase
        seen.add(phrase)
        return f'<a href="{escape(targets[phrase])}">{phrase}</a>'

    return Markup(re.sub("|".join(map(re.escape, targets)), link, str(escape(text))))  # noqa: S704  # escaped above


HOST = "127.0.0.1"
FIRST_PORT = 28401  #: of the first site; with fixed ports, URLs stay the same from run to run

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PICTURE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="480" height="320">'
    b'<rect width="480" height="320" fill="#b8c4c2"/><path d="M0 250 150 120 260 220 350 150 480 260V320H0z" '
    b'fill="#7d8f8b"/></svg>'
)


class CannedResponse(NamedTuple):
    """A prepared response."""

    body: bytes
    content_type: str


class _SiteHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SiteServer

    def do_GET(self) -> None:
        reply = self.server.replies.get(self.path)
        self.send_response(HTTPStatus.OK if reply else HTTPStatus.NOT_FOUND)
        reply = reply or CannedResponse(b"<h1>404</h1>", "text/html")
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log: the crawler has a log."""


class SiteServer(ThreadingHTTPServer):
    """One site."""

    daemon_threads = True
    request_queue_size = 64
    replies: Mapping[str, CannedResponse]
    fixed: ClassVar[Mapping[str, CannedResponse]] = {
        "/robots.txt": CannedResponse(b"User-agent: *\nDisallow: /comments\n", "text/plain"),
        "/img/photo.svg": CannedResponse(_PICTURE, "image/svg+xml"),
        "/img/logo.svg": CannedResponse(_PICTURE, "image/svg+xml"),
    }

    @property
    def origin(self) -> str:
        """Scheme and host of the site."""
        return f"http://{HOST}:{self.server_port}"

    def handle_error(self, *connection: Any) -> None:
        """Ignore connections closed by a crawler that was stopped."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*connection)

    def publish(self, layout: SiteLayout) -> None:
        """Prepare the responses."""
        charset = layout.site.header
        content_type = f"text/html; charset={charset}" if charset else "text/html"
        pages = {path: CannedResponse(body, content_type) for path, body in layout.documents().items()}
        self.replies = {**self.fixed, **pages}


@contextmanager
def serve(content: BundledCorpus, first_port: int = FIRST_PORT) -> Iterator[dict[str, str]]:
    """Serve all sites within the context; yields the origin of each site by its key.

    The first site has ``first_port``, the others follow. A port in use, or 0, is replaced by a free one.
    """
    servers = {key: _bind(first_port and first_port + i) for i, key in enumerate(content.sites)}
    origins = {key: server.origin for key, server in servers.items()}
    for key, server in servers.items():
        server.publish(SiteLayout(content, content.sites[key], origins))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield origins
    finally:
        for server in servers.values():
            server.shutdown()
            server.server_close()


def _bind(port: int) -> SiteServer:
    try:
        return SiteServer((HOST, port), _SiteHandler)
    except OSError:
        return SiteServer((HOST, 0), _SiteHandler)


def serve_alone(say: Callable[[str], None], first_port: int = FIRST_PORT) -> None:
    """Serve the five sites until SIGINT or SIGTERM; ``say`` is called with the URL of each front page."""
    over = threading.Event()
    earlier = {number: signal.signal(number, lambda *_: over.set()) for number in _STOP_SIGNALS}
    try:
        with serve(load_content(), first_port) as origins:
            for origin in origins.values():
                say(f"{origin}/")
            over.wait()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
