"""The short form of the fuzzer; ``python -m tests.hostile.fuzz`` is the long one."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.reading import check_page
from tests.hostile.shapes import BODIES, LABELS, MARKUP

SHORT = settings(max_examples=120, suppress_health_check=list(HealthCheck))


@SHORT
@given(BODIES, st.sampled_from(LABELS))
def test_any_body_is_read_or_refused(body: bytes, label: str) -> None:
    check_page(body, label)


@SHORT
@given(MARKUP)
def test_any_markup_is_read_or_refused(html: str) -> None:
    check_page(html)


@settings(SHORT, max_examples=25)
@given(MARKUP)
def test_any_markup_is_shown_by_the_tools(html: str) -> None:
    check_page(html, tools=True)
