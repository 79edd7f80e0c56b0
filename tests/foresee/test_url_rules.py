"""Changes of URLs: applied, found, and written as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.errors import DamageError
from dedupcrawl.foresee.rule_learner import is_storable
from dedupcrawl.foresee.url_rules import (
    ChangeGroup,
    ChangeKind,
    UrlChange,
    differences,
    discarder_rule,
    parse_rule,
    parse_url,
    rule_text,
    template,
)

WORDS = st.sampled_from(["a", "B", "b", "print", "Print", "1", "12", "index.html", "", "*", "#", "x=y", "%2F"])
HOSTS = st.sampled_from(["a.example", "www.a.example", "m.a.example", "www.www.a.example", "b.example", "localhost"])
QUERIES = st.lists(st.tuples(st.sampled_from("abc"), WORDS), max_size=3)


@st.composite
def urls(draw: st.DrawFn) -> str:
    path = "".join("/" + word for word in draw(st.lists(WORDS, max_size=4)))
    query = "&".join(f"{name}={value}" for name, value in draw(QUERIES))
    return f"{draw(st.sampled_from(['http', 'https']))}://{draw(HOSTS)}{path}" + (f"?{query}" if query else "")


NAMED = {
    ChangeKind.HOST: st.sampled_from(["www", "m"]),
    ChangeKind.DROP: st.sampled_from(["print", "index.html", "b"]),
    ChangeKind.SEGMENT: st.sampled_from("0123"),
    ChangeKind.VALUE: st.sampled_from("abc"),
    ChangeKind.PARAMETER: st.sampled_from("abc"),
}


@st.composite
def changes(draw: st.DrawFn) -> ChangeGroup:
    kinds = draw(st.lists(st.sampled_from(list(ChangeKind)), min_size=1, max_size=4))
    return ChangeGroup.of(
        {
            UrlChange(kind, draw(NAMED.get(kind, st.just(""))), draw(WORDS) if kind is ChangeKind.VALUE else "")
            for kind in kinds
        }
    )


@given(changes(), urls())
def test_a_second_time_changes_nothing(group: ChangeGroup, url: str) -> None:
    once = group.apply(parse_url(url))
    assert group.apply(once) == once


@given(urls(), urls())
def test_differences_make_two_urls_equal(one: str, two: str) -> None:
    first, second = parse_url(one), parse_url(two)
    for group in differences(first, second):
        assert group.apply(first) == group.apply(second)
        assert 0 < len(group.changes) <= 4


@given(urls(), changes())
def test_what_changes_a_url_is_found_again(url: str, group: ChangeGroup) -> None:
    """For one change: several may amount to another one."""
    changed = group.apply(parse_url(url))
    if len(group.changes) == 1 and changed != parse_url(url) and group.changes[0].kind is ChangeKind.PARAMETER:
        assert any(each.apply(parse_url(url)) == changed for each in differences(parse_url(url), changed))


@given(urls())
def test_a_url_is_split_without_loss(url: str) -> None:
    fields = parse_url(url)
    assert parse_url(fields.url) == fields
    assert differences(fields, fields) == []


@given(changes(), urls())
def test_a_rule_is_read_as_it_was_written(group: ChangeGroup, url: str) -> None:
    scope = template(parse_url(url))
    assert parse_rule(rule_text(group, scope)) == (group, scope)
    assert is_storable(group, scope)


@pytest.mark.parametrize(
    ("one", "two", "found"),
    [
        ("/item/1?ref=a", "/item/1?ref=b", ["?ref=*"]),
        ("/item/1?ref=a", "/item/1", ["?ref=*", "?ref=a"]),
        ("/a/1?utm_source=x&utm_medium=y", "/a/1", ["?utm_medium=* ?utm_source=*", "?utm_medium=y ?utm_source=x"]),
        ("/a/1/print", "/a/1", ["drop:print"]),
        ("/amp/a/1", "/a/1", ["drop:amp"]),
        ("/News/A1", "/news/a1", ["case"]),
        ("/News/A1/Default.aspx", "/news/a1", ["case drop:default.aspx"]),
        ("/a/1/", "/a/1", ["slash"]),
        ("/n/z1x/2021/red-shoe", "/n/z1x/2021/blue-shoe", ["segment:3"]),
        ("/a/1", "/b/2", ["segment:0 segment:1"]),
        ("/a/1/c", "/b/2/d", []),
        ("/a/1?x=1&y=2&z=3&w=4&v=5", "/a/1", []),  # more than four changes
        # Each URL needs one change: that says nothing about both.
        ("/a/1/print", "/a/1?print=1", []),
    ],
)
def test_differences(one: str, two: str, found: list[str]) -> None:
    fields = (parse_url("http://x.example" + path) for path in (one, two))
    assert [group.text for group in differences(*fields)] == found


@pytest.mark.parametrize(
    ("one", "two", "found"),
    [
        ("http://a.example/", "https://a.example/", ["scheme"]),
        ("http://www.a.example/", "http://a.example/", ["host:www"]),
        ("https://www.a.example/", "http://a.example/", ["scheme host:www"]),
        ("http://www.a.example/", "http://m.a.example/", []),  # as above: one change each
        ("http://a.example/", "http://b.example/", []),
        ("http://a.www.example.com/", "http://example.com/", []),
    ],
)
def test_differences_of_hosts(one: str, two: str, found: list[str]) -> None:
    assert [group.text for group in differences(parse_url(one), parse_url(two))] == found


def test_a_rule_says_nothing_about_one_of_its_changes() -> None:
    group, _ = parse_rule("?utm_medium=* ?utm_source=* on a.example/#")
    alone, both = (
        parse_url("http://a.example/1?utm_source=x"),
        parse_url("http://a.example/1?utm_source=x&utm_medium=y"),
    )
    assert group.apply(alone) is alone
    assert group.apply(both).url == "http://a.example/1"


@pytest.mark.parametrize("text", ["", "?ref=*", "colour:red on a.example/#", "segment:x on a.example", " on a.example"])
def test_other_text_is_no_rule(text: str) -> None:
    with pytest.raises(DamageError):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "processor", "args", "pattern"),
    [
        ("?ref=* on shop.example/item/#", "queryRemoval", ["ref"], "shop.example/item/"),
        ("?a=* ?b=* on shop.example", "queryRemoval", ["a", "b"], "shop.example/"),
        ("segment:3 on shop.example/n/#/#/*", "subpathRemoval", [3], "shop.example/n/"),
        ("?ref=* on shop.example/#/*", "queryRemoval", ["ref"], "shop.example/"),
    ],
)
def test_rules_for_duplicate_url_discarder(text: str, processor: str, args: list[object], pattern: str) -> None:
    expected = {"args": args, "order": 100, "processor": processor, "urlPattern": {"include": [pattern]}}
    assert discarder_rule(text) == expected


@pytest.mark.parametrize("text", ["?page=1 on a.example/#", "case on a.example/#", "host:www on a.example"])
def test_rules_that_the_discarder_does_not_have(text: str) -> None:
    assert discarder_rule(text) is None
