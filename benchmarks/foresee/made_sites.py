"""Made sites that end: every URL is known, and so is the article behind it.

A page depends on its URL, and on the number of requests so far where a site changes in mid-crawl. ``wanted`` is the
truth: the articles that a crawl must not lose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from benchmarks.foresee.made_pages import MadePage, article, chance, listing, named, paragraphs, title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from urllib.parse import SplitResult

    from benchmarks.foresee.made_pages import Link

PER_LIST = 20  #: links of a list


def query(path: str, **parameters: object) -> str:
    """Return a URL with parameters."""
    return f"{path}?{urlencode(parameters)}"


class MadeSite:
    """A site: its pages by URL, and the truth about them."""

    name: ClassVar[str]
    count: ClassVar[int] = 200  #: articles
    most: ClassVar[int] = 3000  #: requests after which a crawl is ended
    ends: ClassVar[bool] = True  #: whether its URLs are few enough for a crawl to end by itself

    def __init__(self, change_at: int = 500) -> None:
        self.change_at = change_at  #: requests after which a site changes, if it does
        self.requests = 0
        self.host = f"{self.name}.example"

    @property
    def seed(self) -> str:
        """The URL where a crawl begins."""
        return f"http://{self.host}/"

    def serve(self, url: str) -> MadePage:
        """Count a request and return its page."""
        self.requests += 1
        parts = urlsplit(url)
        return self.page(url, parts, dict(parse_qsl(parts.query, keep_blank_values=True)))

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:
        """Return the page of a URL, given its parts and the values of its parameters."""
        raise NotImplementedError

    def contents(self) -> set[str]:
        """Return the names of all articles."""
        return {self.article_name(number) for number in range(self.count)}

    def wanted(self, served: Sequence[tuple[str, str]]) -> set[str]:  # noqa: ARG002  # for sites that change
        """Return the articles that must be found by a crawl that was served these URLs with these contents."""
        return self.contents()

    def article_name(self, number: int) -> str:
        """Return the name of an article."""
        return f"{self.name}:{number}"

    def home(self, path: str = "/s/{}", per_list: int = PER_LIST) -> MadePage:
        """Return the front page: links to all lists."""
        return listing(named([path.format(at) for at in range(self.count // per_list)]))

    def links(self, numbers: Sequence[int], path: str = "/a/{}") -> list[Link]:
        """Return links to articles."""
        return [(path.format(number), title(self.article_name(number))) for number in numbers]

    def section(self, at: int, per_list: int = PER_LIST) -> range:
        """Return the numbers of the articles on a list."""
        return range(at * per_list, (at + 1) * per_list)

    def related(self, number: int, most: int = 4) -> list[int]:
        """Return the numbers of articles that an article links to."""
        source = chance(self.name, "related", number)
        return [source.randrange(self.count) for _ in range(most)]


class Facets(MadeSite):
    """A shop: its lists in 3 orders, up and down, in 2 views, on 2 pages; its products with ``?ref=``.

    The second page of a list that is sorted has other products than that of one that is not.
    """

    name, count = "facets", 240

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:
        """Return the page of a URL."""
        if parts.path == "/":
            return listing([(f"/c/{number}", f"Category {number}") for number in range(6)])
        number = int(parts.path.split("/")[2])
        if parts.path.startswith("/c/"):
            return self._category(url, parts.path, number, values)
        return article(self.article_name(number), self.links(self.related(number), "/item/{}?ref=rel"))

    def _category(self, url: str, path: str, number: int, values: Mapping[str, str]) -> MadePage:
        source, order, at = chance(url), values.get("sort", "name"), int(values.get("page", 1))
        products = sorted(range(number * 40, number * 40 + 40), key=lambda each: chance(order, each).random())
        if values.get("order") == "desc":
            products.reverse()
        shown = products[(at - 1) * 20 : at * 20]
        items = [
            (query(f"/item/{each}", ref=source.choice(["cat", "list", "top"])), title(self.article_name(each)))
            for each in shown
        ]
        facets = [
            (query(path, sort=by, order=way, view=view, page=at), f"{by} {way} {view}")
            for by in ("name", "price", "new")
            for way in ("asc", "desc")
            for view in ("grid", "list")
        ]
        other = (query(path, **{**values, "page": 3 - at}), f"Page {3 - at}")
        return listing([*items, *facets, other], f"Category {number}")


class Print(MadeSite):
    """Each article also as ``/print``, ``?print=1`` and below ``/amp/``."""

    name, count = "print", 220

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        if parts.path == "/":
            return self.home()
        if parts.path.startswith("/s/"):
            return listing(self.links(self.section(int(parts.path[3:])), "/article/{}"))
        number = next(int(each) for each in parts.path.split("/") if each.isdigit())
        views = [
            (f"/article/{number}/print", "Print"),
            (f"/article/{number}?print=1", "Printer friendly"),
            (f"/amp/article/{number}", "AMP"),
        ]
        return article(self.article_name(number), views + self.links(self.related(number), "/article/{}"))


class Case(MadeSite):
    """A server that ignores case, with ``/Default.aspx`` and slashes at the end."""

    name, count = "case", 160

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        source = chance(url)
        path = parts.path.lower().rstrip("/").removesuffix("/default.aspx")

        def variant(of: str) -> str:
            return source.choice([of, of, of.title(), f"{of}/", f"{of}/Default.aspx", of.upper()])

        if not path:
            return listing(named([variant(f"/news/s{at}") for at in range(self.count // PER_LIST)]))
        number = int(path[7:])
        if path.startswith("/news/s"):
            return listing([(variant(link), text) for link, text in self.links(self.section(number), "/news/a{}")])
        return article(
            self.article_name(number),
            [(variant(link), text) for link, text in self.links(self.related(number), "/news/a{}")],
        )


class Mirror(MadeSite):
    """http and https, ``www.`` and ``m.``; ``help.`` is a site with the same paths and other texts."""

    name, count = "mirror", 100

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        source, is_help = chance(url), (parts.hostname or "").startswith("help.")

        def anywhere(path: str) -> str:
            if is_help:
                return f"http://help.{self.host}{path}"
            host = source.choice([self.host, f"www.{self.host}", f"m.{self.host}", self.host])
            return f"{source.choice(['http', 'https'])}://{host}{path}"

        if parts.path == "/":
            urls = [anywhere(f"/s/{at}") for at in range(self.count // PER_LIST)]
            return listing(named([*urls, f"http://help.{self.host}/"]))
        number = int(parts.path.split("/")[2])
        if parts.path.startswith("/s/"):
            return listing([(anywhere(link), text) for link, text in self.links(self.section(number))])
        name = f"{self.name}{'help' if is_help else ''}:{number}"
        return article(name, [(anywhere(link), text) for link, text in self.links(self.related(number))])

    def contents(self) -> set[str]:
        """Return the names of the articles of both sites."""
        return {f"{self.name}{part}:{number}" for number in range(self.count) for part in ("", "help")}


class Paging(MadeSite):
    """``?page=1`` repeats the story, pages 2 and 3 are other text."""

    name, count = "paging", 150

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        if parts.path == "/":
            return self.home(per_list=15)
        number = int(parts.path.split("/")[2])
        if parts.path.startswith("/s/"):
            return listing(self.links(self.section(number, 15), "/story/{}"))
        at = int(values.get("page", 1))
        pages = [(f"{parts.path}?page={each}", f"page {each}") for each in (1, 2, 3)]
        heading = f"{title(self.article_name(number))} ({at})"
        return article(f"{self.article_name(number)}:{at}", pages, heading)

    def contents(self) -> set[str]:
        """Return the names of all pages of all stories."""
        return {f"{self.article_name(number)}:{at}" for number in range(self.count) for at in (1, 2, 3)}


class Language(MadeSite):
    """``?lang=`` changes nothing for 140 documents that are not translated, crawled first; the last 60 are."""

    name, untranslated = "lang", 140

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        if parts.path == "/":
            return self.home()
        number = int(parts.path.split("/")[2])
        if parts.path.startswith("/s/"):
            onward = named([f"/s/{number + 1}"]) if number + 1 < self.count // PER_LIST else []
            return listing(onward + self.links(self.section(number), "/doc/{}"))
        language = values.get("lang", "en") if number >= self.untranslated else "en"
        others = [(f"{parts.path}?lang={each}", each) for each in ("en", "de", "fr")]
        return article(f"{self.article_name(number)}:{language}", others)

    def contents(self) -> set[str]:
        """Return the names of the documents in all their languages."""
        translated = range(self.untranslated, self.count)
        return {f"{self.article_name(number)}:en" for number in range(self.count)} | {
            f"{self.article_name(number)}:{each}" for number in translated for each in ("de", "fr")
        }


class Ids(MadeSite):
    """``?p=`` is the article, ``v=`` is nothing; on ``position`` it is the other way round."""

    name = "ids"

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:
        """Return the page of a URL."""
        source = chance(url)

        def links(numbers: Sequence[int]) -> list[Link]:
            return [(query("/", p=each, v=source.randrange(9)), title(self.article_name(each))) for each in numbers]

        if parts.path == "/list":
            return listing(links(self.section(int(values["s"]))))
        if "p" not in values:
            return self.home("/list?s={}")
        number = int(values["p"])
        return article(self.article_name(number), links(self.related(number)))


class Login(MadeSite):
    """Profiles of members: a wall for 92 of 100, and a text of their own for 8 of 100."""

    name, count = "login", 150
    WALL = (
        "Please log in to see this profile. Registration is free of charge and takes a minute, and members see all "
        "profiles, photographs and messages of other members of this board after the confirmation of their address."
    )

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        if parts.path == "/":
            return self.home(per_list=15)
        if parts.path == "/profile":
            member = int(values["user"])
            public = self._is_public(member)
            return article(f"{self.name}:user{member}") if public else MadePage("", "Members only", (self.WALL,))
        number = int(parts.path.split("/")[2])
        if parts.path.startswith("/s/"):
            return listing(self.links(self.section(number, 15), "/post/{}"))
        members = range(number * 3, number * 3 + 3)
        return article(self.article_name(number), [(f"/profile?user={each}", f"Member {each}") for each in members])

    def contents(self) -> set[str]:
        """Return the names of the posts and of the profiles that everybody sees."""
        members = {f"{self.name}:user{each}" for each in range(self.count * 3) if self._is_public(each)}
        return super().contents() | members

    def _is_public(self, member: int) -> bool:
        return chance("public", member).random() < 0.08


class Variants(MadeSite):
    """``?size=`` is another product: nearly the same text, with other numbers."""

    name, count, sizes = "variants", 80, (4, 5, 6, 8)

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        if parts.path == "/":
            return self.home()
        number = int(parts.path.split("/")[2])
        if parts.path.startswith("/s/"):
            return listing(self.links(self.section(number), "/screw/{}"))
        size, name = int(values.get("size", 4)), self.article_name(number)
        facts = (
            f"Thread M{size}, length {size * 7} mm, head {size * 2} mm, order number {number * 100 + size}, "
            f"price {size * 13 + number} euro."
        )
        links = tuple([(query(parts.path, size=each, ref="a"), f"M{each}") for each in self.sizes])
        return MadePage(f"{name}:{size}", f"{title(name)} M{size}", (facts, *paragraphs(name)), links)

    def contents(self) -> set[str]:
        """Return the names of all products."""
        return {f"{self.article_name(number)}:{size}" for number in range(self.count) for size in self.sizes}


class Clean(MadeSite):
    """No duplicates: only the cost and wrong rules count."""

    name, count = "clean", 400

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        if parts.path == "/":
            return self.home("/s?page={}")
        if parts.path == "/s":
            numbers = self.section(int(values["page"]))
            return listing([(self._url(each), title(self.article_name(each))) for each in numbers])
        return article(self.article_name(int(values["id"])))

    def _url(self, number: int) -> str:
        slug = "-".join(title(self.article_name(number)).lower().split()[:2])
        return f"/a/{number}/{slug}?id={number}"


class Change(MadeSite):
    """``?v=`` is noise until the site is rebuilt in mid-crawl; then ``?v=2`` is the second half of each text."""

    name, count = "change", 260

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        if parts.path == "/":
            return listing(named(["/s/0"]))
        number = int(parts.path.split("/")[2])
        if parts.path.startswith("/s/"):
            onward = named([f"/s/{number + 1}"]) if number + 1 < self.count // PER_LIST else []
            return listing(onward + self.links(self.section(number)))
        is_second = self.requests > self.change_at and values.get("v") == "2"
        views = [(f"{parts.path}?v={each}", f"v{each}") for each in (1, 2, 3)]
        return article(self._second(number) if is_second else self.article_name(number), views)

    def wanted(self, served: Sequence[tuple[str, str]]) -> set[str]:
        """Return the articles, and the second halves that a plain crawl would still have met.

        What was served before the change cannot be met again. If the crawl ended before it, there is no second half.
        """
        before = {url for url, _ in served[: self.change_at]}
        halves = range(self.count) if len(served) > self.change_at else ()
        met = {self._second(each) for each in halves if f"{self.seed}a/{each}?v=2" not in before}
        return self.contents() | met

    def _second(self, number: int) -> str:
        return f"{self.article_name(number)}:second"
