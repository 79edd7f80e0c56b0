from __future__ import annotations

import pytest
from scrapy.http import HtmlResponse

from dedupcrawl.page import PageError, read_page, read_response
from dedupcrawl.page.attributes import MAX_ATTRIBUTES, bounded_markup, has_long_tag, sample_step
from dedupcrawl.page.document import parse
from dedupcrawl.utils.time_limit import TooSlowError, time_limit
from tests.cost import least_cpu_seconds, takes_less
from tests.page.samples import PARAGRAPH, SECOND

MANY = 12_000  #: enough that the tag is longer than three samples
FLOODS = {
    "values": "<p " + " ".join(f"a{n}=1" for n in range(MANY)) + ">",
    "no values": "<p " + " ".join(f"a{n}" for n in range(MANY)) + ">",
    "slashes": "<p" + "".join(f"/a{n}" for n in range(MANY)) + ">",
    "quoted signs": "<p " + "".join(f'a{n}="<>"' for n in range(MANY)) + ">",
    "single quotes": "<p " + "".join(f"a{n} = '>'" for n in range(MANY)) + ">",
    "quotes in names": "<p \" ' =" + " ".join(f'a{n}"' for n in range(MANY)) + ">",
    "an open quote before": f"<i title='<b x=\"'>{PARAGRAPH}</i><p " + " ".join(f"a{n}" for n in range(MANY)) + ">",
    "a comment before": "<!-- <b x=' --><p " + " ".join(f"a{n}" for n in range(MANY)) + ">",
    "a script before": "<script>'<b x=\"'</script><p " + " ".join(f"a{n}" for n in range(MANY)) + ">",
    "in what looks like a script": "<i title='<script>'><p " + " ".join(f"a{n}" for n in range(MANY * 2)) + ">",
    "namespaces": "<p " + " ".join(f"xmlns:a{n}=u" for n in range(MANY)) + ">",
    "never closed": "<p " + " ".join(f"a{n}" for n in range(MANY)),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_tag_with_too_many_attributes_is_refused_before_it_is_parsed(flood: str) -> None:
    html = f"<p>{PARAGRAPH}</p>{flood}{SECOND}"
    if flood.startswith("<i title='<script>'>"):  # parsed without a tag
        assert PARAGRAPH in read_page(html).text
        assert not has_long_tag(bounded_markup(html))
        return
    for read in (read_page, lambda page: read_response(HtmlResponse("http://a.example", body=page.encode()))):
        with pytest.raises(PageError, match=f"more than {MAX_ATTRIBUTES} attributes") as caught:
            read(html)
        assert caught.value.reason == "too-many-attributes"


def test_a_tag_with_the_highest_number_of_attributes_is_read() -> None:
    tag = "<p " + " ".join(f'a{n}=">"' for n in range(MAX_ATTRIBUTES)) + ">"
    assert read_page(f"{tag}{PARAGRAPH}</p><p>{SECOND}").text == f"{PARAGRAPH}\n{SECOND}"


def test_a_script_that_looks_like_a_long_tag_does_not_matter() -> None:
    script = "<script>for (i=0; i<n; i++) { " + "x = x + 1; " * 6000 + "}</script>"
    date = '<script type="application/ld+json">{"datePublished": "2024-01-02", "a<b": "' + "c " * 24_000 + '"}</script>'
    html = f"<body>{script}{date}<p>{PARAGRAPH}</p><p>{SECOND}</p>"
    assert has_long_tag(html)
    response = HtmlResponse("http://a.example", body=html.encode())
    for page in (read_page(html), read_response(response)):
        assert (page.text, page.published) == (f"{PARAGRAPH}\n{SECOND}", "2024-01-02")


def test_ordinary_pages_are_parsed_as_they_are() -> None:
    html = f"<p class='a' id=b>{PARAGRAPH}</p><script>if (a<b) c</script>"
    assert bounded_markup(html) is html


@pytest.mark.parametrize("step", [2048, 4096, 8192, 16384])
def test_attributes_cannot_be_hidden_between_samples_at_regular_places(step: int) -> None:
    """Wherever a sample at a multiple of the step would be, there is a value full of ``>``."""
    tag = "<p "
    for place in range(step, 320_000, step):
        attributes = "".join(f"a{len(tag) + n:x} " for n in range(0, step - 100, 8))
        tag += attributes[: place - len(tag) - 40] + f' b{place}="{">" * 60}" '
    assert has_long_tag(f"{tag}>{PARAGRAPH}")


@pytest.mark.parametrize("size", [400_000, 1_000_000, 3_000_000, 9_000_000])
def test_the_larger_a_page_the_shorter_the_tags_that_are_found(size: int) -> None:
    tag = "<p " + " ".join(f'a{n}=">"' for n in range(sample_step(size) // 2)) + ">"
    html = f"<p>{PARAGRAPH}</p>" * (size // len(PARAGRAPH)) + tag
    assert has_long_tag(html)


@pytest.mark.parametrize("size", [30_000, 100_000, 500_000])
def test_sampling_costs_little_of_the_time_of_parsing(size: int) -> None:
    html = f"<div class='a b' id=c><a href='/x'>{PARAGRAPH}</a><p>{SECOND}</p></div>" * (size // 300)
    assert takes_less(lambda: has_long_tag(html), 0.05 * least_cpu_seconds(lambda: parse(html), 5))


@pytest.mark.parametrize(
    ("html", "accepted"),
    [
        ("<script " * 80_000, False),
        ("<script>" + "<a " * 500_000, True),
        ("<script>" + "for(i=0;i<n;i++){a[i]<b&&c<d}\n" * 30_000 + "</script>", True),
        ("<p " + 'a1f=">>>>>>>>>" ' * 60_000 + ">", False),
    ],
    ids=["scripts that are not closed", "tags in a script", "loops in a script", "values full of >"],
)
def test_the_search_takes_linear_time(html: str, accepted: bool) -> None:
    def search() -> bool:
        try:
            bounded_markup(html)
        except PageError:
            return False
        return True

    assert search() == accepted
    assert takes_less(search, 1.0)


def test_the_search_ends_with_the_time_limit() -> None:
    """As many attributes as may be follow each ``<``. The script before starts the search."""
    script = "<script>for (i=0; i<n; i++) { " + "x = x + 1; " * 6000 + "}</script>"
    html = script + ("<a " * 250 + ">") * 12_000
    assert has_long_tag(script)
    with time_limit(0.2), pytest.raises(TooSlowError):
        bounded_markup(html)
