"""The pages as a browser gets them."""

from __future__ import annotations

import codecs
import html
import re
import socket
import urllib.error
import urllib.request
from collections import deque
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import pytest
from lxml import html as lxml_html
from parsel import Selector

from dedupcrawl.tools.demo.corpus import SiteConfig, load_content, write_story
from dedupcrawl.tools.demo.sites import HOST, SiteLayout, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse


CONTENT = load_content()
ORIGINS = {key: f"http://{key}.example" for key in CONTENT.sites}
SITES = pytest.mark.parametrize("site", CONTENT.sites.values(), ids=CONTENT.sites)
#: What a browser decodes with when a page says this.
LABELS = {"gb2312": "gbk", "gb18030": "gb18030", "utf-8": "utf-8", "windows-1252": "cp1252"}


def declared(site: SiteConfig, body: bytes) -> str:
    """Return the codec declared in the HTTP header, else in the HTML head."""
    if site.header:
        return LABELS[site.header.lower()]
    match = re.search(rb"charset=\"?([\w-]+)", body[:1024])
    assert match
    return LABELS[match[1].decode().lower()]


@pytest.fixture(scope="module")
def web() -> dict[str, bytes]:
    """Every page by its URL."""
    return {
        ORIGINS[key] + path: body
        for key, site in CONTENT.sites.items()
        for path, body in SiteLayout(CONTENT, site, ORIGINS).documents().items()
    }


def text_of(site: SiteConfig, body: bytes) -> str:
    markup = body.decode(declared(site, body), "strict")
    return "".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


@SITES
def test_every_page_decodes_in_its_declared_charset_and_holds_its_story(
    site: SiteConfig, web: dict[str, bytes]
) -> None:
    for page in CONTENT.pages:
        if page.site == site.key:
            text = text_of(site, web[ORIGINS[site.key] + page.path])
            story = write_story(CONTENT, page)
            assert "".join(story.title.split()) in text
            for block in story.blocks:
                assert block.caption or "".join(block.text.split()) in text, page.path


def test_charsets_are_the_ones_of_the_wild() -> None:
    assert {codecs.lookup(site.charset).name for site in CONTENT.sites.values()} == {
        "gbk",
        "gb18030",
        "utf-8",
        "cp1252",
    }
    meta_only = [site for site in CONTENT.sites.values() if site.declared and not site.header]
    assert {site.charset for site in meta_only} == {"gbk", "gb18030"}


@SITES
def test_the_head_declares_what_the_site_declares(site: SiteConfig, web: dict[str, bytes]) -> None:
    for url, body in web.items():
        if url.startswith(ORIGINS[site.key] + "/"):
            assert (b"charset=" in body[:1024]) == bool(site.declared)


def test_chinese_pages_use_characters_beyond_the_charset_that_they_declare(web: dict[str, bytes]) -> None:
    page = web[ORIGINS["jiangchao"] + "/"].decode("gbk")
    with pytest.raises(UnicodeEncodeError):
        "".join(body.decode("gbk") for url, body in web.items() if url.startswith(ORIGINS["jiangchao"])).encode(
            "gb2312"
        )
    assert "江潮晚报网" in page


def links(url: str, body: bytes) -> set[str]:
    hrefs = Selector(body.decode("latin-1")).css("a::attr(href)").getall()
    targets = {urljoin(url, href) for href in hrefs if not href.startswith(("javascript:", "#"))}
    return {target.partition("#")[0] for target in targets}


def test_no_link_is_dead_and_every_page_is_reached_from_the_first(web: dict[str, bytes]) -> None:
    start = ORIGINS["jiangchao"] + "/"
    seen, queue = {start}, deque([start])
    while queue:
        url = queue.popleft()
        new = links(url, web[url]) - seen
        seen |= new
        queue.extend(new)
    assert seen == set(web)


def test_sites_link_to_each_other(web: dict[str, bytes]) -> None:
    for key, origin in ORIGINS.items():
        elsewhere = {urlsplit(target).netloc for target in links(origin + "/", web[origin + "/"])}
        assert elsewhere - {urlsplit(origin).netloc}, key


def test_the_five_layouts_are_five(web: dict[str, bytes]) -> None:
    skeletons = []
    for key in CONTENT.sites:
        page = next(page for page in CONTENT.pages if page.site == key and page.kind == "original")
        tree = lxml_html.fromstring(web[ORIGINS[key] + page.path])
        paragraph = write_story(CONTENT, page).blocks[0].text[:12]
        home = next(
            element for element in tree.iter() if paragraph in (element.text or "") or paragraph in (element.tail or "")
        )
        skeletons.append(tuple(parent.tag for parent in home.iterancestors()))
    assert len(set(skeletons)) == 5


@SITES
def test_rendering_is_the_same_every_time(site: SiteConfig) -> None:
    assert SiteLayout(CONTENT, site, ORIGINS).documents() == SiteLayout(CONTENT, site, ORIGINS).documents()


@SITES
def test_index_pages_list_every_article_of_the_site(site: SiteConfig) -> None:
    layout = SiteLayout(CONTENT, site, ORIGINS)
    listed = {link.href for listing in layout.listings() for group in listing.groups for link in group.links}
    continuations = {page.continued for page in layout.pages}
    assert listed == {page.path for page in layout.pages if not page.view_of} - continuations


def test_links_stand_inside_the_text_where_the_editor_set_them(web: dict[str, bytes]) -> None:
    page = next(page for page in CONTENT.pages if page.path.startswith("/NewsShow") and "links" in page.edits)
    section = CONTENT.sites["shuiyuan"].section_of(CONTENT.articles[page.article]).path
    markup = web[ORIGINS["shuiyuan"] + page.path].decode("gb18030")
    assert f'<a href="{section}">望潮闸</a>' in markup


@SITES
def test_readers_comment_on_stories_and_not_on_house_notes(site: SiteConfig, web: dict[str, bytes]) -> None:
    names = [name for name, _ in CONTENT.comments[site.language]]
    for page in CONTENT.pages:
        if page.site == site.key and page.view == "article":
            text = text_of(site, web[ORIGINS[site.key] + page.path])
            commented = any("".join(name.split()) in text for name in names)
            assert commented == CONTENT.articles[page.article].comments, page.path


# -- servers ------------------------------------------------------------------------------------

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(url: str) -> HTTPResponse:
    response: HTTPResponse = _DIRECT.open(url, timeout=600)
    return response


@pytest.fixture(scope="module")
def origins() -> Iterator[dict[str, str]]:
    with serve(CONTENT, first_port=0) as served:
        yield served


def test_every_site_has_an_address_of_its_own(origins: dict[str, str]) -> None:
    assert origins.keys() == CONTENT.sites.keys()
    assert len({urlsplit(origin).port for origin in origins.values()}) == 5


@pytest.mark.parametrize("site", CONTENT.sites.values(), ids=CONTENT.sites)
def test_the_header_contains_what_the_site_declares_for_its_charset(origins: dict[str, str], site: object) -> None:
    key, header = site.key, site.header  # type: ignore[attr-defined]
    with get(origins[key] + "/") as response:
        expected = f"text/html; charset={header}" if header else "text/html"
        assert response.headers["Content-Type"] == expected
        assert len(response.read()) == int(response.headers["Content-Length"])


def test_a_query_is_part_of_the_address(origins: dict[str, str]) -> None:
    page = next(page for page in CONTENT.pages if page.view == "print")
    with get(origins[page.site] + page.path) as response:
        assert "打印" in response.read().decode("gb18030")


def test_what_is_not_there_is_not_found(origins: dict[str, str]) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(origins["harbour"] + "/no/such/page")


def test_robots_may_come_in_but_not_comment(origins: dict[str, str]) -> None:
    with get(origins["saltmarsh"] + "/robots.txt") as response:
        assert b"Disallow: /comments" in response.read()


def test_pages_link_to_the_addresses_in_use(origins: dict[str, str]) -> None:
    with get(origins["harbour"] + "/") as response:
        assert origins["saltmarsh"] in response.read().decode()


def test_a_taken_port_is_replaced_and_the_others_stay() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with serve(CONTENT, first_port=port) as served:
            ports = [urlsplit(origin).port for origin in served.values()]
    assert port not in ports
    assert len(set(ports)) == 5
