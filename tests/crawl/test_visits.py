"""Items find their responses, and nothing is kept for longer than needed."""

from __future__ import annotations

import gc
from weakref import ref

from scrapy.http import HtmlResponse

from dedupcrawl.crawl.visits import CURRENT, MOST_LINKS, Visits


def response(number: int = 0) -> HtmlResponse:
    return HtmlResponse(f"https://a.example/{number}", body=b"x")


def test_items_are_told_apart_by_identity() -> None:
    visits, sources = Visits(), [response(1), response(2)]
    items = [{"same": 1}, {"same": 1}]
    for item, source in zip(items, sources, strict=True):
        visits.yielded(item, source)

    assert visits.take(items[1]) is sources[1]
    assert visits.take(items[0]) is sources[0]
    assert visits.take(items[0]) is None
    assert visits.take({"same": 1}) is None


def test_a_visit_is_over_when_the_last_item_was_taken() -> None:
    visits, source = Visits(), response()
    item = {"a": 1}
    visits.yielded(item, source)
    visit = visits.of(source)
    visit.exhausted = True

    assert not visit.is_over
    visits.lose(item)
    assert visit.is_over
    assert visits.lose(item) is None


def test_an_object_yielded_several_times_has_a_source_each_time() -> None:
    visits, sources, item = Visits(), [response(1), response(2)], {"a": 1}
    for source in (*sources, sources[1]):
        visits.yielded(item, source)
    assert [visits.take(item) for _ in range(4)] == [*sources, sources[1], None]
    assert [visits.of(source).awaited for source in sources] == [0, 0]


def test_a_context_of_another_response_gives_no_source() -> None:
    visits, source = Visits(may_be_replaced=True), response()
    token = CURRENT.set(ref(source))
    try:
        assert visits.take({"from": "an errback"}) is None
        visits.yielded({"replaced": "later"}, source)
        assert visits.take({"the": "replacement"}) is source
        assert visits.take({"from": "an errback"}) is None

        alone = Visits()
        alone.yielded({"not": "taken up yet"}, source)
        assert alone.take({"from": "an errback"}) is None
    finally:
        CURRENT.reset(token)


def test_what_is_remembered_is_bounded_and_goes_with_the_response() -> None:
    visits, source = Visits(), response()
    for number in range(MOST_LINKS + 5):
        visits.yielded([number], source)
    assert visits.of(source).awaited == MOST_LINKS

    fresh = Visits()
    gone = response()
    fresh.of(gone)
    watcher = ref(gone)
    del gone
    gc.collect()
    assert watcher() is None
