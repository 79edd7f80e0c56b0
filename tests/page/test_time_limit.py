from __future__ import annotations

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.decision import Status
from dedupcrawl.page.time_limit import TooSlowError, check_time, time_limit
from tests.cost import least_cpu_seconds
from tests.texts import ENGLISH

HTML = f"<title>Ice</title><p>{ENGLISH}</p>"


def test_without_a_limit_there_is_always_time() -> None:
    check_time()
    with time_limit(None):
        check_time()


def test_the_earliest_of_nested_limits_counts() -> None:
    with time_limit(60):
        check_time()
        with time_limit(0), pytest.raises(TooSlowError):
            spin()
        check_time()
    with time_limit(0), time_limit(60), pytest.raises(TooSlowError):
        spin()
    check_time()


def test_a_page_beyond_the_limit_is_unchecked_and_not_filed() -> None:
    with Deduplicator(page_timeout=1e-9) as dedup:
        verdicts = [
            dedup.check(html=HTML, url="https://a.example/1"),
            dedup.add(text=ENGLISH, url="https://a.example/1"),
            dedup.claim(html=HTML, url="https://a.example/1").verdict,
            dedup.read(html=HTML, url="https://a.example/1"),
        ]
        for verdict in verdicts:
            assert (verdict.status, verdict.reason, verdict.keep) == (Status.UNCHECKED, "too-slow", True)  # type: ignore[union-attr]
        assert dedup.info().pages == 0


@pytest.mark.parametrize(
    "marks", ["\u0301\u0316", "\u0301", "\u0344\u0316", "\u0301\u064e\u0316\u0e38\u0f71"], ids=ascii
)
def test_ten_megabytes_of_combining_marks_are_judged(marks: str) -> None:
    """Sorting the marks by insertion would take hours, and all of them in linear time a second."""
    html = f"<p>{ENGLISH}</p><p>a{marks * (9_960_000 // len(marks.encode()))}</p>".encode()
    with Deduplicator(page_timeout=600.0) as dedup:
        verdicts = []
        seconds = least_cpu_seconds(lambda: verdicts.append(dedup.check(html=html, url="https://a.example/1")), 2)
    assert {verdict.status for verdict in verdicts} == {Status.UNIQUE}
    assert seconds < 60


def test_an_ordinary_page_has_the_same_verdict_with_a_limit() -> None:
    verdicts = []
    for page_timeout in (None, 60.0):
        with Deduplicator(page_timeout=page_timeout) as dedup:
            dedup.add(html=HTML, url="https://a.example/1")
            verdicts.append(dedup.add(html=HTML, url="https://b.example/2").to_dict())
    assert verdicts[0] == verdicts[1]
    assert verdicts[0]["of"] == "https://a.example/1"


def test_the_time_of_reading_is_spent() -> None:
    with Deduplicator(page_timeout=60.0) as dedup:
        page = dedup.read(text=ENGLISH)
        assert dedup.fingerprint(page, spent=61.0).reason == "too-slow"  # type: ignore[union-attr, arg-type]


def spin() -> None:
    """Use some processor time, and check the limit."""
    while True:
        check_time()
