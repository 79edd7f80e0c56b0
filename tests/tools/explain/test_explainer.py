"""Explanations of verdicts by the records of a store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from dedupcrawl import Deduplicator, Page
from dedupcrawl.config import Config
from dedupcrawl.decision import UNCHECKED_REASONS, Verdict, cluster_of
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.stores.base import Record
from dedupcrawl.tools.explain.configuration import EffectiveConfig, with_value
from dedupcrawl.tools.explain.counterfactuals import NEW_STORE, UNSURE, CounterfactualChange
from dedupcrawl.tools.explain.explainer import ExplainedPage, ExplanationBuilder, ExplanationReport, PastVerdict
from dedupcrawl.tools.explain.pair_builder import UNKNOWN, ComparedPage, PairKind
from tests.data import ROOT
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

FIRST, SECOND = "https://a.example/1", "https://b.example/2"
COPY = ENGLISH.replace("Nobody was hurt", "No one was hurt")
LONGER = ENGLISH + " " + " ".join(OTHER_ENGLISH.split(". ")[:2])


def opened(**changes: Any) -> Deduplicator:
    return Deduplicator(config=Config(**changes))


@pytest.fixture
def dedup() -> Iterator[Deduplicator]:
    with opened() as made:
        made.add(text=ENGLISH, url=FIRST)
        made.add(text=OTHER_ENGLISH, url="https://a.example/lamps")
        yield made


def explained(
    dedup: Deduplicator, text: str = "", url: str = SECOND, *, quick: bool = False, other: ComparedPage | None = None
) -> ExplanationReport:
    """Explain a page with this text, or the record of ``url``."""
    held = None if text else dedup.store.lookup(url)
    subject = ExplainedPage(url, "told", Page.from_text(text, url) if text else None, held)
    tick = None if quick else (lambda _: None)
    found = ExplanationBuilder(EffectiveConfig(dedup.config, frozenset()), dedup.store, tick).explain(subject, other)
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()
    return found


def by_name(found: tuple[CounterfactualChange, ...]) -> dict[str, CounterfactualChange]:
    assert all(len(each.changes) == 1 for each in found)
    return {each.changes[0].name: each for each in found}


def test_a_copy_is_compared_with_what_it_repeats(dedup: Deduplicator) -> None:
    found = explained(dedup, COPY)
    assert found.verdict == dedup.check(text=COPY, url=SECOND)
    assert found.pair is not None
    assert (found.pair.new.url, found.pair.old.url) == (SECOND, FIRST)
    assert (found.pair.why, found.pair.met) == (PairKind.DECIDES, True)
    assert found.pair.shared > 0
    assert [assessment.detector for assessment in found.pair.assessments] == ["exact", "minhash"]
    assert found.length == len(dedup_text(COPY))
    assert [member.record.url for member in found.scan.members] == [FIRST]
    assert found.scan.scanned == 2


def dedup_text(text: str) -> str:
    from dedupcrawl.text.normalize import normalize

    return normalize(text)


def fill(dedup: Deduplicator) -> Deduplicator:
    dedup.add(text=ENGLISH, url=FIRST)
    dedup.add(text=OTHER_ENGLISH, url="https://a.example/lamps")
    return dedup


@pytest.mark.parametrize("text", [COPY, LONGER, ENGLISH, OTHER_CHINESE, ENGLISH[:300], "Ice. " * 3])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"detectors": ["simhash", "exact"]},
        {"detectors": ["feature_code", "feature_codes", "segments"]},
        {"detectors": {"combined": {"any_of": ["minhash", "simhash"]}}},
        {"drop": ["identical"], "keep": "latest"},
        {"min_chars": 2000},
        {"detectors": ["minhash"], "min_chars": 310},
    ],
    ids=str,
)
def test_every_counterfactual_gives_another_verdict(text: str, changes: dict[str, Any]) -> None:
    with opened(**changes) as dedup:
        fill(dedup)
        found = explained(dedup, text)
        if found.pair is not None and not found.pair.met:
            return  # a crawl does not compare them, whatever the constants
        now = dedup.check(text=text, url=SECOND)
        assert found.verdict == now
        for counterfactual in (*found.counterfactuals, *found.together):
            config = dedup.config
            for change in counterfactual.changes:
                config = with_value(config, change.name, change.then)
            if UNSURE in counterfactual.remark:
                continue
            if counterfactual.remark:
                again = fill(Deduplicator(config=config)).check(text=text, url=SECOND)
            else:
                again = Deduplicator(dedup.store, config=config).check(text=text, url=SECOND)
            assert again == counterfactual.verdict
            assert said(again) != said(now)


def said(verdict: Verdict) -> tuple[object, ...]:
    return verdict.status, verdict.keep, verdict.relation, verdict.supersedes


def test_whether_an_old_version_stays_is_a_setting_too(dedup: Deduplicator) -> None:
    found = explained(dedup, LONGER, FIRST)
    assert found.verdict.relation is Relation.UPDATED
    assert by_name(found.counterfactuals)["keep"].verdict.supersedes == FIRST


def test_which_setting_keeps_a_copy(dedup: Deduplicator) -> None:
    counterfactuals = by_name(explained(dedup, COPY).counterfactuals)
    assert counterfactuals["threshold"].verdict.keep
    assert counterfactuals["threshold"].remark == ""  # it only judges: keys are chosen for the floor of minhash
    assert counterfactuals["drop"].changes[0].then == Config().drop - {Relation.NEAR_DUPLICATE}
    assert counterfactuals["keep"].verdict.supersedes == FIRST


def test_what_would_not_meet_in_a_new_store_is_not_called_related() -> None:
    words = ENGLISH.split()
    changed = [{place + step * 9 for step in range(8)} for place in range(0, len(words) - 63, 3)]
    copies = [" ".join("instead" if at in places else word for at, word in enumerate(words)) for places in changed]
    found = set()
    for text in copies:
        with opened() as dedup:
            dedup.add(text=ENGLISH, url=FIRST)
            counterfactual = by_name(explained(dedup, text, quick=True).counterfactuals).get("threshold")
        if counterfactual is not None:
            config = with_value(Config(), "threshold", counterfactual.changes[0].then)
            with Deduplicator(config=config) as anew:
                anew.add(text=ENGLISH, url=FIRST)
                assert anew.check(text=text, url=SECOND).relation == counterfactual.verdict.relation
            found.add((counterfactual.verdict.relation, counterfactual.remark))
    assert (Relation.NEAR_DUPLICATE, NEW_STORE) in found  # with a threshold below the floor


def test_where_sketches_do_not_contain_the_keys_that_is_reported() -> None:
    with opened(detectors=["datasketch"]) as dedup:
        dedup.add(text=ENGLISH, url=FIRST)
        counterfactuals = by_name(explained(dedup, COPY, quick=True).counterfactuals)
    told = {name: counterfactual.remark for name, counterfactual in counterfactuals.items() if counterfactual.remark}
    assert told
    assert all(UNSURE in remark for remark in told.values())


def test_which_setting_drops_what_is_kept(dedup: Deduplicator) -> None:
    found = explained(dedup, LONGER)
    assert found.verdict.keep
    assert found.verdict.relation is Relation.EXPANSION
    counterfactuals = by_name(found.counterfactuals)
    assert not counterfactuals["drop"].verdict.keep
    assert not counterfactuals["length_ratio"].verdict.keep
    assert not counterfactuals["length_ratio"].remark
    assert not found.together


def test_two_settings_where_no_single_one_is_enough() -> None:
    with opened() as dedup:
        dedup.add(text=ENGLISH, url=FIRST)
        found = explained(dedup, f"{ENGLISH} {OTHER_ENGLISH[:-20]}")
        assert set(by_name(found.counterfactuals)) == {"drop"}
        (together,) = found.together
        assert [change.name for change in together.changes] == ["threshold", "length_ratio", "length_slack"]
        assert together.verdict.is_duplicate
        assert together.remark == NEW_STORE


def test_equal_texts_stay_copies_whatever_is_measured(dedup: Deduplicator) -> None:
    found = explained(dedup, ENGLISH)
    assert found.verdict.relation is Relation.IDENTICAL
    assert set(by_name(found.counterfactuals)) == {"drop", "keep"}
    assert not found.together


def test_a_short_text_is_compared_once_the_bound_is_lowered() -> None:
    short = ENGLISH[:150]
    with opened(min_chars=200) as dedup:
        dedup.add(text=short, url=FIRST)
        assert set(by_name(explained(dedup, short + " And ice.").counterfactuals)) <= {"min_chars"}
    with opened(detectors=["minhash"], min_chars=200) as dedup:
        found = explained(dedup, short)
        assert (found.verdict.reason, found.record, found.pair) == ("short", None, None)
        counterfactual = by_name(found.counterfactuals)["min_chars"]
        assert counterfactual.changes[0].then == len(dedup_text(short)) // 10 * 10
        assert counterfactual.verdict.reason is None
        assert "only the detector exact" in " ".join(found.remarks)


def test_a_filed_page_is_judged_by_what_came_before_it() -> None:
    with opened(drop=[]) as dedup:
        dedup.add(text=ENGLISH, url=FIRST)
        dedup.add(text=COPY, url=SECOND)
        dedup.add(text=COPY + " Today.", url="https://c.example/3")
        middle = explained(dedup)
        assert middle.held is not None
        assert middle.verdict.of == FIRST
        assert middle.pair is not None
        assert (middle.pair.new.url, middle.pair.old.url) == (SECOND, FIRST)
        first = explained(dedup, url=FIRST)
        assert first.verdict.relation is None
        assert first.pair is not None
        assert (first.pair.new.url, first.pair.why) == (SECOND, PairKind.LATER)
        assert first.pair.verdict.of == FIRST
        assert [each.record.url for each in first.scan.members] == [FIRST, SECOND, "https://c.example/3"]
        assert explained(dedup, url=FIRST, quick=True).scan.members == first.scan.members


def test_a_page_that_has_no_candidate_is_compared_with_the_nearest(dedup: Deduplicator) -> None:
    half = ENGLISH[: len(ENGLISH) // 2] + CHINESE
    found = explained(dedup, half)
    assert found.met == 0
    assert found.pair is not None
    assert (found.pair.why, found.pair.met, found.pair.old.url) == (PairKind.NEAREST, False, FIRST)
    assert "They were never compared" in " ".join(found.remarks)
    quick = explained(dedup, half, quick=True)
    assert (quick.pair, quick.scan.scanned) == (None, None)
    assert "without --quick" in " ".join(quick.remarks)
    assert "no other page in the store is similar" in " ".join(explained(dedup, OTHER_CHINESE).remarks)


def test_a_chosen_page(dedup: Deduplicator) -> None:
    lamps = dedup.store.lookup("https://a.example/lamps")
    assert lamps is not None
    found = explained(dedup, COPY, other=ComparedPage.from_candidate(lamps))
    assert found.verdict.of == FIRST
    assert found.pair is not None
    assert (found.pair.why, found.pair.met) == (PairKind.ASKED, False)
    assert found.pair.verdict.relation is None
    record = dedup.fingerprint(Page.from_text(ENGLISH, "https://c.example/"))
    assert isinstance(record, Record)
    both_new = explained(dedup, COPY, other=ComparedPage(record.url, record))
    assert both_new.pair is not None
    assert both_new.pair.new.url == SECOND
    assert both_new.pair.verdict.of == "https://c.example/"


def test_pages_in_a_full_bucket_are_not_compared() -> None:
    with opened(drop=[]) as dedup:
        dedup.add(text=ENGLISH, url=FIRST)
        for number in range(40):
            dedup.add(text=ENGLISH, url=f"https://b.example/{number}")
        first = dedup.store.lookup(FIRST)
        assert first is not None
        found = explained(dedup, ENGLISH, url="https://c.example/", other=ComparedPage.from_candidate(first))
        assert found.pair is not None
        assert found.pair.shared > 0
        assert not found.pair.met
        assert "although they share keys" in " ".join(found.remarks)


def test_a_claimed_page_and_the_verdict_of_a_run_are_remarked_upon(dedup: Deduplicator) -> None:
    with dedup.claim(text=CHINESE, url="https://z.example/1"):
        verdict = dedup.check(text=COPY, url=SECOND)
        subject = ExplainedPage(
            SECOND, "told", Page.from_text(CHINESE, SECOND), then=PastVerdict(verdict, "dropped", 0.0)
        )
        found = ExplanationBuilder(EffectiveConfig(dedup.config, frozenset()), dedup.store).explain(subject)
    assert found.pair is not None
    assert "is claimed, not committed yet" in " ".join(found.remarks)
    assert "The run had another verdict" in " ".join(found.remarks)


def test_a_claim_that_is_open_explains_that_the_run_had_another_verdict(dedup: Deduplicator) -> None:
    first = "https://z.example/1"
    with Deduplicator() as once:
        once.add(text=CHINESE, url=first)
        verdict = once.check(text=CHINESE, url=SECOND)
    with dedup.claim(text=CHINESE, url=first):
        subject = ExplainedPage(
            SECOND, "told", Page.from_text(CHINESE, SECOND), then=PastVerdict(verdict, "dropped", 0.0)
        )
        found = ExplanationBuilder(EffectiveConfig(dedup.config, frozenset()), dedup.store).explain(subject)
    assert found.verdict.keep
    assert [remark[:27] for remark in found.remarks] == ["The older page is claimed, "]


@pytest.mark.parametrize("name", DETECTORS)
def test_every_detector_can_be_asked(name: str) -> None:
    with opened(detectors=[name]) as dedup:
        dedup.add(text=ENGLISH, url=FIRST)
        found = explained(dedup, ENGLISH)
        assert found.pair is not None
        assert found.pair.why is PairKind.DECIDES
        assert found.verdict.of == FIRST
        assert by_name(found.counterfactuals)["drop"].verdict.keep
        assert found.cluster == cluster_of(found.scan.members[0].record)


def test_every_reason_that_is_documented_has_a_sentence() -> None:
    page = (ROOT / "docs" / "verdict.md").read_text("utf-8")
    table = page.partition("## Reason\n")[2].partition("\n## ")[0]
    documented = set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE))
    assert documented == set(UNCHECKED_REASONS)


# -- names and values ---------------------------------------------------------------------------


def named(name: str, body: str = ENGLISH, more: str = "") -> str:
    return f"<html><title>{name} | Shop</title><main><h1>{name}</h1><p>{body}</p></main>{more}</html>"


def explained_html(dedup: Deduplicator, html: str, url: str, other: str = "") -> ExplanationReport:
    page = dedup.read(html=html, url=url)
    assert isinstance(page, Page)
    old = dedup.read(html=other, url=FIRST) if other else None
    held = dedup.store.lookup(FIRST)
    assert held is not None
    given = ComparedPage(FIRST, held.record, held.id, held.state, old) if isinstance(old, Page) else None
    effective = EffectiveConfig(dedup.config, frozenset())
    found = ExplanationBuilder(effective, dedup.store).explain(ExplainedPage(url, "told", page), given)
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()
    return found


@pytest.mark.parametrize("is_given", [True, False])
def test_siblings_come_with_the_names_and_values_of_both(*, is_given: bool) -> None:
    first, second = named("Carpenter", ENGLISH + " Pay 12.50."), named("Plumber", ENGLISH + " Pay 12.50.")
    with opened() as dedup:
        dedup.add(html=first, url=FIRST)
        found = explained_html(dedup, second, "https://www.a.example/2", first if is_given else "")
    assert found.pair is not None
    identities = found.pair.identities
    assert identities is not None
    assert identities.siblings == "names over one text that is about neither"
    assert {(part.text, part.is_own, part.places) for part in identities.new.names} == {
        ("plumber", True, ("heading", "title")),
        ("shop", False, ("title",)),
    }
    assert {(part.text, part.is_own) for part in identities.old.names} == {
        ("carpenter" if is_given else UNKNOWN, True),
        ("shop", False),
    }
    assert {(part.text, part.is_own) for part in identities.new.values} == {("12.50", False)}
    assert identities.new.is_whole
    assert f"With equal names and values the new page would be dropped: identical, of {FIRST}." in found.remarks
    drop = next(each for each in found.counterfactuals if each.changes[0].name == "drop")
    assert drop.verdict.keep is False


def test_pages_of_two_sites_have_no_names_to_compare() -> None:
    with opened() as dedup:
        dedup.add(html=named("Carpenter"), url=FIRST)
        found = explained_html(dedup, named("Plumber"), SECOND)
    assert found.pair is not None
    assert found.pair.identities is None
    assert not [remark for remark in found.remarks if "equal names" in remark]


def test_pages_of_two_sites_are_compared_by_the_numbers_of_their_texts() -> None:
    with opened() as dedup:
        dedup.add(html=named("Carpenter", ENGLISH + " Pay 12.50."), url=FIRST)
        found = explained_html(dedup, named("Carpenter", ENGLISH + " Pay 17.20."), SECOND)
    assert found.pair is not None
    assert found.pair.identities is not None
    assert found.pair.identities.siblings == "values in the text"
    assert f"With equal names and values the new page would be dropped: near-duplicate, of {FIRST}." in found.remarks


def test_a_scope_that_hides_a_copy_is_named() -> None:
    with opened(scope="other-hosts") as dedup:
        dedup.add(html=named("Carpenter"), url=FIRST)
        found = explained_html(dedup, named("Carpenter"), "https://a.example/2")
    assert found.verdict.relation is None
    assert 'Both are pages of one site, which DEDUP_SCOPE = "other-hosts" does not compare.' in found.remarks


MANUAL = "<title>Views – Mill manual {0}</title><h1>Views {0}</h1><p>" + ENGLISH + "</p>"


@pytest.mark.parametrize(
    ("versions", "remark"),
    [
        ("siblings", 'They are versions 1.3 and 1.2 of one page. With DEDUP_VERSIONS = "copies" they are copies.'),
        ("copies", 'They are versions 1.3 and 1.2 of one page, and copies by DEDUP_VERSIONS = "copies".'),
    ],
)
def test_versions_of_a_manual_are_named(versions: str, remark: str) -> None:
    first, second = "https://a.example/docs/1.2/views", "https://a.example/docs/1.3/views"
    with opened(versions=versions) as dedup:
        dedup.add(html=MANUAL.format("1.2"), url=first)
        page = dedup.read(html=MANUAL.format("1.3"), url=second)
        assert isinstance(page, Page)
        effective = EffectiveConfig(dedup.config, frozenset())
        found = ExplanationBuilder(effective, dedup.store).explain(ExplainedPage(second, "told", page))
    assert remark in found.remarks
    [change] = by_name(found.counterfactuals)["versions"].changes
    assert (change.now, change.then) == (versions, "copies" if versions == "siblings" else "siblings")
    assert by_name(found.counterfactuals)["versions"].verdict.keep is (versions == "copies")


def test_a_refreshed_page_shows_that_nothing_else_changed() -> None:
    with opened() as dedup:
        dedup.add(html=named("Carpenter", ENGLISH + " Comments (12) were left."), url=FIRST)
        found = explained_html(dedup, named("Carpenter", ENGLISH + " Comments (13) were left."), FIRST)
    assert found.verdict.relation is Relation.REFRESHED
    assert found.pair is not None
    assert found.pair.identities is not None
    assert (found.pair.identities.is_refresh, found.pair.identities.siblings) == (True, "")
