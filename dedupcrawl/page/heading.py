"""What the page's own heading says of where its main text is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.page.blocks import Draft

#: Bytes of good text: where no container has more, size alone does not tell which holds the main text.
SHORT = 800.0
HEADED = 20.0  #: so many times does good text under the heading count there


def favour_headed(own: Sequence[float], parents: Sequence[int], drafts: Sequence[Draft]) -> list[float]:
    """Return the good text of each container, that of those with the page's heading counted ``HEADED`` times.

    The terms of a shop outgrow what it says of a spoon; but ``<h1>`` stands over the spoon. A heading that is
    a link is the name of the site.

    Args:
        own: good text of each container, without what is in containers inside it.
        parents: of each container, -1 for the first.
        drafts: the blocks of the page.
    """
    headed = {home for *_, link_length, _, _, tag, home in drafts if tag == "h1" and not link_length}
    favoured: list[float] = []
    for child, (good, parent) in enumerate(zip(own, parents, strict=True)):
        if parent in headed:
            headed.add(child)
        favoured.append(good * HEADED if child in headed else good)
    return favoured
