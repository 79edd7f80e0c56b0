"""The five sites over HTTP."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.server import HOST, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse

CONTENT = load_content()
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
