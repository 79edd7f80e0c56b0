"""scrapy-zyte-api, with a server on loopback that answers as the API does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.running import IN_TURN
from tests.crawl.site import text
from tests.plugins.articles import ARTICLES
from tests.plugins.services import zyte_api

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crawl.running import Crawled
    from tests.plugins.services import Service

    Run = Callable[..., Crawled]

A, B, C = (f"https://{host}.example/{host}" for host in "abc")
PAGES = dict(zip((A, B, C), ARTICLES.values(), strict=True))
PRODUCTS: dict[str, dict[str, Any]] = {
    A: {"name": "Kettle", "description": text(1), "price": "10.50"},
    B: {"name": "Kettle", "description": text(1), "price": "10.50"},
    C: {"name": "Teapot", "description": text(2), "price": "10.50"},
}


def settings(service: Service, **more: Any) -> dict[str, Any]:
    addons = {"scrapy_zyte_api.Addon": 400, "dedupcrawl.Addon": 500, **more.pop("ADDONS", {})}
    return {"ADDONS": addons, "ZYTE_API_KEY": "none", "ZYTE_API_URL": f"{service.url}/v1/", **IN_TURN, **more}


@pytest.mark.parametrize("wanted", ["browserHtml", "httpResponseBody"])
def test_pages_of_zyte_api(run: Run, wanted: str) -> None:
    with zyte_api(PAGES, PRODUCTS) as service:
        meta = {"zyte_api_automap": {wanted: True}}
        crawled = run("tests.plugins.spiders.Titles", urls=[A, B, C], meta=meta, settings=settings(service))
    assert [asked.get(wanted) for _, asked in service.asked] == [True, True, True]
    assert [(item["url"], item["title"]) for item in crawled.items] == [(A, "Ice"), (C, "Fire")]
    assert {item["kind"] for item in crawled.items} == {"ZyteAPITextResponse"}
    assert crawled.dedup["duplicate"] == 1
    assert not crawled.lines("", "WARNING")
    assert not crawled.lines("", "ERROR")


def test_products_of_zyte_api_are_judged_by_themselves(run: Run) -> None:
    """The provider of scrapy-zyte-api gets items, and no page is downloaded."""
    with zyte_api(PAGES, PRODUCTS) as service:
        given = settings(service, ADDONS={"scrapy_poet.Addon": 300})
        crawled = run("tests.plugins.page_objects.Extracted", urls=[A, B, C], settings=given)
    assert [asked.get("product") for _, asked in service.asked] == [True, True, True]
    assert sorted(item["name"] for item in crawled.items) == ["Kettle", "Teapot"]
    assert crawled.dedup["duplicate"] == 1
    assert not any(name.startswith("unchecked") for name in crawled.dedup)
