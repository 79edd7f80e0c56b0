"""When a worker of the example counts as idle."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Spider, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.test import get_crawler

from tests.examples.project import EXAMPLE

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Idler(Spider):
    """Fake for a spider of scrapy-redis."""

    name = "idler"
    spider_idle_start_time = 0
    trouble: Exception | None = None

    def spider_idle(self) -> None:
        if self.trouble:
            raise self.trouble


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> tuple[Crawler, Any]:
    monkeypatch.syspath_prepend(EXAMPLE)
    patient = import_module("articles.idling").Patient
    crawler = get_crawler(type("PatientIdler", (patient, Idler), {}))
    return crawler, crawler.spidercls.from_crawler(crawler)


def test_idle_seconds_count_from_the_last_answer(made: tuple[Crawler, Any]) -> None:
    crawler, spider = made
    assert spider.spider_idle_start_time == 0
    crawler.signals.send_catch_log(signals.response_received)
    assert spider.spider_idle_start_time > 0


def test_a_worker_ends_when_scrapy_redis_ends_it(made: tuple[Crawler, Any]) -> None:
    made[1].spider_idle()


@pytest.mark.parametrize("trouble", [ConnectionError("refused"), AttributeError("no get"), DontCloseSpider()])
def test_a_worker_stays_when_it_cannot_take_start_addresses(made: tuple[Crawler, Any], trouble: Exception) -> None:
    spider = made[1]
    spider.trouble = trouble
    with pytest.raises(DontCloseSpider):
        spider.spider_idle()
