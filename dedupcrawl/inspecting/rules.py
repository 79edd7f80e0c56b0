"""The rules that keep or cut a block: their families, the signs they are shown by, and what they mean.

A family has a colour and a pattern of its own, a rule a sign; so none is known by its colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.page import noise
from dedupcrawl.page.everything import EVERYTHING
from dedupcrawl.page.topic import NOISE, TITLE, TOPIC, TOPIC_ANCHORS

if TYPE_CHECKING:
    from collections.abc import Mapping

FOUND = "found"  #: kept: the text is in the main text that a user's own reader found
NOT_FOUND = "not found"  #: cut: it is not


@dataclass(frozen=True, slots=True)
class Rule:
    """Why a block was kept or cut, for people."""

    reason: str  #: as the block names it
    family: str  #: a key of :data:`FAMILIES`
    sign: str  #: a few letters that stand before each block
    meaning: str  #: one sentence, the same for all blocks


#: What the rules of a family look at.
FAMILIES: Mapping[str, str] = {
    "kept": "kept",
    "density": "link density R",
    "runs": "runs of links",
    "container": "container",
    "names": "class words",
    "elements": "elements",
    "ends": "ends and wording",
    "topic": "topic",
    "own": "your reader",
}

_RULES = (
    Rule(noise.MAIN_TEXT, "kept", "✓", "It is main text."),
    Rule(TOPIC, "kept", "✓", "It is the longest block, or shares words with it: topic text."),
    Rule(EVERYTHING, "kept", "✓", "This reader keeps all that can be read."),
    Rule(FOUND, "kept", "✓", "The main text that your reader found has it."),
    Rule(TOPIC_ANCHORS, "topic", "✓A", "It shares words with the topic, but is little else than links."),
    Rule(noise.GUIDE_LINKS, "density", "R", "Its links only lead elsewhere."),
    Rule(noise.LINK_RUN, "runs", "RUN", "Too many links stand in a row, with only separators between."),
    Rule(noise.POOR_CONTAINER, "container", "POOR", "Its container holds little text, or mostly links."),
    Rule(noise.OUTSIDE, "container", "OUT", "It is not in the container taken for the main text."),
    Rule(noise.TEASER, "container", "TEASE", "It is one of several headlines in a row, with first lines."),
    Rule(noise.SIDE_CLASS, "names", "CLASS", "A class or id around it names a side part."),
    Rule(noise.COMMENTS, "names", "COMM", "A class or id around it says that readers wrote it."),
    Rule(
        noise.LANDMARK,
        "elements",
        "TAG",
        "HTML has elements for side parts, and it is in one.",
    ),
    Rule(noise.NESTED, "elements", "ART", "It is in an article inside an article: a comment, a story."),
    Rule(noise.EDGE, "ends", "EDGE", "It is a short block before the main text begins or after it ends."),
    Rule(noise.FRAME, "ends", "WORDS", "By its words it is a credit, a caption or a notice on cookies."),
    Rule(noise.REPEATED, "ends", "TWICE", "The main text says the same; this is a second copy of it."),
    Rule(TITLE, "topic", "HEAD", "It is a heading, which this reader keeps apart."),
    Rule(NOISE, "topic", "NOISE", "It shares too few words with the longest block of the page."),
    Rule(NOT_FOUND, "own", "NOT", "The main text that your reader found has not got it."),
)
RULES: Mapping[str, Rule] = {rule.reason: rule for rule in _RULES}


def rule_of(reason: str, *, kept: bool) -> Rule:
    """Return the rule of a reason; one that only a user's own reader knows gets the sign of its family."""
    known = RULES.get(reason)
    if known is not None:
        return known
    family, sign = ("kept", "✓") if kept else ("own", "OWN")
    return Rule(reason, family, sign, "So says your reader.")
