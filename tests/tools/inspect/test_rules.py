"""Every reason of a reader has a rule, a sign, a family and a sentence."""

from __future__ import annotations

import re

import pytest
from lxml import html

from dedupcrawl.page import Block, ReadOptions, readers, rules, topic
from dedupcrawl.tools.inspect.rules import FAMILIES, RULES, explain_block, rule_of
from dedupcrawl.tools.report.html_bundle import read_asset

OPTIONS = ReadOptions()


def block(reason: str, *, kept: bool = False, link_length: int = 0, run: int = 0) -> Block:
    return Block("x" * 100, 100, link_length, run, run, "p", kept, reason)


def reasons() -> set[str]:
    """The constants of the modules that name reasons; ``POSITION_REASONS`` and the like are sets of them."""
    modules = (rules, topic, readers)
    named = [value for module in modules for name, value in vars(module).items() if name.isupper()]
    words = {value for value in named if isinstance(value, str) and re.fullmatch("[a-z ]+", value)}
    return words - {"embed", "ookie"}  # parts of an element name and of a consent notice


def test_every_reason_has_a_rule() -> None:
    assert len(reasons()) >= 18
    assert reasons() <= RULES.keys()


def test_signs_tell_rules_apart_and_families_have_a_look() -> None:
    signs = [rule.sign for rule in RULES.values() if rule.family != "kept"]
    assert len({*signs}) == len(signs)
    look = read_asset("dedupcrawl.tools.inspect", "families.css")
    for rule in RULES.values():
        assert rule.family in FAMILIES
        assert f".f-{rule.family} {{ --hue:" in look


def test_reasons_of_a_foreign_reader_are_shown_as_they_are() -> None:
    assert rule_of("paywall", kept=False).sign == "OWN"
    assert rule_of("body", kept=True).family == "kept"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (block(rules.GUIDE_LINKS, link_length=97), "R = 0.97 is above R1 = 0.9."),
        (block(rules.GUIDE_LINKS, link_length=50), "its first words point to other stories."),
        (block(rules.LINK_RUN, link_length=100, run=5), "5 links in a row are more than S = 3."),
        (block(rules.MAIN_TEXT, kept=True, link_length=20, run=1), "R = 0.20 is below R2 = 0.3."),
        (block(rules.MAIN_TEXT, kept=True, link_length=60, run=2), "its longest run of links is 2, and S = 3"),
        (block(topic.TOPIC_ANCHORS, kept=True, link_length=90), "90% of it is anchor text, more than 70%."),
    ],
)
def test_figures_are_those_of_the_block(made: Block, said: str) -> None:
    assert said in explain_block(made, OPTIONS)


def test_plain_main_text_needs_no_figures() -> None:
    assert explain_block(block(rules.MAIN_TEXT, kept=True), OPTIONS) == "It is main text."


def test_the_words_that_cut_a_block_are_named() -> None:
    tree = html.fromstring(
        "<div class='has-sidebar'><div id='relatedPosts' class='x share'><p class='y'>text</p></div></div>"
    )
    around = [*tree.iter()][::-1]
    assert explain_block(block(rules.SIDE_CLASS), OPTIONS, around).endswith("Found there: related, share.")
    assert explain_block(block(rules.COMMENTS), OPTIONS, around) == RULES[rules.COMMENTS].meaning


def test_the_element_of_a_landmark_is_named() -> None:
    tree = html.fromstring("<footer><nav><p>text</p></nav></footer>")
    assert "<nav>" in explain_block(block(rules.LANDMARK), OPTIONS, [*tree.iter()][::-1])


@pytest.mark.parametrize("reason", [topic.TOPIC, topic.NOISE])
def test_the_words_in_common_with_the_topic_are_reported(reason: str) -> None:
    assert "It has 42% of the words of the smaller one in common; more than 30%" in explain_block(
        block(reason), OPTIONS, share=0.42
    )
