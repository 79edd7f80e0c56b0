"""Class pages of manuals with a brief description and lists of linked members are articles, and told apart."""

from __future__ import annotations

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.page import Kind, read_page
from tests.page.manuals import TOOLS, WHAT
from tests.page.samples import PARAGRAPH, SECOND

BRIEF = ("", "A wheel", "The state of a mill", WHAT)


@pytest.mark.parametrize("what", BRIEF)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_class_with_many_linked_members_is_an_article(tool: str, what: str) -> None:
    page = read_page(TOOLS[tool]("Hopper", what, 60))
    assert page.kind is Kind.ARTICLE
    assert len(page.text) > 900


@pytest.mark.parametrize("what", ["", "A {}", "The state of a {}", "Holds the state of a {} while it grinds."])
@pytest.mark.parametrize("members", [3, 14, 60])
@pytest.mark.parametrize("tool", TOOLS)
def test_no_class_is_lost(tool: str, members: int, what: str) -> None:
    with Deduplicator() as dedup:
        for name in ("Hopper", "Sluice", "Wheel", "SackCounter"):
            html = TOOLS[tool](name, what.format(name.lower()), members)
            assert dedup.add(html=html, url=f"https://mill.example/{name}.html").keep


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("mill: mill::WheelReader Class Reference", "mill::WheelReader Class Reference"),
        ("mill::WheelReader Class Reference", "Detailed Description"),  # it may be the name of the site
        ("Detailed Description of mill::WheelReader Class Reference", "Detailed Description"),
        ("mill::WheelReader Class References", "Detailed Description"),
        ("", "Detailed Description"),
    ],
)
def test_without_h1_the_last_line_that_is_part_of_the_title_names_the_page(title: str, heading: str) -> None:
    """The heading of a section is the same on all pages, and its words stand in many texts."""
    name = "<div class=title>mill::WheelReader Class Reference</div>"
    text = f"<h2>Detailed Description</h2><p>{PARAGRAPH}</p><p>{SECOND}</p>"
    assert read_page(f"<title>{title}</title><body>{name}<div>{text}</div>").heading == heading
