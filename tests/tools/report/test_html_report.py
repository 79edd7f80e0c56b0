"""The page of a report, as shown in a browser.

What is too large for one page is made to fit, and the page says what is left out.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import pytest

from dedupcrawl.sites.site_counts import NoticeKind, SiteNotice
from dedupcrawl.tools.report.html_report import fit_payload, json_safe, page_columns, render_report
from tests.browser import DESKTOP, PHONE, browsing
from tests.tools.report.large_reports import large_report
from tests.tools.report.sample_reports import demo_report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from markupsafe import Markup

    from tests.browser import Tab


COLUMNS = ["Time", "Page", "Host", "Verdict", "Why", "Similarity", "Size"]
STATUS = "#page-table [role=status]"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render_report(demo_report()), "utf-8")
    return file


@pytest.fixture(scope="module")
def browser() -> Iterator[Tab]:
    with browsing() as tab:
        yield tab


@pytest.fixture
def tab(browser: Tab, page: Path) -> Iterator[Tab]:
    """Open the report; at the end, require that there were no errors and no requests."""
    browser.errors.clear()
    browser.requests.clear()
    visit(browser, page)
    yield browser
    assert (browser.errors, browser.requests) == ([], [])


def visit(tab: Tab, page: Path, at: str = "") -> None:
    """Open a report at an address within it, and wait until its lists are filled."""
    tab.page.goto("about:blank")
    tab.open(page.resolve().as_uri() + at)
    tab.page.wait_for_selector("[data-ready]", state="attached")


@contextmanager
def seen_as(tab: Tab, size: tuple[int, int], scheme: Literal["dark", "light"]) -> Iterator[None]:
    """Use another screen size and colour scheme for a while."""
    tab.page.emulate_media(color_scheme=scheme)
    tab.resize(size)
    yield
    tab.page.emulate_media(color_scheme="light")
    tab.resize(DESKTOP)


def shown_pair(tab: Tab, place: int) -> Any:
    """Go to a pair, and return the panel that shows it."""
    tab.page.evaluate("place => location.hash = `#pair-${place}`", place)
    tab.page.locator("dialog[open] .sides").wait_for()
    return tab.page.locator("dialog[open]")


def column(tab: Tab, side: int) -> str:
    """Return the text of one side of the panel, its lines joined."""
    cells = tab.page.locator(f"dialog .texts .row:not(.sidenames) > div:nth-child({side})").all_text_contents()
    return "".join(cells)


def test_of_pages_with_one_url_each_row_leads_to_its_own_verdict(tab: Tab, tmp_path: Path) -> None:
    report = demo_report()
    kept = next(each for each in report.pages if each.outcome == "kept")
    again = replace(kept, time=(kept.time or 0) + 60, outcome="dropped", status="duplicate", of=kept.url)
    again = replace(again, relation="unchanged", why=f"unchanged since {kept.url} was seen before", pair=None)
    (tmp_path / "report.html").write_text(render_report(replace(report, pages=(again, *report.pages))), "utf-8")
    visit(tab, tmp_path / "report.html")
    rows = tab.page.locator("table.pages tbody tr").filter(has_text="unchanged since")
    rows.locator("a.headline").click()
    outcome = tab.page.locator("dialog[open] .verdict .outcome")
    assert outcome.inner_text() == "dropped"
    tab.page.locator("dialog[open] a[href^='#page=']").first.click()
    outcome.filter(has_text="kept").wait_for()
    assert tab.page.evaluate("location.hash") == f"#page={quote(kept.url, safe='')}"


@pytest.mark.parametrize("relation", ["sibling", "refreshed"])
def test_siblings_and_refreshed_pages_are_found_by_relation(tab: Tab, tmp_path: Path, relation: str) -> None:
    """The row says why; the pair shows by what siblings differ, and the words of each title alone."""
    report = demo_report()
    differ = "names over one text that is about neither" if relation == "sibling" else ""
    place = next(at for at, pair in enumerate(report.pairs) if pair.relation == "identical")
    pair = replace(report.pairs[place], relation=relation, siblings=differ)
    pair = replace(pair, new_title="Plumber <b> | Shop", old_title="Carpenter wanted | Shop")
    pairs = (*report.pairs[:place], pair, *report.pairs[place + 1 :])
    row = next(row for row in report.pages if row.pair == place)
    why = f"a text like that of {pair.old}, about something else: they differ by {differ}".strip()
    changed = replace(row, relation=relation, status="unique", outcome="kept", why=why)
    pages = tuple(changed if each is row else each for each in report.pages)
    (tmp_path / "report.html").write_text(render_report(replace(report, pages=pages, pairs=pairs)), "utf-8")
    visit(tab, tmp_path / "report.html")

    tab.page.get_by_label("Verdict", exact=True).select_option(relation)
    rows = tab.page.locator("table.pages tbody tr")
    rows.nth(sum(each.relation == relation for each in pages)).wait_for(state="detached")
    shown = rows.filter(has_text=why)
    badge = shown.locator(f".badge.{relation}")
    assert badge.inner_text().strip() == relation
    other = tab.page.evaluate("getComputedStyle(document.body).color")
    assert badge.evaluate("badge => getComputedStyle(badge).color") != other
    assert {each.strip() for each in rows.locator(".badge").all_inner_texts()} == {relation}

    panel = shown_pair(tab, place)
    assert panel.locator(".verdict .badge").first.inner_text().strip() == relation
    card = panel.locator(".siblings")
    if relation == "refreshed":
        assert card.count() == 0
        return
    assert f"They differ by {differ}." in card.inner_text()
    assert card.locator("dd").all_inner_texts() == ["carpenter wanted", "plumber b"]


#: the cells of the table of near misses whose texts run over their sides
_OVERFULL = """() => [...document.querySelectorAll('#miss-list tbody td')]
    .filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.textContent)"""


def test_on_a_phone_nothing_of_a_near_miss_lies_upon_another(tab: Tab) -> None:
    with seen_as(tab, PHONE, "light"):
        assert tab.page.locator("#miss-list tbody tr").count()
        assert tab.page.evaluate(_OVERFULL) == []


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_everybody_can_read_it(tab: Tab, size: tuple[int, int], scheme: Literal["dark", "light"]) -> None:
    with seen_as(tab, size, scheme):
        tab.page.locator("figure summary").first.click()
        tab.page.locator(".cluster summary").first.click()
        tab.rest()
        meanings = tab.page.locator(".outcomes .meaning")  # also on a phone
        assert all(each.is_visible() for each in meanings.all())
        assert not tab.is_wider_than_screen()
        assert tab.grave() == []
        shown_pair(tab, demo_report().misses[0])
        tab.page.locator("dialog summary").first.click()
        assert not tab.is_wider_than_screen()
        assert tab.grave() == []
        tab.page.evaluate("url => location.hash = panel.toPage(url)", demo_report().pages[1].url)
        tab.page.get_by_role("heading", name="A page and its verdict").wait_for()
        assert tab.grave() == []


NOTICES = (
    SiteNotice(
        NoticeKind.ALIKE,
        "shop.example",
        30,
        ("https://www.shop.example/" + "a-very-long-name-of-a-vacancy-" * 12, "https://shop.example/?q=<b>&amp;"),
        repeats=6,
        siblings=23,
        crowded=22,
        sources=2,
        group=21,
        group_urls=("https://www.shop.example/a", "https://shop.example/?q=<b>", "javascript:alert(2)"),
    ),
    SiteNotice(
        NoticeKind.UNREAD, "app.example", 40, ("javascript:alert(1)", "https://app.example/"), unread={"empty": 38}
    ),
)


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_conspicuous_sites_come_first(
    tab: Tab, tmp_path: Path, size: tuple[int, int], scheme: Literal["dark", "light"]
) -> None:
    (tmp_path / "report.html").write_text(render_report(replace(demo_report(), sites=NOTICES)), "utf-8")
    visit(tab, tmp_path / "report.html")
    with seen_as(tab, size, scheme):
        box = tab.page.get_by_role("note", name="2 sites need a look")
        first, second = box.locator("> ul > li").all()
        assert first.inner_text().startswith(f"{NOTICES[0].text}.")
        assert NOTICES[0].advice in first.inner_text()
        links = first.get_by_role("link").all()
        summary = first.get_by_text("Siblings of one another: 3 of 21 pages")
        assert summary.is_visible()
        assert tuple(link.get_attribute("href") for link in links) == NOTICES[0].examples
        assert tuple(link.inner_text() for link in links) == NOTICES[0].examples
        assert [link.inner_text() for link in second.get_by_role("link").all()] == ["https://app.example/"]
        assert "javascript:alert(1) and" in second.inner_text()
        top = box.bounding_box()
        tiles = tab.page.locator(".tiles").bounding_box()
        assert top is not None
        assert tiles is not None
        assert top["y"] + top["height"] <= tiles["y"]
        assert top["y"] < size[1] / 2
        assert not tab.is_wider_than_screen()
        assert tab.grave() == []
        summary.click()
        group = first.get_by_role("listitem").all()
        assert tuple(each.inner_text() for each in group) == NOTICES[0].group_urls
        assert [each.get_by_role("link").count() for each in group] == [1, 1, 0]
        assert not tab.is_wider_than_screen()
        assert tab.grave() == []


def test_without_conspicuous_sites_there_is_no_notice(tab: Tab) -> None:
    assert tab.page.locator(".sites").count() == 0


def test_the_headline_is_that_of_the_report(tab: Tab) -> None:
    figures = demo_report().figures
    tiles = tab.page.locator(".tile").all_inner_texts()
    numbers = [tile.split("\n")[:2] for tile in tiles]
    assert numbers[:3] == [
        ["Pages", str(figures.pages)],
        ["Kept", str(figures.kept)],
        ["Dropped", str(figures.dropped)],
    ]
    rows = tab.page.locator(".outcomes tbody tr").all_inner_texts()
    told = {row.split("\t")[0].strip(): int(row.split("\t")[1]) for row in rows}
    assert told.pop("new") == figures.checked - sum(told.values())
    assert told == {**figures.duplicates, **figures.related}
    assert demo_report().notes[0] in tab.page.locator(".note").first.inner_text()


def test_pages_arrive_as_they_were(tab: Tab) -> None:
    rows = demo_report().pages
    for name in ("url", "title", "host", "bytes", "status", "outcome", "relation", "of", "detector", "pair"):
        assert tab.page.evaluate("name => data.pages[name]", name) == [getattr(row, name) for row in rows]
    assert tab.page.evaluate("data.pages.time") == pytest.approx([row.time for row in rows], abs=0.06)


def test_every_dropped_page_is_named_with_the_one_that_it_repeats(tab: Tab) -> None:
    dropped = {row.url: row.of for row in demo_report().pages if row.outcome == "dropped"}
    tab.page.get_by_label("Verdict", exact=True).select_option("dropped")
    rows = "[...document.querySelectorAll('.pages tbody tr')].map(one => [...one.cells].map(c => c.innerText))"
    found: dict[str, str] = {}
    while True:
        found |= {cells[1].split("\n")[-1]: cells[4] for cells in tab.page.evaluate(rows)}
        if tab.page.get_by_role("button", name="Next ›").is_disabled():
            break
        tab.page.get_by_role("button", name="Next ›").click()
    assert found.keys() == dropped.keys()
    assert all(dropped[url] in why for url, why in found.items())


def test_pages_are_searched_filtered_and_sorted(tab: Tab) -> None:
    rows = demo_report().pages
    tab.page.get_by_role("searchbox").fill("FERRY harbour.example")
    wanted = [row for row in rows if "ferry" in row.url and row.host == "harbour.example"]
    tab.page.wait_for_function(
        "([where, text]) => document.querySelector(where).textContent.includes(text)",
        arg=[STATUS, f"found among {len(rows)}"],
    )
    assert tab.page.locator("table.pages tbody tr").count() == len(wanted) > 0
    tab.page.get_by_role("searchbox").fill("")
    tab.page.wait_for_function(
        "([where, text]) => document.querySelector(where).textContent.endsWith(text)",
        arg=[STATUS, f"of {len(rows)} pages"],
    )
    tab.page.get_by_role("button", name="Size").click()
    sizes = tab.page.evaluate("[...document.querySelectorAll('.pages tbody td:last-child')].length")
    assert sizes == 50
    assert tab.page.locator("th[aria-sort=descending]").inner_text().strip() == "Size"
    largest = max(rows, key=lambda row: row.bytes)
    assert largest.url in tab.page.locator("table.pages tbody tr").first.inner_text()
    tab.page.get_by_role("button", name="Size").click()
    smallest = min(rows, key=lambda row: row.bytes)
    assert smallest.url in tab.page.locator("table.pages tbody tr").first.inner_text()


def test_every_column_sorts_both_ways(tab: Tab) -> None:
    first = "document.querySelector('.pages tbody tr').textContent"
    buttons = tab.page.locator("table.pages th button")
    assert [name.split()[0] for name in buttons.all_inner_texts()] == COLUMNS
    for button in buttons.all():
        button.click()
        one = tab.page.evaluate(first)
        button.click()
        assert tab.page.evaluate(first) != one


def test_a_pair_shows_both_texts_with_what_differs(tab: Tab, page: Path) -> None:
    report = demo_report()
    place = next(at for at, pair in enumerate(report.pairs) if 1 < len(pair.changes) < 12)
    pair = report.pairs[place]
    visit(tab, page, f"#pair-{place}")
    panel = tab.page.locator("dialog[open]")
    panel.get_by_role("button", name="Show full texts").click()
    for side, name in ((1, "old"), (2, "new")):
        text = "".join(getattr(change, name) for change in pair.changes)
        assert "".join(column(tab, side).split()) == "".join(text.split())
    marked = [change for change in pair.changes if not change.is_equal and (change.old + change.new).strip()]
    assert panel.locator("del").all_text_contents() == [change.old for change in marked if change.old]
    assert panel.locator("ins").all_text_contents() == [change.new for change in marked if change.new]


def test_equal_text_is_folded_and_unfolds(tab: Tab) -> None:
    report = demo_report()
    place = next(at for at, pair in enumerate(report.pairs) if pair.relation == "identical")
    text = report.pairs[place].changes[0].old
    panel = shown_pair(tab, place)
    assert len(column(tab, 1)) < len(text)
    while panel.locator("button.fold").count():
        panel.locator("button.fold").first.click()
    assert column(tab, 1).replace("\n", "") == text.replace("\n", "")


def test_the_evidence_of_the_detector_that_decided_comes_first(tab: Tab) -> None:
    report = demo_report()
    place = next(at for at, pair in enumerate(report.pairs) if pair.decided == "minhash")
    assessment = next(each for each in report.pairs[place].assessments if each.detector == "minhash")
    agreeing = assessment.evidence[0].agreeing
    first = shown_pair(tab, place).locator(".assessment").first
    assert "decided" in first.inner_text()
    assert first.get_by_role("heading").inner_text().startswith("minhash")
    assert f"{agreeing.count('1')} of {len(agreeing)} slots agree" in first.inner_text()
    assert first.locator(".slots .agree").get_attribute("d").count("M") == agreeing.count("1")
    assert first.locator(".thresholds li").count() == len(assessment.thresholds) + len(assessment.part_thresholds)
    codes = tab.page.locator(".assessment", has_text="feature_code").locator(".chips.shared li")
    code = next(each for each in report.pairs[place].assessments if each.detector == "feature_code")
    assert codes.all_inner_texts() == [each for piece in code.evidence for each in piece.shared]


def test_near_misses_are_listed_nearest_first_and_open(tab: Tab) -> None:
    report = demo_report()
    assert tab.page.locator("#miss-list tbody tr").count() == 20
    tab.page.locator("#miss-list").get_by_role("button", name="Show more").click()
    assert tab.page.locator("#miss-list tbody tr").count() == len(report.misses)
    tab.page.locator("#miss-list").get_by_role("link", name="Compare").first.click()
    heading = tab.page.get_by_role("heading", name=f"Near miss 1 of {len(report.misses)}")
    heading.wait_for()
    assert report.pairs[report.misses[0]].new in tab.page.locator("dialog[open]").inner_text()


def test_a_cluster_unfolds_to_its_pages(tab: Tab, page: Path) -> None:
    report = demo_report()
    last = report.clusters[-1]
    visit(tab, page, f"#cluster={last.name}")
    cluster = tab.page.locator(".cluster[open]")
    assert f"{last.size} pages" in cluster.locator("summary").inner_text()
    tab.rest()
    rows = cluster.locator("tbody tr").all_inner_texts()
    assert len(rows) == last.size
    assert all(report.pages[at].host in row for at, row in zip(last.pages, rows, strict=True))


def test_a_page_has_an_address(tab: Tab, page: Path) -> None:
    row = next(row for row in demo_report().pages if row.outcome == "dropped")
    visit(tab, page, f"#page={quote(row.url, safe='')}")
    panel = tab.page.locator("dialog[open]")
    assert row.url in panel.inner_text()
    assert row.of in panel.inner_text()
    panel.get_by_role("link", name="Compare both texts").click()
    tab.page.locator("dialog[open] .sides").wait_for()
    assert tab.page.evaluate("location.hash") == f"#pair-{row.pair}"


def test_an_address_that_leads_nowhere_does_no_harm(tab: Tab, page: Path) -> None:
    for at in ("#pair-99999", "#page=%E0%A4%A", "#cluster=none", "#nothing", "#pair-x"):
        visit(tab, page, at)
        assert tab.page.locator("dialog[open]").count() == 0


def test_it_is_used_without_a_mouse(tab: Tab) -> None:
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    compare = tab.page.locator("#miss-list").get_by_role("link", name="Compare").first
    compare.focus()
    tab.page.keyboard.press("Enter")
    tab.page.locator("dialog[open] .sides").wait_for()
    assert tab.page.evaluate("document.activeElement.id") == "panel-title"
    first = tab.page.evaluate("location.hash")
    tab.page.keyboard.press("ArrowRight")
    tab.page.wait_for_function("hash => location.hash !== hash", arg=first)
    tab.page.keyboard.press("Escape")
    # The dialog is closed by the handler of the changed hash, which runs later.
    tab.page.wait_for_function("() => location.hash === '' && !document.querySelector('dialog[open]')")
    assert compare.evaluate("element => element === document.activeElement")


def test_a_corpus_without_times_shows_none(tab: Tab, tmp_path: Path) -> None:
    report = demo_report()
    file = tmp_path / "report.html"
    timeless = [replace(row, time=None) for row in report.pages]
    clusters = [replace(cluster, first=None, last=None) for cluster in report.clusters]
    bare = replace(report, pages=tuple(timeless), clusters=tuple(clusters), slices=(), began=None, ended=None)
    file.write_text(render_report(bare), "utf-8")
    visit(tab, file)
    assert not tab.page.locator("table.pages th", has_text="Time").is_visible()
    tab.page.locator(".cluster summary").first.click()
    tab.rest()  # a cluster is drawn after it has opened
    assert tab.page.locator(".cluster[open] tbody tr").count() == report.clusters[0].size
    assert "1970" not in tab.page.locator("main").inner_text()


def test_figures_charts_and_notes_need_no_scripts(tab: Tab, page: Path) -> None:
    assert tab.page.context.browser is not None
    bare = tab.page.context.browser.new_context(java_script_enabled=False).new_page()
    bare.goto(page.resolve().as_uri())
    seen = bare.locator("main").inner_text()
    assert "Scripts are off" in seen
    assert demo_report().notes[0] in seen
    assert bare.locator("#time svg.chart rect").count() > 0
    assert bare.locator("#similarity svg.chart").count() == len(demo_report().histograms)
    assert not bare.locator("#clusters").is_visible()
    bare.context.close()


def test_fifty_thousand_pages_are_one_small_page(tab: Tab, tmp_path: Path) -> None:
    report = large_report(50_000)
    html = render_report(report)
    assert len(html.encode()) < 5_000_000
    file = tmp_path / "report.html"
    file.write_text(html, "utf-8")
    visit(tab, file)
    assert tab.page.evaluate("data.count") == 50_000
    last = report.pages[-1]
    tab.page.evaluate("url => location.hash = panel.toPage(url)", last.url)
    tab.page.locator("dialog[open]").wait_for()
    assert last.url in tab.page.locator("dialog[open]").inner_text()
    assert tab.page.locator("table.pages tbody tr").count() == 50


def unpacked(element: Markup) -> Any:
    inside = re.fullmatch(r"<script [^>]*>(.*)</script>", str(element))
    assert inside is not None
    return json.loads(zlib.decompress(base64.b64decode(inside[1])))


def test_what_fits_is_whole_and_needs_no_note() -> None:
    report = demo_report()
    fitted = fit_payload(report, 10**7)
    pages, pairs = map(unpacked, fitted.data)
    assert fitted.notes == ()
    assert pages["pages"]["count"] == len(report.pages)
    assert all(pair["changes"] for pair in pairs["pairs"])


@pytest.mark.parametrize("most", [100_000, 300_000])
def test_less_room_takes_texts_and_rows_and_states_how_many(most: int) -> None:
    report = large_report(3_000, 200)
    fitted = fit_payload(report, most)
    assert sum(map(len, fitted.data)) <= most
    pages, pairs = map(unpacked, fitted.data)
    rows, texts = pages["pages"]["count"], sum(bool(pair["changes"]) for pair in pairs["pairs"])
    whole = f"{texts} of 200 pairs are shown with their texts and all evidence"
    assert any(note.startswith(whole) for note in fitted.notes) == (texts < 200)
    assert any(note.startswith(f"{rows:,} of 3,000 noted pages") for note in fitted.notes) == (rows < 3_000)
    assert len(pairs["pairs"]) == 200
    assert all(place < rows for cluster in pages["clusters"] for place in cluster["pages"])
    assert [cluster["size"] for cluster in pages["clusters"]] == [each.size for each in report.clusters]


def test_near_misses_keep_their_texts_longest() -> None:
    report = large_report(3_000, 200)
    _, pairs = map(unpacked, fit_payload(report, 400_000).data)
    kept = [place for place, pair in enumerate(pairs["pairs"]) if pair["changes"]]
    assert 0 < len(kept) < 200
    assert set(report.misses) <= set(kept) or set(kept) <= set(report.misses)


def test_the_page_names_what_is_left_out() -> None:
    html = render_report(large_report(3_000, 200), most_bytes=400_000)
    assert len(html.encode()) <= 400_000
    assert "noted pages are in the table: more would make this file too large." in html


def test_pages_without_times_and_an_empty_report_are_shown() -> None:
    report = demo_report()
    bare = tuple(replace(page, time=None) for page in report.pages)
    assert page_columns(bare)["time"] == [None] * len(bare)
    empty = replace(report, slices=(), hosts=(), flows=(), pages=(), clusters=(), pairs=(), misses=())
    assert 'id="time"' not in render_report(empty)


def test_evidence_is_made_plain() -> None:
    odd = {"big": 2**60, "bad": float("nan"), 3: [1.23456789, True, None, {1}], "deep": object()}
    made = json_safe(odd)
    assert isinstance(made, dict)
    assert made["big"] == str(2**60)
    assert made["bad"] == "nan"
    assert made["3"] == [1.234568, True, None, [1]]
    json.dumps(made, allow_nan=False)
    nested: object = "x"
    for _ in range(5_000):
        nested = [nested]
    json.dumps(json_safe(nested))
