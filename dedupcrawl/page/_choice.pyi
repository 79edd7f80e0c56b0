"""Loops over the containers and blocks of a page, compiled from ``_choice.pyx``.

The modules of :mod:`dedupcrawl.page` are its only users. A ``ValueError`` or ``TypeError`` is raised for lists that do
not fit.
"""

from collections.abc import Callable, Collection

from dedupcrawl.page.blocks import RawBlock
from dedupcrawl.page.rules import SideKind

class ChoiceRules:
    def __init__(
        self,
        *,
        comments_side: SideKind,
        notice_side: SideKind,
        main_text: str,  # reasons
        outside: str,
        poor_container: str,
        comments: str,
        side_class: str,
        listing: str,  # tags
        fact: str,
        weights: tuple[float, ...],  # limits of poor containers and their score, limits of side parts
    ) -> None:
        """Take the constants of ``scoring``; see ``scoring.choice_rules``."""

    def remove_side_parts(
        self,
        parents: list[int],
        sides: list[SideKind],
        removed: list[str],
        positive: list[float],
        spared: Collection[int],
        likely: float,
    ) -> None:
        """Set in ``removed`` why side parts are removed, as ``ContainerScores`` does.

        ``likely``: a likely side part with lower positive scores is removed.
        """

    def remove_poor(
        self,
        parents: list[int],
        score: list[float],
        length: list[int],
        links: list[int],
        removed: list[str],
        spared: Collection[int],
    ) -> None:
        """Add up the lists from the leaves, and set in ``removed`` which containers are poor."""

    def reasons_around(self, best: int, parents: list[int], removed: list[str]) -> list[str]:
        """Return for each container why its blocks are kept or removed, if ``best`` is the main one."""

    def assign_reasons(
        self,
        blocks: list[RawBlock],
        reasons: list[str],
        around: list[str],  # of each container
        around_posts: Collection[int],
        has_lines: bool,
        has_listing: Callable[[RawBlock], bool],
    ) -> list[int]:
        """Give blocks without a reason that of their container; return the places of those that are kept."""

def sum_descendants(
    parents: list[int], guides: list[int], plain: list[int], positive: list[float]
) -> tuple[list[int], list[int], list[float]]:
    """Return the last three lists with the values of all descendants added."""

def repeated_blocks(blocks: list[RawBlock], least: int) -> list[int]:
    """Return the places of blocks of at least ``least`` bytes with the text of an earlier one."""

def offsets_of(parts: list[bytes], whole: bytes) -> list[int]:
    """Return where the parts, none of them empty, are in a text, one part after the other."""

def texts_by_reason(
    blocks: list[RawBlock],
    reasons: list[str],
    named: int,
    kept_reasons: Collection[str],
    compared_reasons: Collection[str],
    position_reasons: Collection[str],
    landmark: str,
) -> tuple[list[str], list[str], list[str], list[str], int, int]:
    """Return the fields of ``block_reader.ReasonTexts``."""
