"""Made sites with URLs without end, or with so many that no crawl should fetch them all."""

from __future__ import annotations

from hashlib import md5
from typing import TYPE_CHECKING

from benchmarks.foresee import made_sites
from benchmarks.foresee.made_pages import MadePage, article, chance, listing, named, paragraphs, title, vocabulary
from benchmarks.foresee.made_sites import PER_LIST, MadeSite, query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from urllib.parse import SplitResult

    from benchmarks.foresee.made_pages import Link


class EndlessSite(MadeSite):
    """A site that a plain crawl never finishes."""

    ends = False


class Session(EndlessSite):
    """A session id in every link, and now and then a new one; ``?id=`` is the article."""

    name = "session"

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:
        """Return the page of a URL."""
        sid = values.get("sid", "")
        if not sid or chance(url, "expires").random() < 0.06:
            sid = md5(f"{url}s".encode()).hexdigest()[:16]

        def links(numbers: Sequence[int]) -> list[Link]:
            return [(query("/view.php", id=each, sid=sid), title(self.article_name(each))) for each in numbers]

        if parts.path == "/":
            return listing(named([query("/list.php", page=at, sid=sid) for at in range(self.count // PER_LIST)]))
        if parts.path == "/list.php":
            return listing(links(self.section(int(values.get("page", 0)))))
        number = int(values["id"])
        return article(self.article_name(number), links(self.related(number)))


class Tracking(EndlessSite):
    """``utm_source`` and ``utm_medium``, always together, and ``fbclid``, different in each link."""

    name, count = "utm", 220

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        source = chance(url)

        def tracked(number: int) -> str:
            path = f"/a/{number}"
            if source.random() < 0.6:
                places, media = ("nl", "tw", "fb", "home"), ("post", "mail", "box")
                return query(path, utm_source=source.choice(places), utm_medium=source.choice(media))
            if source.random() < 0.5:
                return query(path, fbclid=md5(f"{url}{number}".encode()).hexdigest()[:12])
            return path

        if parts.path == "/":
            return self.home()
        number = int(parts.path.split("/")[2])
        numbers = self.section(number) if parts.path.startswith("/s/") else self.related(number, 5)
        links = [(tracked(each), title(self.article_name(each))) for each in numbers]
        return listing(links) if parts.path.startswith("/s/") else article(self.article_name(number), links)


class Calendar(EndlessSite):
    """A calendar without end: 40 events in its first five years, and one 15 years ahead, behind empty months."""

    name, count = "calendar", 41
    first, last = 2025 * 12, (2040, 6)

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        if parts.path == "/":
            return listing([("/cal?y=2025&m=1", "Calendar"), ("/about", "About")])
        if parts.path == "/about":
            return article(f"{self.name}:about")
        if parts.path.startswith("/event/"):
            return article(self.article_name(int(parts.path.split("/")[2])))
        return self._month(int(values["y"]), int(values["m"]))

    def _month(self, year: int, month: int) -> MadePage:
        time = year * 12 + month - 1
        events = [each for each in range(40) if self.first + (each * 17) % 60 == time]
        events += [40] * ((year, month) == self.last)
        months = [
            (f"/cal?y={each // 12}&m={each % 12 + 1}", f"{each // 12}-{each % 12 + 1:02}")
            for each in (time - 1, time + 1, time + 12)
        ]
        days = [(f"/cal?y={year}&m={month}&d={day}", f"day {day}") for day in range(1, 29, 7)]
        return listing([*self.links(events, "/event/{}"), *months, *days], f"Events of {year}-{month:02}")

    def contents(self) -> set[str]:
        """Return the names of the events and of the page about the calendar."""
        return super().contents() | {f"{self.name}:about"}


class Position(EndlessSite):
    """``?p=`` is the place where a link stood, which is nothing: up to 30 URLs an article."""

    name = "position"

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        source = chance(url)

        def links(numbers: Sequence[int]) -> list[Link]:
            return [(query(f"/a/{each}", p=source.randrange(30)), title(self.article_name(each))) for each in numbers]

        if parts.path == "/":
            return self.home()
        number = int(parts.path.split("/")[2])
        if parts.path.startswith("/s/"):
            return listing(links(self.section(number)))
        return article(self.article_name(number), links(self.related(number, 6)))


class Slug(EndlessSite):
    """``/noticia/ID/section/any-words``: only the number counts."""

    name, count = "slug", 120

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        source = chance(url)

        def links(numbers: Sequence[int]) -> list[Link]:
            return [
                (f"/noticia/z{each}x/202101/{'-'.join(source.sample(vocabulary(), 3))}", title(self.article_name(each)))
                for each in numbers
            ]

        if parts.path == "/":
            return self.home()
        if parts.path.startswith("/s/"):
            return listing(links(self.section(int(parts.path[3:]))))
        number = int(parts.path.split("/")[2][1:-1])
        return article(self.article_name(number), links(self.related(number, 5)))


class BrokenLinks(EndlessSite):
    """Relative links that are broken: each unknown path is a page with status 200 and more such links."""

    count = 120
    BROKEN = (("products/", "Products"), ("shop/", "Shop"), ("img/", "Img"))

    def page(self, url: str, parts: SplitResult, values: Mapping[str, str]) -> MadePage:  # noqa: ARG002
        """Return the page of a URL."""
        match [each for each in parts.path.split("/") if each]:
            case []:
                return self.front()
            case ["a", number] if number.isdigit():
                related = self.links(self.related(int(number)))
                return article(self.article_name(int(number)), [*related, self.BROKEN[0]])
            case ["s", at]:
                return listing(self.links(self.section(int(at))))
            case _:
                return self.unknown()

    def front(self) -> MadePage:
        """Return the front page."""
        return self.home()

    def unknown(self) -> MadePage:
        """Return the page of a path that does not exist."""
        raise NotImplementedError


class SoftNotFound(BrokenLinks):
    """Each unknown path is the front page."""

    name = "soft404"

    def front(self) -> MadePage:
        """Return the front page, which has broken links too."""
        sections = [(f"/s/{at}", f"Section {at}") for at in range(self.count // PER_LIST)]
        return MadePage(f"{self.name}:front", "Welcome", paragraphs("front"), (*sections, *self.BROKEN))

    def unknown(self) -> MadePage:
        """Return the front page."""
        return self.front()

    def contents(self) -> set[str]:
        """Return the names of the articles and of the front page."""
        return super().contents() | {f"{self.name}:front"}


class FriendlyNotFound(BrokenLinks):
    """An unknown path has a text of its own: "not found"."""

    name = "notfound"
    TEXT = (
        "We are sorry, the page that you are looking for is not here. It may have been moved or removed, or its "
        "address was not typed correctly. Please begin at the front page of our paper, or use the search."
    )

    def unknown(self) -> MadePage:
        """Return the text."""
        return MadePage("", "Not here", (self.TEXT,), self.BROKEN)


#: The finite sites on which savings are counted.
FINITE: tuple[type[MadeSite], ...] = (
    made_sites.Facets,
    made_sites.Print,
    made_sites.Case,
    made_sites.Mirror,
    made_sites.Paging,
    made_sites.Language,
    made_sites.Ids,
    made_sites.Login,
    made_sites.Variants,
    made_sites.Clean,
)
ENDLESS: tuple[type[MadeSite], ...] = (Session, Tracking, Calendar, Position, Slug, SoftNotFound, FriendlyNotFound)
ALL: tuple[type[MadeSite], ...] = (*FINITE, made_sites.Change, *ENDLESS)
BY_NAME = {site.name: site for site in ALL}
