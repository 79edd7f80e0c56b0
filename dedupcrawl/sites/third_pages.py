"""Whether a third page shows that the text which two pages share is a template of a site.

Two pages alone do not tell a template with one place to fill in from an article that was edited in one place. A third
page that is kept and has the text too tells it: a site repeats a template on many pages, and an article on one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.detectors.base import COPIES, Relation
from dedupcrawl.sites.registrable_domain import site_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def have_templates(new: str, earlier: Sequence[tuple[str, Relation]]) -> list[bool]:
    """Return for each earlier page whether it is a copy of a page on another site, but of a text that is a template.

    The third page is another one of the older page's site, or a sibling of the new page.

    Args:
        new: URL of the new page.
        earlier: URL of each earlier page, and the relation of the new page to it.

    >>> copy, sibling = Relation.NEAR_DUPLICATE, Relation.SIBLING
    >>> have_templates("https://a.example/1", [("https://b.example/1", copy), ("https://a.example/2", sibling)])
    [True, False]
    """
    related = [each for each in earlier if each[1] in COPIES or each[1] is Relation.SIBLING]
    if len(related) < 2:
        return [False] * len(earlier)
    own, pages = site_of(new), Counter(site_of(url) for url, _ in related)
    has_sibling = any(relation is Relation.SIBLING and site_of(url) == own for url, relation in related)

    def is_known(site: str) -> bool:
        return bool(site) and site != own and (has_sibling or pages[site] > 1)

    return [bool(own) and relation in COPIES and is_known(site_of(url)) for url, relation in earlier]
