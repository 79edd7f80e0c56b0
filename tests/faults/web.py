"""Towns on loopback, and the truth about their pages: which URL has which story."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count, islice
from typing import TYPE_CHECKING

from dedupcrawl.tools.demo.sites import SiteLayout, serve
from tests.faults.towns import town

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupcrawl.tools.demo.corpus import BundledCorpus


@dataclass(frozen=True)
class Web:
    """A web that can be crawled.

    A story is the content that all pages of one cluster bear: "3 en/night-ferry" is told in town 3.
    """

    fronts: tuple[str, ...]  #: URLs of the front pages, from which all others are reached
    stories: Mapping[str, str]  #: story by the URL of each page that bears one; lists of links do not

    @property
    def distinct(self) -> frozenset[str]:
        """All stories."""
        return frozenset(self.stories.values())


#: Towns with a story whose copies are estimated below the threshold, by chance: no worker could drop them.
UNLUCKY_TOWNS = {17}


def towns_of(pages: int) -> tuple[BundledCorpus, ...]:
    """Return as many towns as it takes for so many pages that bear a story."""
    each = len(town(0).pages)
    numbers = (number for number in count() if number not in UNLUCKY_TOWNS)
    return tuple(islice(map(town, numbers), -(-pages // each)))


@contextmanager
def serving(towns: Sequence[BundledCorpus]) -> Iterator[Web]:
    """Serve towns as long as the context lasts."""
    with ExitStack() as stack:
        hosts = [stack.enter_context(serve(content, first_port=0)) for content in towns]
        yield Web(
            tuple(f"{origin}/" for origins in hosts for origin in origins.values()),
            {
                f"{origins[page.site]}{page.path}": f"{number} {page.cluster}"
                for number, (content, origins) in enumerate(zip(towns, hosts, strict=True))
                for page in content.pages
            },
        )


def documents(content: BundledCorpus, number: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield story, URL and HTML of every page of a town that bears a story, without serving it."""
    origins = {key: f"http://{key}-town{number}.example" for key in content.sites}
    for key, site in content.sites.items():
        bodies = SiteLayout(content, site, origins).documents()
        for page in content.pages:
            if page.site == key:
                yield f"{number} {page.cluster}", f"{origins[key]}{page.path}", bodies[page.path]
