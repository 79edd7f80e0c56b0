"""What the page's own heading says of where its main text is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.page.blocks import Draft

#: Bytes of good text: where no container has more, size alone does not tell which holds the main text.
SHORT = 800.0
HEADED = 20.0  #: so many times does good text under the heading count there


def heading(drafts: Sequence[Draft]) -> int:
    """Return the container of the page's ``<h1>``, or -1 if it has none or several.

    One that is a link is the name of the site.
    """
    homes = [draft[6] for draft in drafts if draft[5] == "h1" and not draft[2]]
    return homes[0] if len(homes) == 1 else -1


def around(container: int, parents: Sequence[int]) -> set[int]:
    """Return a container (-1: none) and all that it stands in."""
    found = set()
    while container >= 0:
        found.add(container)
        container = parents[container]
    return found


def favour_headed(own: Sequence[float], parents: Sequence[int], headed: int) -> list[float]:
    """Return the good text of each container, that in the one with the heading counted ``HEADED`` times.

    The terms of a shop outgrow what it says of a spoon; but ``<h1>`` stands over the spoon.

    Args:
        own: good text of each container, without what is in containers inside it.
        parents: of each container, -1 for the first.
        headed: what :func:`heading` says of the page.
    """
    under = {headed}
    favoured: list[float] = []
    for child, (good, parent) in enumerate(zip(own, parents, strict=True)):
        if headed >= 0 and parent in under:
            under.add(child)
        favoured.append(good * HEADED if child in under else good)
    return favoured
