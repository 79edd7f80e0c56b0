# ruff: noqa: E501 - texts of other languages are one line each
"""Pages that are no articles, or whose markup hides that they are."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl import Deduplicator
from dedupcrawl.decision import Status
from dedupcrawl.page import Kind, Page, read_page
from dedupcrawl.page.block_model import MODEL_FILE, ForestTables, best_choice, expected_f1, load_model
from dedupcrawl.page.document import parse
from dedupcrawl.page.edges import trim_choice
from dedupcrawl.page.embedded_data import embedded_text
from dedupcrawl.page.notices import is_consent_text
from dedupcrawl.page.rules import CONSENT
from dedupcrawl.stores.base import Record

STORY = (
    "The council of {0} met on Monday to talk about the old bridge over the river, which {0} has closed since March.",
    "Engineers from {0} found cracks in two of its arches, and asked for a full repair before the winter begins.",
    "Shops on the far bank of {0} lost half of their customers, their owners said, and some may have to close soon.",
    "The mayor of {0} promised a ferry for the summer, paid by the county, until the bridge is open to all again.",
)
ONETRUST = (
    "We and our partners store and/or access information on a device, such as cookies, and process personal data, such "
    "as unique identifiers and standard information sent by a device for personalised ads and content, ad and content "
    "measurement, and audience insights. With your permission we and our partners may use precise geolocation data. You "
    "may click to consent to our and our partners' processing as described above. You can change your preferences or "
    "withdraw your consent at any time by returning to this website and clicking the privacy button at the bottom."
)
CONSENT_TEXTS = {
    "en": ONETRUST,
    "de": "Wir und unsere Partner verwenden Cookies, um Informationen auf Ihrem Gerät zu speichern und personenbezogene "
    "Daten für Werbung und Messung zu verarbeiten. Sie können Ihre Einwilligung jederzeit in den Einstellungen ändern.",
    "fr": "Nous et nos partenaires utilisons des cookies pour stocker des informations sur votre appareil et traiter des "
    "données personnelles pour la publicité et la mesure d'audience. Vous pouvez accepter ou refuser votre consentement.",
    "es": "Nosotros y nuestros socios utilizamos cookies para almacenar información en su dispositivo y tratar datos "
    "personales con fines de publicidad y medición. Usted puede aceptar o rechazar su consentimiento.",
    "it": "Noi e i nostri partner utilizziamo cookie per archiviare informazioni sul tuo dispositivo e trattare dati "
    "personali per pubblicità e misurazione. Puoi accettare o rifiutare il consenso nelle preferenze.",
    "pl": "My i nasi partnerzy używamy plików cookie, aby przechowywać informacje na urządzeniu i przetwarzać dane osobowe "
    "w celu wyświetlania reklam. Możesz zmienić ustawienia lub wycofać zgodę.",
    "nl": "Wij en onze partners gebruiken cookies om informatie op uw apparaat op te slaan en persoonsgegevens te verwerken "
    "voor advertenties. U kunt uw toestemming geven of weigeren via de instellingen.",
    "fi": "Me ja kumppanimme käytämme evästeitä tallentaaksemme tietoja laitteelle ja käsitelläksemme henkilötietoja "
    "mainontaa varten. Voit muuttaa asetuksia tai perua suostumuksen.",
    "zh": "我们和我们的合作伙伴使用Cookie在您的设备上存储信息，并处理个人数据，用于广告和分析。您可以随时更改设置或撤回同意。",
    "ja": "当サイトではクッキーを使用し、お客様の端末に情報を保存して、広告や分析のために個人データを利用します。"
    "お客様はいつでも設定で同意を取り消すことができます。",
}


def story(name: str) -> list[str]:
    return [line.format(name) for line in STORY]


def paragraphs(lines: list[str], around: str = "{}") -> str:
    return "".join(around.format(f"<p>{line}</p>") for line in lines)


@pytest.mark.parametrize(
    "around",
    [
        '<div class="elementor-widget elementor-widget-text"><div class="elementor-widget-container">{}</div></div>',
        '<div class="overflow-hidden">{}</div>',
        '<div class="hidden lg:block lg:hidden:x"><div class="lg:hidden">{}</div></div>'.replace(
            "hidden lg:block ", ""
        ),
        '<section class="widget">{}</section>',
    ],
)
def test_a_page_builders_classes_do_not_hide_its_text(around: str) -> None:
    pages = [f"<h1>News</h1><div>{paragraphs(story(name), around)}</div>" for name in ("Alton", "Welby")]
    assert [read_page(page).text.split("\n")[-4:] for page in pages] == [story("Alton"), story("Welby")]
    dedup = Deduplicator()
    assert [dedup.add(html=page, url=f"https://a.example/{n}").keep for n, page in enumerate(pages)] == [True, True]


def test_a_small_side_part_is_still_removed() -> None:
    html = f"<div>{paragraphs(story('Alton'))}</div><div class=widget><p>Our paper is printed in {'fine ' * 9}ink.</p></div>"
    assert read_page(html).text.split("\n") == story("Alton")


@pytest.mark.parametrize("tag", ["button", "noscript", "object"])
def test_text_in_an_element_that_is_else_ignored_is_read_where_there_is_no_other(tag: str) -> None:
    html = f"<nav><a href=/>Home</a></nav><{tag}><div>{paragraphs(story('Alton'))}</div></{tag}>"
    assert read_page(html).text.split("\n") == story("Alton")


def test_a_notice_about_scripts_is_no_text() -> None:
    notice = "You need to enable JavaScript to run this app. " * 6
    page = read_page(f"<title>Shop</title><div id=root></div><noscript><p>{notice}</p></noscript>")
    assert (page.text, page.kind) == ("", Kind.EMPTY)


@pytest.mark.parametrize("language", CONSENT_TEXTS)
def test_consent_texts_are_recognised_in_many_languages(language: str) -> None:
    assert is_consent_text(CONSENT_TEXTS[language])
    page = read_page(f"<p>{CONSENT_TEXTS[language]}</p><div><p>{' '.join(STORY)}</p></div>")
    assert page.blocks[0].reason == CONSENT


@pytest.mark.parametrize(
    "text",
    [
        "Google will phase out third-party cookies in its Chrome browser, a move that advertisers have criticised.",
        "Bake the cookies for ten minutes, until their edges are golden, and let them cool on the tray before you eat.",
        "The regulator fined the company because its partners stored cookies on devices of visitors without consent.",
        "Wir backen heute Kekse mit der ganzen Familie, und Sie können das Rezept in den Einstellungen speichern.",
    ],
)
def test_a_text_about_cookies_is_none(text: str) -> None:
    assert not is_consent_text(text)


def test_short_stories_under_a_consent_text_are_read() -> None:
    html = "<div class=box><p>{}</p></div><div><h1>News</h1><p>{}</p></div>"
    pages = [html.format(ONETRUST * 4, line) for line in STORY]
    dedup = Deduplicator()
    for place, page in enumerate(pages):
        found = read_page(page)
        assert found.text.split("\n")[-1] == STORY[place]
        assert [block.reason for block in found.blocks if block.text.startswith("We and")] == [CONSENT]
        assert dedup.add(html=page, url=f"https://a.example/{place}").keep


def test_all_texts_of_a_consent_dialog_are_left_out() -> None:
    purposes = "".join(f"<h4>Purpose {n}</h4><p>{text}</p>" for n, text in enumerate(story("Alton") * 3))
    dialog = f"<p>{ONETRUST}</p><p>{ONETRUST[::-1]}{ONETRUST}</p>{purposes}"
    html = "<body class='cookie-consent'><div><h1>Stews</h1><p>{}</p></div><div id='{}'><div>{}</div></div></body>"
    introduction = "Stews for every evening of the week, from the shortest to the longest, with and without meat."
    page = read_page(html.format(introduction, "acme-consent-sdk", dialog))
    assert page.text.split("\n")[-1] == introduction
    assert {block.reason for block in page.blocks if block.text.startswith("Purpose")} == {CONSENT}
    other = read_page(html.format(introduction, "story", dialog))
    assert CONSENT not in {block.reason for block in other.blocks if block.text.startswith("Purpose")}


def test_a_page_with_nothing_but_a_consent_text_is_unchecked() -> None:
    html = f"<title>Apple pie</title><div><h2>We value your privacy</h2><p>{ONETRUST}</p></div>"
    verdict = Deduplicator().add(html=html, url="https://a.example/")
    assert (verdict.status, verdict.reason) == (Status.UNCHECKED, "consent")


def test_a_list_of_links_above_a_footer_about_cookies_is_an_index() -> None:
    links = "".join(f"<h3><a href=/{place}>Road closure</a></h3>" for place in range(6))
    line = "Home © 2024 The Courier Ltd. By using this site you accept our use of cookies, which are few and stale."
    page = read_page(f"<p>Printed daily except when the press sticks</p>{links}<footer><p>{line}</p></footer>")
    assert [block.reason for block in page.blocks][-1] == CONSENT
    assert page.kind == Kind.INDEX


def test_goods_with_the_same_terms_differ_by_their_facts() -> None:
    terms = "Viewings by appointment only. All details without guarantee. " * 4
    facts = "<h1>Flat {0}</h1><dl><dt>Rooms</dt><dd>{0}</dd><dt>Rent</dt><dd>{1} euros</dd></dl>"
    pages = [f"<div>{facts.format(n, 500 + 73 * n)}</div><div><p>{terms}</p></div>" for n in (2, 3)]
    compared = [f"{page.text}\n{page.rest}" for page in map(read_page, pages)]
    assert "573" not in compared[0]
    assert all(fact in compared[0] for fact in ("Flat 2", "646 euros"))
    assert compared[0] != compared[1]


def test_an_article_has_no_other_text_beside_it() -> None:
    lines = story("Alton") + story("Welby")
    others = "".join(f"<div><p>{line}</p><a href=/>x</a></div>" for line in lines[:2])
    assert read_page(f"<div>{paragraphs(lines)}</div>{others}").rest == ""


def test_the_text_of_a_page_that_scripts_fill_is_read_from_its_data() -> None:
    body = " ".join(story("Alton"))
    linked = json.dumps({"@graph": [{"@type": "Article", "headline": "Bridge", "articleBody": body}]})
    state = json.dumps({"props": {"pageProps": {"id": "a" * 90, "post": {"html": f"<p>{body}</p><p>Ends.</p>"}}}})
    for script in (
        f'<script type="application/ld+json">{linked}</script>',
        f'<script id="__NEXT_DATA__" type="application/json">{state}</script>',
    ):
        page = read_page(f"<title>Bridge</title><div id=root></div>{script}")
        assert body in page.text
        assert page.kind is Kind.ARTICLE
        assert "aaaa" not in page.text


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_data_of_a_page_is_read_without_error(data: object) -> None:
    script = json.dumps(data).replace("<", "\\u003c")
    assert isinstance(embedded_text(parse(f'<script type="application/ld+json">{script}</script><p>x')).text, str)


def listing(title: str, count: int = 90) -> str:
    links = "".join(f'<li><a href="/{n}">{title} number {n} of the list of goods</a></li>' for n in range(count))
    return f"<title>{title}</title><h1>{title}</h1><ul>{links}</ul>"


def test_equal_lists_of_one_host_are_duplicates() -> None:
    dedup = Deduplicator()
    urls = ("https://a.example/list?s=1", "https://a.example/list?s=2", "https://b.example/list")
    verdicts = [dedup.add(html=listing("Saws"), url=url) for url in urls]
    assert [(verdict.status, verdict.reason, verdict.keep) for verdict in verdicts] == [
        (Status.UNCHECKED, "index", True),
        (Status.DUPLICATE, None, False),
        (Status.UNCHECKED, "index", True),
    ]
    assert verdicts[1].of == urls[0]
    assert dedup.add(html=listing("Axes"), url="https://a.example/axes").reason == "index"
    assert dedup.add(html=listing("Nails", 9), url="https://a.example/nails").reason == "index"


def test_equal_lists_are_found_by_the_batch_of_pages_too() -> None:
    dedup = Deduplicator()
    pages = [read_page(listing("Saws"), f"https://a.example/list?s={n}") for n in range(2)]
    records = dedup.fingerprint_many(pages)
    alone = dedup.fingerprint(pages[0])
    assert isinstance(alone, Record)
    assert len(alone.keys) == 2
    assert [record.keys[1:] for record in records if isinstance(record, Record)] == [alone.keys[1:]] * 2


def test_shells_with_the_same_navigation_are_not_compared() -> None:
    links = "".join(f'<a href="/{n}">Department number {n} of our shop for tools</a> ' for n in range(90))
    html = f"<title>Shop</title><nav>{links}</nav><div id=root></div>"
    dedup = Deduplicator()
    reasons = {dedup.add(html=html, url=f"https://a.example/{n}").reason for n in range(3)}
    assert reasons <= {"empty", "index"}
    assert len(reasons) == 1


def test_pages_of_which_nearly_all_was_removed_are_not_identical() -> None:
    def page(name: str) -> str:
        lines = [line for n in range(6) for line in story(f"{name} {n}")]
        posts = "".join(f"<div class=comment><p>{line}</p></div>" for line in lines)
        return (
            f"<div><p>Welcome to our pages, which {'are read ' * 24}by all.</p></div><div class=comments>{posts}</div>"
        )

    pages = [read_page(page(name), f"https://a.example/{name}") for name in ("Alton", "Welby")]
    dedup = Deduplicator()
    assert all(dedup.add(page).keep for page in pages)


def test_a_page_of_which_a_heading_was_read_is_little_read() -> None:
    dedup = Deduplicator()
    short = "Welcome to all who read our pages, on this and every other day of the year."
    pages = [Page(f"https://a.example/{place}", short, unread=unread) for place, unread in enumerate((700, 2000, 2000))]
    assert [(verdict.status, verdict.reason) for verdict in map(dedup.add, pages)] == [
        (Status.UNIQUE, None),
        (Status.UNCHECKED, "little-read"),
        (Status.UNCHECKED, "little-read"),
    ]
    assert [getattr(found, "reason", "") for found in dedup.fingerprint_many(pages)[1:]] == ["little-read"] * 2


# -- the end of a text that the block model chose -------------------------------------------------

LINE = "The bridge was closed to carts for the rest of the week, since nobody could see its piers."


def ending(*blocks: tuple[str, str], told: int = 2, left_out: int = 0) -> list[bool]:
    """Return which blocks after the text are kept; the lines of lists are links, and the last ones left out before."""
    rows = [(LINE, "p")] * told + [(text, tag) for tag, text in blocks]
    raw = [(text, len(text.encode()), len(text.encode()) * (tag == "li"), 0, 0, tag, 0) for text, tag in rows]
    chosen = [True] * (len(raw) - left_out) + [False] * left_out
    trim_choice(raw, chosen)
    return chosen[told:]


HEADLINES = [("li", f"Headline number {n} about the river") for n in range(5)]


def test_headlines_after_a_text_are_left_out() -> None:
    assert ending(("h3", "Related"), *HEADLINES) == [False] * 6
    assert ending(*HEADLINES, ("p", "Powered by us © 2026"), ("p", "https://a.example/t?print=1")) == [False] * 7


def test_a_list_that_the_model_cuts_in_two_is_left_out() -> None:
    short = [("li", f"Course {n}") for n in range(5)]
    assert ending(*HEADLINES, left_out=2) == [False] * 5
    assert ending(*short, left_out=4) == [False] * 5
    assert ending(*short, told=0, left_out=2) == [True] * 3 + [False] * 2


def test_a_list_is_kept_where_it_is_the_text() -> None:
    assert all(ending(("h3", "Related"), *HEADLINES, told=0))
    assert all(ending(*HEADLINES[:3]))
    assert all(ending(*((tag, f"{text}.") for tag, text in HEADLINES)))
    assert all(ending(*HEADLINES, ("p", LINE)))


# -- the block model ------------------------------------------------------------------------------


def step_by_step(trees: ForestTables, row: np.ndarray) -> float:
    """Evaluate the trees by their paths, one condition after the other."""
    total = 0.0
    for at in range(len(trees.feature)):
        for leaf, path in enumerate(trees.path[at]):
            used = np.flatnonzero(path)
            goes_left = row[trees.feature[at]] <= trees.limit[at]
            if len(used) and all(goes_left[node] == (path[node] > 0) for node in used):
                total += float(trees.value[at][leaf])
    return total / (1 << 16)


@given(st.integers(0, 2**32 - 1))
def test_trees_reach_one_leaf_each(seed: int) -> None:
    trees, gate = load_model()
    generator = np.random.default_rng(seed)
    for each in (trees, gate):
        rows = generator.choice([0.0, 0.01, 0.4, 1.0, 5.0, 300.0, 4000.0], (3, int(each.feature.max()) + 1))
        found = each.predict(rows)
        assert found.tolist() == [step_by_step(each, row) for row in rows]
        # The number of rows does not change a sum.
        assert found[1] == each.predict(rows[1:2])[0]


def test_the_model_is_a_small_file() -> None:
    from importlib.resources import files

    assert len(files("dedupcrawl.page").joinpath(MODEL_FILE).read_bytes()) <= 20_000


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.integers(1, 5000)), min_size=1, max_size=7))
def test_no_choice_of_the_most_probable_blocks_has_a_higher_expected_f1(blocks: list[tuple[float, int]]) -> None:
    chances, lengths = (np.array(column, np.float64) for column in zip(*blocks, strict=True))
    best = expected_f1(chances, lengths, best_choice(chances, lengths))
    order = np.argsort(-chances, kind="stable")
    for count in range(1, len(chances) + 1):
        other = np.zeros(len(chances), np.bool_)
        other[order[:count]] = True
        assert expected_f1(chances, lengths, other) <= best + 1e-9


def thread(names: list[str]) -> str:
    """Return a forum thread whose posts stand between heads full of links."""
    posts = "".join(
        f'<div class="post" id="p{n}"><dl class="postprofile"><dt><a href="/u{n}">{name}</a></dt><dd><a href="/r">Posts</a>: '
        f'{n}</dd><dd><a href="/m{n}">Contact {name}</a></dd></dl><div class="postbody"><h3><a href="#p{n}">Re: Bridge</a></h3>'
        f'<p class="author"><a href="/p{n}">Post</a> by <a href="/u{n}">{name}</a></p><div class="content">{line}</div></div></div>'
        for n, name in enumerate(names)
        for line in (" ".join(story(name)),)
    )
    return f'<title>Bridge</title><div id="page-body"><h2 class="topic-title"><a href="/t">Bridge</a></h2>{posts}</div>'


def test_posts_between_heads_of_links_are_read() -> None:
    names = ["Anna", "Berta", "Carla", "Doris", "Elena", "Frida"]
    page = read_page(thread(names), "https://a.example/viewtopic.php?t=3")
    assert all(line in page.text for name in names for line in story(name))
