"""Spiders without any code for deduplication."""

from __future__ import annotations

import asyncio
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
from itemadapter import ItemAdapter
from pydantic import BaseModel, ConfigDict
from scrapy import Field, FormRequest, Item, Request, Spider
from scrapy.http import HtmlResponse
from scrapy.loader import ItemLoader
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response


class PlainItem(Item):
    url = Field()
    title = Field()
    body = Field()


class TaggedItem(PlainItem):
    dedup = Field()


class TextItem(PlainItem):
    text = Field()


@dataclass
class TextDataItem:
    url: str
    title: str
    body: str
    text: str = ""


@dataclass(frozen=True)
class FrozenTextItem:
    url: str
    title: str
    body: str
    text: str = ""


@attrs.define
class TextAttrsItem:
    url: str
    title: str
    body: str
    text: str | None = None


class TextModel(BaseModel):
    url: str
    title: str
    body: str
    text: str = ""


@dataclass
class DataItem:
    url: str
    title: str
    body: str
    dedup: Any = None


@dataclass(frozen=True)
class FrozenItem:
    url: str
    title: str
    body: str
    dedup: Any = None


@attrs.define
class AttrsItem:
    url: str
    title: str
    body: str
    dedup: Any = None


@attrs.define
class AttrsPlainItem:
    url: str
    title: str
    body: str


class PydanticItem(BaseModel):
    url: str
    title: str
    body: str
    dedup: Any = None


class StrictItem(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str
    title: str
    body: str


KINDS: dict[str, Any] = {
    "dict": dict,
    "plain": PlainItem,
    "tagged": TaggedItem,
    "data": DataItem,
    "frozen": FrozenItem,
    "attrs": AttrsItem,
    "attrs-plain": AttrsPlainItem,
    "pydantic": PydanticItem,
    "strict": StrictItem,
    "text": TextItem,
    "text-data": TextDataItem,
    "text-frozen": FrozenTextItem,
    "text-attrs": TextAttrsItem,
    "text-model": TextModel,
}


async def soon(seconds: float = 0.01) -> None:
    waiter: Deferred[None] = Deferred()
    call_later(seconds, waiter.callback, None)
    await maybe_deferred_to_future(waiter)


class Reader(Spider):
    """Takes title and body of every article and follows links."""

    name = "reader"
    urls: tuple[str, ...] = ()
    kind = "dict"
    copies = 1  #: items per page

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(url, meta={"dedup_skip": True} if url.endswith("skip") else {})

    def items(self, response: Response) -> Iterator[Any]:
        body = "\n".join(response.css("article p::text").getall())
        if not body:
            return
        for number in range(self.copies):
            title = response.css("h1::text").get("") + (f" {number}" if number else "")
            yield KINDS[self.kind](url=response.url, title=title, body=body)

    def parse(self, response: Response) -> Any:
        yield from self.items(response)
        for link in response.css("a.follow::attr(href)").getall():
            yield response.follow(link, self.parse)


class Viewer(Reader):
    """Uses the page that deduplication reads; the links that it follows get the whole meta of the response."""

    name = "viewer"

    def parse(self, response: Response) -> Any:
        view = response.meta.get("dedup")
        if view is not None and view.page is not None:
            for item in self.items(response):
                item["seen"] = [view.page.text, len(view.blocks), view.verdict is None]
                yield item
        for link in response.css("a.follow::attr(href)").getall():
            yield response.follow(link, self.parse, meta=response.meta)


class Prefiller(Reader):
    """Fills the field "text" itself."""

    name = "prefiller"

    def items(self, response: Response) -> Iterator[Any]:
        for item in super().items(response):
            item["text"] = "by the spider"
            yield item


class AsyncReader(Reader):
    """Awaits before and between items."""

    name = "async_reader"

    async def parse(self, response: Response) -> Any:
        await soon()
        for item in self.items(response):
            yield item
            await soon()
        for link in response.css("a.follow::attr(href)").getall():
            yield response.follow(link, self.parse)


class ReturningReader(Reader):
    """A coroutine that returns a list."""

    name = "returning_reader"

    async def parse(self, response: Response) -> Any:
        await soon()
        return [*self.items(response)]


class StartItems(Reader):
    """Yields items that come from no response."""

    name = "start_items"

    async def start(self) -> AsyncIterator[Any]:
        yield {"title": "from nowhere", "body": "x", "url": "start:1"}
        yield {"title": "from nowhere", "body": "x", "url": "start:2"}
        async for request in super().start():
            yield request


class Errbacks(Reader):
    """Yields items for failed requests too."""

    name = "errbacks"

    def parse(self, response: Response) -> Any:
        yield from self.items(response)
        for number in range(3):
            yield Request(f"{response.urljoin('/')}missing{number}", self.parse, errback=self.failed)
            yield Request(f"http://127.0.0.1:9/{number}", self.parse, errback=self.failed)

    def failed(self, failure: Any) -> Any:
        yield {"title": "failed", "body": type(failure.value).__name__, "url": failure.request.url}


class FailingLinks(Reader):
    """Follows dead links before it yields its items."""

    name = "failing_links"

    def parse(self, response: Response) -> Any:
        for number in range(3):
            yield Request(f"http://127.0.0.1:9{response.url[-4:]}/{number}", self.parse, errback=self.failed)
        yield from self.items(response)

    def failed(self, failure: Any) -> Any:
        yield {"title": "failed", "body": "", "url": failure.request.url}


class Reuser(Reader):
    """Yields one object repeatedly."""

    name = "reuser"

    def parse(self, response: Response) -> Any:
        for item in self.items(response):
            yield from [item] * 3


class Named(Reader):
    """Gets its name as an argument, like one class for many sites."""

    name = ""

    def __init__(self, site: str, **kwargs: Any) -> None:
        super().__init__(name=f"reader-{site}", **kwargs)


class Plainly(Reader):
    """Yields an item for every response, without parsing."""

    name = "plainly"

    def parse(self, response: Response) -> Any:
        yield {"url": response.url, "title": str(response.status), "body": str(len(response.body))}


class Sleeper(Reader):
    """Keeps a page open after its item."""

    name = "sleeper"

    async def parse(self, response: Response) -> Any:
        for item in self.items(response):
            yield item
        await asyncio.sleep(0.2)
        if response.url.endswith("1"):
            raise RuntimeError("the spider fails after its item")


class OneAfterTheOther(Reader):
    """Yields a second item of a page after a delay."""

    name = "one_after_the_other"

    async def parse(self, response: Response) -> Any:
        for item in self.items(response):
            yield {**item, "title": "first"}
            await soon(1.0)
            yield {**item, "title": "second"}


class Illustrated(Reader):
    """Yields image URLs of the page: two of its own, and one shared by all pages."""

    name = "illustrated"

    def parse(self, response: Response) -> Any:
        for item in self.items(response):
            names = (f"{response.url[-1]}-1", f"{response.url[-1]}-2", "shared")
            files = [response.urljoin(f"/files/{name}") for name in names]
            yield {**item, "file_urls": files, "own_urls": files, "files": []}


class Lister(Reader):
    """Yields several items with texts and URLs of their own from one page."""

    name = "lister"

    def parse(self, response: Response) -> Any:
        for block in response.css("div.entry"):
            yield {
                "url": block.css("a::attr(href)").get(response.url),
                "title": block.css("h2::text").get(""),
                "body": block.css("p::text").getall(),
            }


class Assembler(Reader):
    """Completes the item of an article on the page of its author; ``way``: how the item gets there."""

    name = "assembler"
    way = "item"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.waiting: list[Any] = []

    def parse(self, response: Response) -> Any:
        for link in response.css("a.follow::attr(href)").getall():
            yield response.follow(link, self.parse)
        author = response.css("a.author::attr(href)").get()
        for item in self.items(response) if author else ():
            yield getattr(self, f"by_{self.way}")(response.urljoin(author or ""), item, response)

    def request(self, url: str, **how: Any) -> Request:
        return Request(url, **{"callback": self.author, "dont_filter": True, **how})

    def by_item(self, url: str, item: Any, response: Response) -> Request:
        return self.request(url, cb_kwargs={"item": item})

    def by_copy(self, url: str, item: Any, response: Response) -> Request:
        return self.request(url, cb_kwargs={"item": item}, callback=self.copied)

    def by_fields(self, url: str, item: Any, response: Response) -> Request:
        return self.request(url, cb_kwargs=ItemAdapter(item).asdict(), callback=self.from_fields)

    def by_meta(self, url: str, item: Any, response: Response) -> Request:
        return self.request(url, meta={"item": item}, callback=self.from_meta)

    def by_loader(self, url: str, item: Any, response: Response) -> Request:
        loader = ItemLoader(PlainItem())
        loader.add_value(None, dict(item))
        return self.request(url, cb_kwargs={"loader": loader}, callback=self.loaded)

    def by_partial(self, url: str, item: Any, response: Response) -> Request:
        return self.request(url, callback=partial(self.author, item=item))

    def by_lambda(self, url: str, item: Any, response: Response) -> Request:
        return self.request(url, callback=lambda page: self.author(page, item))

    def by_chain(self, url: str, item: Any, response: Response) -> Request:
        return self.request(url, cb_kwargs={"item": item}, callback=self.onward)

    def by_relative_url(self, url: str, item: Any, response: Response) -> Request:
        item["url"] = item["url"].partition("://")[2].partition("/")[2].join(["/", "/#top"])
        return self.request(url, cb_kwargs={"item": item})

    def by_canonical(self, url: str, item: Any, response: Response) -> Request:
        item["url"] = response.xpath("//link/@href").get()
        return self.request(url, cb_kwargs={"item": item})

    def by_link(self, url: str, item: Any, response: Response) -> Request:
        return self.request(url, cb_kwargs={"item": {"source_url": [item.pop("url")], **item}})

    def by_page_url(self, url: str, item: Any, response: Response) -> Request:
        del item["url"]
        return self.request(url, cb_kwargs={"item": item}, meta={"dedup_page": response.url})

    def by_page_response(self, url: str, item: Any, response: Response) -> Request:
        del item["url"]
        return self.request(url, cb_kwargs={"item": item}, meta={"dedup_page": response})

    def by_nothing(self, url: str, item: Any, response: Response) -> Request:
        del item["url"]
        return self.request(url, cb_kwargs={"item": item})

    def by_nested(self, url: str, item: Any, response: Response) -> Request:
        return self.request(url, cb_kwargs={"found": {"item": item}}, callback=self.from_nested)

    def by_hidden(self, url: str, item: Any, response: Response) -> Request:
        del item["url"]
        return self.by_lambda(url, item, response)

    def from_nested(self, response: Response, found: dict[str, Any]) -> Any:
        yield {"body": found["item"]["body"], "about": dict(found["item"]), "author": response.css("h1::text").get("")}

    def author(self, response: Response, item: Any) -> Any:
        if not isinstance(item, StrictItem | FrozenItem):
            ItemAdapter(item)["title"] += " by " + response.css("h1::text").get("")
        yield item

    def copied(self, response: Response, item: Any) -> Any:
        yield {**item, "author": response.css("h1::text").get("")}

    def from_fields(self, response: Response, **fields: Any) -> Any:
        yield {**fields, "author": response.css("h1::text").get("")}

    def from_meta(self, response: Response) -> Any:
        yield from self.author(response, response.meta["item"])

    def loaded(self, response: Response, loader: Any) -> Any:
        item = loader.load_item()
        yield {name: values[0] for name, values in item.items()}

    def onward(self, response: Response, item: Any) -> Any:
        yield response.follow("/numbers", self.author, dont_filter=True, cb_kwargs={"item": item})


class Forwarder(Reader):
    """Carries an item from the start to a list, and gives the meta of the list to the requests of its entries."""

    name = "forwarder"

    def parse(self, response: Response) -> Any:
        yield response.follow("/list", self.entries, cb_kwargs={"item": {"section": "news"}})

    def entries(self, response: Response, item: Any) -> Any:
        for link in response.css("a.entry::attr(href)").getall():
            yield response.follow(link, self.entry, meta=response.meta)

    def entry(self, response: Response) -> Any:
        yield {"body": next(self.items(response))["body"], "place": response.url.rpartition("/")[2]}


class TwiceAssembler(Assembler):
    """Yields an item of the article, and another one with its author."""

    name = "twice_assembler"

    def parse(self, response: Response) -> Any:
        for output in super().parse(response):
            if "item" in output.cb_kwargs:
                yield copy(output.cb_kwargs["item"])
            yield output


class Commenter(Reader):
    """Yields the items of an article, and items of its comments, which have the URL of the article."""

    name = "commenter"
    own = True

    def parse(self, response: Response) -> Any:
        if self.own:
            yield from self.items(response)
        for link in response.css("a.follow::attr(href)").getall():
            article = {"url": response.url, "title": response.css("h1::text").get("")}
            yield response.follow(link, self.comments, cb_kwargs={"article": article})

    def comments(self, response: Response, article: Any) -> Any:
        for text in response.css("p::text").getall():
            yield {**article, "body": text}


class Poller(Spider):
    """Requests one URL again and again; ``how``: what differs between the requests."""

    name = "poller"
    url = ""
    times = 5
    how = "form"
    same = False  #: whether all items are equal

    async def start(self) -> AsyncIterator[Any]:
        for number in range(self.times):
            body = {"page": str(number)} if self.how == "form" else None
            kwargs = {"number": 0 if self.same else number}
            yield FormRequest(self.url, self.parse, formdata=body, dont_filter=True, cb_kwargs=kwargs)

    def parse(self, response: Response, number: int) -> Any:
        for each in range(2):
            yield {"title": f"{number} {each}", "body": text_of(response), "seen": str(datetime.now(UTC))}


class Refollower(Reader):
    """Requests each link twice, the second time when the first response is there."""

    name = "refollower"

    def parse(self, response: Response) -> Any:
        yield from super().parse(response)
        if "again" not in response.meta and response.css("article"):
            yield Request(response.url, self.parse, dont_filter=True, meta={"dont_redirect": True, "again": True})


class Passer(Reader):
    """Passes an argument to its callback."""

    name = "passer"
    label = ""

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(url, self.parse, cb_kwargs={"label": self.label})

    def parse(self, response: Response, label: str = "") -> Any:
        for item in self.items(response):
            yield {**item, "title": label}


class Fetcher(Reader):
    """Downloads each page once more, without the scheduler, before it requests it."""

    name = "fetcher"

    async def start(self) -> AsyncIterator[Any]:
        assert self.crawler.engine is not None
        for url in self.urls:
            yield Request(url, self.parse)
            while self.crawler.stats.get_value("response_received_count", 0) < 1:
                await soon(0.05)
            found = await self.crawler.engine.download_async(Request(url, self.parse))
            if found.status != 200:
                yield {"url": url, "title": "empty", "body": ""}

    def parse(self, response: Response) -> Any:
        yield from ()


class Conditional(Reader):
    """Makes its requests conditional itself, if it is given a tag."""

    name = "conditional"
    tag = ""

    async def start(self) -> AsyncIterator[Any]:
        headers = {"If-None-Match": self.tag} if self.tag else {}
        for url in self.urls:
            yield Request(url, self.parse, headers=headers, meta={"handle_httpstatus_list": [304]})

    def parse(self, response: Response) -> Any:
        yield {"url": response.url, "status": response.status}


def text_of(response: Response) -> str:
    return " ".join(response.css("p::text").getall()) if isinstance(response, HtmlResponse) else response.text


class Pager(Reader):
    """Yields an item for each entry of a list; ``named``: with the URL of the entry."""

    name = "pager"
    named = True

    def parse(self, response: Response) -> Any:
        for entry in response.css("li a.entry"):
            url = {"url": response.urljoin(entry.attrib["href"])} if self.named else {}
            yield {**url, "title": entry.css("::text").get(""), "body": ""}
        for link in response.css("a.follow::attr(href)").getall():
            yield response.follow(link, self.parse)


class Completer(Assembler):
    """Requests the author of articles that another worker has parsed."""

    name = "completer"

    async def start(self) -> AsyncIterator[Any]:
        for number, url in enumerate(self.urls):
            item = {"url": url, "title": f"Story {number}", "body": str(number)}
            yield self.request(url.rpartition("/a/")[0] + "/author", cb_kwargs={"item": item})


class Refetcher(Assembler):
    """Fetches each article twice; the second item differs if ``differs``."""

    name = "refetcher"
    differs = False

    def parse(self, response: Response, again: bool = False) -> Any:
        for request in super().parse(response):
            if again and self.differs:
                request.cb_kwargs["item"]["title"] += " again"
            yield request
        if not again:
            yield Request(response.url, dont_filter=True, cb_kwargs={"again": True})
