"""The text of an item whose page was not downloaded: all its fields, but its URL and the time of scraping."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import attrs
import pytest
from pydantic import BaseModel, HttpUrl
from scrapy import Field, Item
from scrapy.http import HtmlResponse, Response

from dedupcrawl import Deduplicator, DedupPage, DedupVerdict, read_page
from dedupcrawl.crawl.item_hash import ItemHasher
from dedupcrawl.crawl.item_text import is_short, read_whole_item
from dedupcrawl.crawl.page_objects import is_placeholder
from dedupcrawl.crawl.responses import read_page_of
from dedupcrawl.decision import Status, Verdict, unchecked
from dedupcrawl.page import Page, ReadOptions
from tests.crawl.site import plain, text

BEGAN = time.time() - 60
URL = "https://shop.example/1"


class Colour(Enum):
    RED = 1


@dataclass
class Brand:
    name: str


@dataclass
class DataProduct:
    url: str
    name: str
    brand: Brand
    tags: list[str] = field(default_factory=list)


@attrs.define
class AttrsProduct:
    url: str
    name: str
    brand: Brand
    tags: list[str]


class ModelProduct(BaseModel):
    url: str
    name: str
    brand: dict[str, str]
    tags: list[str]


class ItemProduct(Item):
    url = Field()
    name = Field()
    brand = Field()
    tags = Field()


def whole(item: Any, *left_out: str) -> Page:
    return read_whole_item(item, URL, {"url", *left_out}, ItemHasher((), BEGAN).is_now)


@pytest.mark.parametrize("kind", [dict, DataProduct, AttrsProduct, ItemProduct])
def test_items_of_every_kind_and_those_in_them(kind: Any) -> None:
    page = whole(kind(url=URL, name="Kettle", brand=Brand("Boil"), tags=["red", "small"]))
    assert (page.text, page.stated, page.url) == ("Kettle\nBoil\nred\nsmall", "", URL)


def test_models() -> None:
    page = whole(ModelProduct(url=URL, name="Kettle", brand={"name": "Boil"}, tags=[]))
    assert page.text == "Kettle\nBoil"


@pytest.mark.parametrize(
    ("value", "found", "stated"),
    [
        (10.5, "10.5", ""),
        (Decimal("10.50"), "10.50", ""),
        (date(1999, 12, 31), "1999-12-31", ""),
        (True, "", ""),
        (None, "", ""),
        ("  ", "", ""),
        ({"a"}, "a", ""),
        ("https://cdn.example/1.jpg", "", "https://cdn.example/1.jpg"),
        ("//cdn.example/1.jpg", "", "//cdn.example/1.jpg"),
        ("https://cdn.example shows it", "https://cdn.example shows it", ""),
        (HttpUrl("https://cdn.example/1.jpg"), "", "https://cdn.example/1.jpg"),
        (UUID(int=7), "", f"UUID('{UUID(int=7)}')"),
        (Colour.RED, "", "<Colour.RED: 1>"),
    ],
    ids=str,
)
def test_values(value: Any, found: str, stated: str) -> None:
    page = whole({"url": URL, "value": value})
    assert page.text == found
    assert page.stated == page.beside == stated


def test_times_of_scraping_do_not_count() -> None:
    now = datetime.now(UTC)
    for value in (now, now.timestamp(), now.isoformat()):
        assert whole({"at": value, "name": "Kettle"}).text == "Kettle"


def test_bytes_tell_items_apart() -> None:
    one, other = (whole({"picture": picture}) for picture in (b"picture", b"picture!"))
    assert one.text == other.text == ""
    assert one.stated != other.stated


def test_what_is_written_into_items_is_left_out() -> None:
    assert whole({"name": "Kettle", "dedup": "unique"}, "dedup").text == "Kettle"


@pytest.mark.parametrize("change", [{"name": "Teapot"}, {"image": "https://shop.example/2.jpg"}, {"price": 2.5}, {}])
def test_two_items_of_a_site_that_differ_are_two(change: dict[str, Any]) -> None:
    item = {"name": "Kettle", "text": text(1), "image": "https://shop.example/1.jpg", "price": 1.5}
    with Deduplicator() as dedup:
        dedup.add(whole(item))
        verdict = dedup.add(replace(whole({**item, **change}), url="https://shop.example/2"))
    assert verdict.keep is bool(change)


def test_a_reprint_on_another_site_has_other_urls() -> None:
    item = {"name": "Kettle", "text": text(1), "image": "https://shop.example/1.jpg"}
    with Deduplicator() as dedup:
        dedup.add(whole(item))
        reprint = whole({**item, "image": "https://mirror.example/7.jpg"})
        assert not dedup.add(replace(reprint, url="https://mirror.example/2")).keep


@pytest.mark.parametrize(
    ("found", "short"), [("a" * 99, True), ("a" * 100, False), ("a" * 49 + "1" * 99, True), ("字" * 100, False)]
)
def test_short_texts(found: str, short: bool) -> None:
    assert is_short(found, 100) is short


# -- responses of other packages ------------------------------------------------------------------


class OwnResponse(Response):
    """A response with text whose class is none of Scrapy's for texts, as that of scrapy-splash."""

    @property
    def encoding(self) -> str:
        return "utf8"


@pytest.mark.parametrize("kind", [Response, OwnResponse])
def test_html_is_read_whatever_its_class(kind: type[Response]) -> None:
    body = plain("Eis", text(1)).replace("Eis", "Eisbär").encode()
    response = kind(URL, headers={"Content-Type": "text/html; charset=utf-8"}, body=body)
    page = read_page_of(response, ReadOptions())
    assert isinstance(page, Page)
    assert (page.text.split("\n")[-2:], page.title) == (text(1).split("\n"), "Eisbär")


@pytest.mark.parametrize("kind", [b"application/json", b"image/png", b""])
def test_other_content_of_such_a_class_is_not_read(kind: bytes) -> None:
    response = OwnResponse(URL, headers={"Content-Type": kind} if kind else {}, body=b"<p>text</p>")
    assert read_page_of(response, ReadOptions()) == unchecked(URL, "not-html")


def test_responses_of_scrapy_are_no_placeholders() -> None:
    assert not is_placeholder(HtmlResponse(URL))
    assert not is_placeholder(Response(URL))


def test_what_page_objects_get_has_the_values_of_page_and_verdict() -> None:
    page = read_page(plain("Ice", text(1)), URL)
    given = DedupPage.create(page)
    assert (given.text, given.title, given.url, given.reason) == (page.text, "Ice", URL, "")
    unread = DedupPage.create(unchecked(URL, "empty"))
    assert (unread.text, unread.url, unread.reason) == ("", URL, "empty")
    verdict = Verdict(URL, Status.DUPLICATE, keep=False, of="https://a.example/")
    assert DedupVerdict.create(verdict).to_dict() == verdict.to_dict()
    assert DedupVerdict.create(verdict).is_duplicate
