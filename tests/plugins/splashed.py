"""A spider of scrapy-splash 0.11.1, which needs a function that Scrapy 2.19 does not have.

Its default slot policy needs a method that Scrapy 2.19 does not have either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scrapy.utils.url
import w3lib.url

from tests.plugins.spiders import Titles

vars(scrapy.utils.url)["canonicalize_url"] = w3lib.url.canonicalize_url  # before the next line, and as documented

from scrapy_splash import SplashRequest  # noqa: E402

if TYPE_CHECKING:
    from scrapy import Request


class Splashed(Titles):
    """Asks Splash to render each page, by the endpoint of its argument."""

    def __init__(self, endpoint: str, **args: Any) -> None:
        super().__init__(**args)
        self.endpoint = endpoint

    def request(self, url: str) -> Request:
        made: Request = SplashRequest(
            url, endpoint=self.endpoint, slot_policy="scrapy_default", args={"wait": 0.1, "html": 1}
        )
        return made
