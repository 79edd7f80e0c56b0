"""scrapy-splash, with a server on loopback that answers as Splash does."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.running import IN_TURN
from tests.plugins.articles import ARTICLES
from tests.plugins.services import splash

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crawl.running import Crawled

    Run = Callable[..., Crawled]

A, B, C = (f"https://{host}.example/{host}" for host in "abc")
PAGES = dict(zip((A, B, C), ARTICLES.values(), strict=True))
SPLASH: dict[str, Any] = {
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy_splash.SplashCookiesMiddleware": 723,
        "scrapy_splash.SplashMiddleware": 725,
        "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": 810,
    },
    "REQUEST_FINGERPRINTER_CLASS": "scrapy_splash.SplashRequestFingerprinter",
    **IN_TURN,
}


def test_scrapy_splash_does_not_start_without_a_function_of_older_scrapys() -> None:
    """Whether dedupcrawl is installed does not matter. If this fails, docs/plugins.md is to be changed."""
    done = subprocess.run([sys.executable, "-c", "import scrapy_splash"], capture_output=True, text=True, check=False)
    assert "ImportError: cannot import name 'canonicalize_url' from 'scrapy.utils.url'" in done.stderr


@pytest.mark.parametrize(
    ("endpoint", "kind"), [("render.html", "SplashTextResponse"), ("render.json", "SplashJsonResponse")]
)
def test_pages_of_splash(run: Run, endpoint: str, kind: str) -> None:
    with splash(PAGES) as service:
        settings = {**SPLASH, "SPLASH_URL": service.url}
        crawled = run(
            "tests.plugins.splashed.Splashed",
            urls=[A, B, C],
            endpoint=endpoint,
            settings=settings,
            deprecated="scrapy_splash",
        )
    assert [path for path, _ in service.asked] == [f"/{endpoint}"] * 3
    assert {item["kind"] for item in crawled.items} == {kind}
    assert [(item["url"], item["title"]) for item in crawled.items] == [(A, "Ice"), (C, "Fire")]
    assert crawled.dedup["duplicate"] == 1
