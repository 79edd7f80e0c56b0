"""Items with equal fields have equal hashes, and no others have; the time of scraping does not count."""

from __future__ import annotations

import time
from array import array
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, HttpUrl, SecretStr
from scrapy import Field, Item, Selector
from scrapy.http import HtmlResponse

from dedupcrawl.crawl.item_hash import ItemHasher, shape_of

BEGAN = time.time() - 60


@dataclass
class Author:
    name: str
    born: int = 0


@dataclass
class Story:
    title: str
    authors: list[Author] = field(default_factory=list)


class ScrapyStory(Item):
    title = Field()


@attrs.define
class AttrsStory:
    title: str


class ModelStory(BaseModel):
    title: str


def hasher(*ignored: str) -> ItemHasher:
    return ItemHasher(ignored, BEGAN)


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
items = st.dictionaries(st.text(), values, max_size=6)


class Unlike:
    """Two of them look alike, and are not equal."""

    def __repr__(self) -> str:
        return "Unlike"


ALIKE = [
    (Unlike(), Unlike()),
    (SecretStr("one"), SecretStr("two")),
    (Selector(text="<p>" + "a" * 200 + "1"), Selector(text="<p>" + "a" * 200 + "2")),
    (HtmlResponse("http://a.example", body=b"1"), HtmlResponse("http://a.example", body=b"2")),
    (array("d", [0.0] * 5000 + [1.0]), array("d", [0.0] * 5000 + [2.0])),
    ({1, 2}, {1, 3}),
    (-1, -2),
    (Decimal(-1), Decimal(-2)),
]
EQUAL = [
    (HttpUrl("http://a.example/x"), HttpUrl("http://a.example/x")),
    (SecretStr("one"), SecretStr("one")),
    (Decimal("1.50"), Decimal("1.50")),
    ({"b", "a"}, {"a", "b"}),
    (UUID(int=7), UUID(int=7)),
    (Fraction(1, 3), Fraction(1, 3)),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_values_that_look_alike_are_not_equal(one: object, other: object) -> None:
    hashed = hasher()
    assert hashed({"value": one}) != hashed({"value": other})


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_values_that_are_equal_have_one_hash(one: object, other: object) -> None:
    hashed = hasher()
    assert hashed({"value": one}) == hashed({"value": other})


PAGE = "http://a.example/story/1"
SPELLINGS = [PAGE, f"{PAGE}/", PAGE.replace("http:", "https:")]
OTHER_URLS = [f"{PAGE}#c1", f"{PAGE}#c2", f"{PAGE}?page=2", "http://www.a.example/story/1", "/story/1", PAGE.upper()]


def test_a_url_counts_as_equal_in_each_of_its_spellings() -> None:
    hashed = ItemHasher((), BEGAN, ["url"])
    assert len({hashed({"url": url, "title": "T"}) for url in SPELLINGS}) == 1
    assert len({hashed({"url": url, "title": "T"}) for url in (PAGE, *OTHER_URLS)}) == 1 + len(OTHER_URLS)
    assert len({hashed({"link": url}) for url in SPELLINGS}) == len(SPELLINGS)


@given(items)
def test_a_copy_has_the_same_hash(item: dict[str, Any]) -> None:
    reordered = dict(reversed(deepcopy(item).items()))
    assert hasher()(item) == hasher()(reordered)


@given(items, st.text(), values, values)
def test_another_value_of_a_field_has_another_hash(item: dict[str, Any], name: str, one: Any, other: Any) -> None:
    is_equal = repr(one) == repr(other)  # 1, 1.0 and True are different values of a field
    assert (hasher()({**item, name: one}) == hasher()({**item, name: other})) == is_equal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"rating": -1}, {"rating": -2}),  # Python's hashes of these are equal
        ({"rating": 1}, {"rating": 1.0}),
        ({"rating": 1}, {"rating": "1"}),
        ({"a": ["b", "c"]}, {"a": ["c", "b"]}),
        ({"a": ["b"]}, {"a": ("b",)}),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}),
        ({"a": None}, {}),
        (Story("a", [Author("b", 1)]), Story("a", [Author("b", 2)])),
        (ScrapyStory(title="a"), ScrapyStory(title="b")),
        (AttrsStory("a"), AttrsStory("b")),
        (ModelStory(title="a"), ModelStory(title="b")),
        ({"at": datetime(2024, 5, 1, tzinfo=UTC)}, {"at": datetime(2024, 5, 2, tzinfo=UTC)}),
    ],
)
def test_different_items(one: Any, other: Any) -> None:
    assert hasher()(one) == hasher()(deepcopy(one))
    assert hasher()(one) != hasher()(other)


NOW = datetime.now(UTC)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NOW, NOW - timedelta(seconds=30)),
        (NOW.isoformat(), (NOW - timedelta(seconds=30)).isoformat(timespec="seconds")),
        (str(NOW.replace(tzinfo=None)), str(NOW.replace(tzinfo=None) - timedelta(seconds=30))),
        (NOW.astimezone(), NOW.astimezone() - timedelta(seconds=5)),
        (NOW.timestamp(), NOW.timestamp() - 30),
        (int(NOW.timestamp()), int(NOW.timestamp()) - 30),
        (int(NOW.timestamp() * 1000), int(NOW.timestamp() * 1000) - 30_000),
    ],
)
def test_the_time_of_scraping_does_not_count(one: Any, other: Any) -> None:
    assert hasher()({"title": "a", "scraped": one}) == hasher()({"title": "a", "scraped": other})


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_other_times_count(seconds: float) -> None:
    moment = datetime.fromtimestamp(BEGAN + seconds * 24, UTC)
    for one in (moment, moment.isoformat(), moment.timestamp()):
        assert hasher()({"published": one}) != hasher()({"published": NOW})


def test_fields_that_deduplication_writes_do_not_count() -> None:
    assert hasher("dedup", "")({"a": 1, "dedup": {"b": 2}}) == hasher("dedup")({"a": 1})
    assert hasher("dedup")({"a": 1, "other": 2}) != hasher("dedup")({"a": 1})


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("broken")


def test_an_item_that_cannot_be_read_equals_no_other() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    hashes = hasher()
    for item in ({"a": Broken()}, {"a": deep}, object(), 7):
        assert hashes(item) != hashes(item)
    while deep:  # deallocated level by level
        deep = deep.pop()


def test_the_shape_of_an_item_is_its_class_and_its_fields() -> None:
    assert shape_of({"a": 1, "b": 2}) == shape_of({"b": 3, "a": 4})
    assert len({shape_of(each) for each in ({"a": 1}, {"a": 1, "b": 2}, Author("a"), AttrsStory("a"), 7)}) == 5
