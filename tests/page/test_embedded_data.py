"""Text in the data of a page: only that of the page's own topic counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Deduplicator
from dedupcrawl.page import Kind, read_page
from dedupcrawl.page.document import parse
from dedupcrawl.page.embedded_data import MAX_JSON_CHARS, embedded_text
from tests.cost import least_cpu_seconds, takes_less

if TYPE_CHECKING:
    from collections.abc import Callable

ABOUT = (
    "We have built chairs, tables and shelves of oak and ash in this valley since 1891, and every piece is made "
    "to order by one of our nine joiners. Prices include the statutory tax. Delivery costs depend on weight and are "
    "shown before you order. Photographs are examples: small changes in colour and finish are no ground for complaint."
)
STORY = (
    "The ferry lay at its pier all morning because the ice had closed the strait in the night, and nobody could say "
    "when it would sail. Two hundred cars waited on the quay. The harbour master had coffee brought to the drivers. "
    "At noon an icebreaker came from the north and opened a lane that froze again within the hour."
)
ANIMALS = ["otter", "heron", "badger", "falcon", "lynx", "marten", "stoat", "curlew", "plover", "osprey"]


def linked(*objects: dict[str, Any]) -> str:
    data = {"@context": "https://schema.org", "@graph": [*objects]}
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


def next_state(properties: dict[str, Any], **more: Any) -> str:
    state = json.dumps({"props": {"pageProps": properties}, **more})
    return f'<script id="__NEXT_DATA__" type="application/json">{state}</script>'


def shell(data: str, title: str = "Shop") -> str:
    return f"<html><head><title>{title}</title>{data}</head><body><div id=root></div></body></html>"


def kept(pages: list[str], host: str = "shop.example") -> int:
    with Deduplicator() as dedup:
        return sum(dedup.add(html=html, url=f"https://{host}/{n}").keep for n, html in enumerate(pages))


SITE = {"@type": "WebSite", "name": "Oak & Ash", "description": ABOUT}
OWNER = {"@type": ["Organization", "FurnitureStore"], "name": "Oak & Ash", "description": ABOUT}


@pytest.mark.parametrize(
    "objects",
    [
        [OWNER],
        [SITE, {"@type": "WebPage", "name": "Photo", "description": ABOUT, "mainEntity": OWNER}],
        [{"@type": "WebPage", "mainEntity": {"@type": "LocalBusiness", "name": "Oak & Ash", "description": ABOUT}}],
        [{"@type": "Person", "name": "Ann", "description": ABOUT}],
        [{"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "name": ABOUT}]}],
        [{"@type": "Product", "name": name, "description": ABOUT} for name in ANIMALS],
    ],
)
def test_objects_about_the_site_are_no_text_of_its_pages(objects: list[dict[str, Any]]) -> None:
    data = linked(*objects)
    assert embedded_text(parse(shell(data))).text == ""
    assert kept([shell(data, f"Photo {number} | Oak & Ash") for number in range(5)]) == 5
    assert kept([shell(data) + f"<p>A chair with a carved {name}.</p>" for name in ANIMALS]) == len(ANIMALS)


@pytest.mark.parametrize(
    "own",
    [
        {"@type": "https://schema.org/NewsArticle", "headline": "Ice closes the strait", "articleBody": STORY},
        {"@type": "WebPage", "mainEntity": {"@type": "Hotel", "name": "Ice closes the strait", "description": STORY}},
        {
            "@type": "Recipe",
            "name": "Ice closes the strait",
            "recipeInstructions": [{"@type": "HowToStep", "text": STORY}],
        },
        {
            "@type": "FAQPage",
            "mainEntity": [
                {
                    "@type": "Question",
                    "name": "Ice closes the strait",
                    "acceptedAnswer": {"@type": "Answer", "text": STORY},
                },
                {"@type": "Question", "name": "Why?", "acceptedAnswer": [{"@type": "Answer", "text": "Frost."}]},
            ],
        },
    ],
)
def test_the_object_that_the_page_is_about_is_its_text(own: dict[str, Any]) -> None:
    page = read_page(shell(linked(SITE, OWNER, own), "Ice closes the strait | Oak"))
    assert page.kind is Kind.ARTICLE
    assert page.text.splitlines()[:2] == ["Ice closes the strait | Oak", "Ice closes the strait"]
    assert STORY in page.text
    assert ABOUT not in page.text
    assert page.heading.startswith("Ice closes the strait")


def test_facts_of_an_object_tell_pages_with_one_description_apart() -> None:
    def product(name: str) -> str:
        offers = {"@type": "Offer", "price": 40 + len(name)}
        return shell(
            linked(OWNER, {"@type": "Product", "name": f"Chair {name}", "description": ABOUT, "offers": offers})
        )

    assert kept([product(name) for name in ANIMALS]) == len(ANIMALS)
    assert kept([product("otter")] * 3) == 1  # under three URLs


LABELS: dict[str, Any] = {"_i18n": {"terms": ABOUT, "more": ABOUT[::-1]}, "siteConfig": {"title": "Oak", "text": ABOUT}}


@pytest.mark.parametrize(
    "of",
    [
        lambda name: {"product": {"name": f"Chair {name}", "price": 12, "colour": name}, **LABELS},
        lambda name: {"product": {"name": f"Chair {name}", "description": ABOUT, "price": 12}, **LABELS},
        lambda name: {"page": {"title": "Chairs", "text": ABOUT}, "chair": {"displayName": name, "price": 12}},
        lambda name: {"products": [{"name": each, "description": ABOUT} for each in ANIMALS], "q": name},
    ],
)
def test_labels_and_settings_in_a_state_do_not_make_pages_equal(of: Callable[[str], dict[str, Any]]) -> None:
    assert kept([shell(next_state(of(name))) for name in ANIMALS]) == len(ANIMALS)


def test_pages_with_a_common_text_in_their_state_differ_by_the_parameters_of_their_route() -> None:
    def photo(number: int, **query: str) -> str:
        state = {"data": {"name": "Oak & Ash", "content": ABOUT}}
        return shell(next_state(state, page="/photo/[id]", query={"id": str(number), **query}))

    assert kept([photo(number) for number in range(10, 20)]) == 10
    assert kept([photo(10), photo(10, utm_source="mail")]) == 1


ARTICLE = {"title": "Ice closes the strait", "body": f"<p>{STORY}</p>", "author": {"name": "Ann", "bio": ABOUT}}
BLOCKS = {"title": "Ice closes the strait", "content": [{"type": "p", "children": [{"text": STORY}]}], "footer": ABOUT}
NUXT = [
    {"data": 1, "i18n": 7},
    ["ShallowReactive", 2],
    {"story": 3},
    {"title": 4, "body": 5, "self": 3},
    "Ice closes the strait",
    STORY,
    1,
    ABOUT,
]
STREAM = (
    f'5:I["chunk.js"]\n2:T{len(STORY.encode()):x},{STORY}'
    '6:["$","$L5",null,{"post":{"title":"Ice closes the strait","content":"$2"},"labels":{"text":"' + ABOUT + '"}}]\n'
)


CACHE = {"Story:7": ARTICLE, "Shop:1": {"name": "Oak", "text": ABOUT}}
PARTS = [STREAM[at : at + 50] for at in range(0, len(STREAM), 50)]


@pytest.mark.parametrize(
    "script",
    [
        next_state({"article": ARTICLE, **LABELS}),
        next_state({"article": BLOCKS, **LABELS}),
        f'<script id="__NUXT_DATA__" type="application/json">{json.dumps(NUXT)}</script>',
        f'<script>window.__NUXT__={json.dumps({"data": [{"story": ARTICLE}]})};</script>',
        f"<script>window.__APOLLO_STATE__ = {json.dumps(CACHE)};</script>",
        f'<script id="ng-state" type="application/json">{json.dumps({"19": {"b": ARTICLE, "s": 200}})}</script>',
        "".join(f"<script>self.__next_f.push({json.dumps([1, part])})</script>" for part in PARTS),
    ],
    ids=["next", "next-blocks", "nuxt-data", "nuxt", "apollo", "angular", "next-stream"],
)  # fmt: skip
def test_the_states_of_frameworks_are_read(script: str) -> None:
    page = read_page(shell(script, "Ferry"))
    assert page.kind is Kind.ARTICLE
    assert (STORY in page.text, ABOUT in page.text) == (True, False)
    assert page.heading == "Ice closes the strait"


def test_a_state_that_is_a_program_is_not_read() -> None:
    call = f"<script>window.__NUXT__=(function(a){{return {{text:a}}}}({json.dumps(STORY)}))</script>"
    with Deduplicator() as dedup:
        verdicts = [dedup.add(html=shell(call), url=f"https://a.example/{number}") for number in range(2)]
    assert [(verdict.keep, verdict.reason) for verdict in verdicts] == [(True, "empty")] * 2


def test_data_are_searched_up_to_a_limit() -> None:
    filler = f'<script type="application/json">{" " * MAX_JSON_CHARS}</script>'
    assert STORY in embedded_text(parse(shell(next_state({"article": ARTICLE}) + filler))).text
    assert embedded_text(parse(shell(filler + next_state({"article": ARTICLE})))).text == ""
    deep = "[" * 100_000 + "]" * 100_000
    assert (
        embedded_text(parse(shell(f"<script>window.__NUXT__={deep};window.__NEXT_DATA__={deep}</script>"))).text == ""
    )


ANY = st.recursive(
    st.none() | st.text() | st.integers(-3, 30) | st.sampled_from(["Product", "$2", "text", "WebPage"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.text() | st.sampled_from(["@type", "@graph", "mainEntity", "name", "text", "query", "page"]), inner
        )
    ),
)


@settings(max_examples=50)
@given(ANY)
def test_any_data_are_read_without_error(data: object) -> None:
    source = json.dumps(data).replace("<", "\\u003c")
    for script in (
        f'<script type="application/ld+json">{source}</script>',
        f'<script id="__NEXT_DATA__" type="application/json">{source}</script>',
        f'<script id="__NUXT_DATA__" type="application/json">{source}</script>',
        f"<script>window.__APOLLO_STATE__={source};self.__next_f.push([1,{json.dumps('1:' + source)}])</script>",
    ):
        assert isinstance(embedded_text(parse(shell(script))).text, str)


def test_many_objects_are_read_in_linear_time() -> None:
    def reading(count: int) -> Callable[[], None]:
        objects = ",".join(f'{{"@type":"{number}Event","name":"x"}}' for number in range(count))
        root = parse(shell(f'<script type="application/ld+json">[{objects}]</script>'))

        def read() -> None:
            assert embedded_text(root).text == "x"

        return read

    # Six times as many take 36 times as long if each object is compared with all others.
    assert takes_less(reading(30_000), 15 * least_cpu_seconds(reading(5_000)))
