"""Scores and costs: checked by hand, and against a brute-force count."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from dedupcrawl import Config
from dedupcrawl.detectors.base import Fingerprint, Relation
from dedupcrawl.detectors.registry import DETECTORS, build_detectors
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import BUCKET_CAP
from dedupcrawl.text.features import Features
from dedupcrawl.tools.evaluation.dataset import LabelledPage, ParsedPageCache
from dedupcrawl.tools.evaluation.duplicates import evaluate_duplicates
from dedupcrawl.tools.evaluation.runs import VARIANTS, evaluation_runs
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH


def row(n: int, cluster: str, text: str | None, html: str | None = None, edit: str = "") -> LabelledPage:
    return LabelledPage(id=str(n), url=f"https://s{n}.example/", cluster=cluster, html=html, text=text, edit=edit)


ROWS = [
    row(1, "harbour", ENGLISH),
    row(2, "lamps", OTHER_ENGLISH),
    row(3, "harbour", ENGLISH.replace("Nobody", "No one"), edit="typo"),
    row(4, "港口", CHINESE),
    row(5, "harbour", ENGLISH, edit="same"),
    row(6, "excerpt", ENGLISH[: len(ENGLISH) // 2], edit="excerpt"),
    row(7, "隧道", OTHER_CHINESE),
    row(8, "港口", CHINESE.replace("九点钟", "十点钟"), edit="typo"),
    row(9, "longer", f"{CHINESE}{OTHER_CHINESE}", edit="appended"),
    row(10, "港口", CHINESE, edit="same"),
    row(11, "short", "Too short."),
    row(12, "short", "Too short to be told."),
]


def test_figures_by_hand() -> None:
    report = evaluate_duplicates(ROWS, Config(detectors=("exact",))).to_dict()
    assert report["drops"] == {"precision": 1, "recall": 0.4, "f1": 0.5714, "wrongly_dropped": 0, "missed": 3}
    # 3 + 3 + 1 pairs share a cluster; rows 1 and 5, 4 and 10 are found
    assert report["pairs"] == {"precision": 1, "recall": 0.2857, "f1": 0.4444, "wrong": 0, "missed": 5}
    by_edit: Any = report["by_edit"]
    assert by_edit["typo"] == {"pages": 2, "dropped": 0, "wrongly_dropped": 0, "missed": 2}
    assert by_edit["same"] == {"pages": 2, "dropped": 2, "wrongly_dropped": 0, "missed": 0}
    assert report["keys_per_page"] == 1
    assert report["bytes_per_page"] == 16 + 6 + 6 + 6  # hash; key in the record; key and id in the index
    assert report["candidates_per_page"] == round(2 / 12, 3)
    assert report["unchecked"] == 0


def test_pages_without_a_fingerprint_are_counted_and_cost_no_keys() -> None:
    report = evaluate_duplicates([*ROWS, row(13, "none", None, "<p>")], Config(detectors=("minhash",)))
    assert report.unchecked == 3
    assert report.pages == 13
    keys = evaluate_duplicates(ROWS[:10], Config(detectors=("minhash",))).costs
    assert report.costs.keys_per_page == keys.keys_per_page
    assert report.costs.bytes_per_page == keys.bytes_per_page
    assert report.costs.candidates_per_page == pytest.approx(keys.candidates_per_page * 10 / 13)


def test_pairs_of_pages_that_cannot_be_read_are_missed() -> None:
    rows = [row(1, "a", None, "\0" * 5000), row(2, "a", ENGLISH), row(3, "a", ENGLISH)]
    assert evaluate_duplicates(rows).pairs.true_positives == 1
    assert evaluate_duplicates(rows).pairs.false_negatives == 2


def test_pairs_behind_the_cap_of_a_bucket_are_missed() -> None:
    count = BUCKET_CAP + 2
    rows = [row(n, "a", ENGLISH) for n in range(count)]
    report = evaluate_duplicates(rows, Config(detectors=("exact",)))
    assert report.pairs.false_negatives == 1
    assert report.missed == 0


@pytest.mark.parametrize(
    "detectors", [("exact",), ("minhash",), ("feature_code",), ("exact", "minhash"), ("exact", "feature_code")]
)
def test_figures_are_those_of_comparing_each_with_each(detectors: tuple[str, ...]) -> None:
    config = Config(detectors=detectors, min_chars=0)
    report = evaluate_duplicates(ROWS, config)
    same = _comparer(config)
    kept: list[int] = []
    dropped: list[int] = []
    for n in range(len(ROWS)):
        (dropped if any(same(n, old) for old in kept) else kept).append(n)
    clusters = [row.cluster for row in ROWS]
    wrong = [n for n in dropped if clusters[n] not in [clusters[old] for old in kept if old < n]]
    missed = [n for n in kept if clusters[n] in [clusters[old] for old in kept if old < n]]
    assert [int(m.row.id) - 1 for m in report.mistakes if m.kind == "wrongly dropped"] == wrong
    assert [int(m.row.id) - 1 for m in report.mistakes if m.kind == "missed"] == missed
    pairs = list(combinations(range(len(ROWS)), 2))
    found = {(old, new) for old, new in pairs if same(new, old)}
    true = {(old, new) for old, new in pairs if clusters[old] == clusters[new]}
    scores = report.pairs
    assert (scores.true_positives, scores.false_positives, scores.false_negatives) == (
        len(found & true),
        len(found - true),
        len(true - found),
    )


def _comparer(config: Config) -> Any:
    """Whether page ``new`` repeats page ``old``, by sketches alone."""
    detectors = build_detectors(config)
    prints: list[list[Fingerprint | None]] = [
        [detector.fingerprint(Features(Page.from_text(row.text or ""))) for detector in detectors] for row in ROWS
    ]

    def same(new: int, old: int) -> bool:
        matches = (
            detector.compare(one.sketch, other.sketch)
            for detector, one, other in zip(detectors, prints[new], prints[old], strict=True)
            if one and other
        )
        alike = (Relation.IDENTICAL, Relation.NEAR_DUPLICATE)
        return any(match is not None and match.relation in alike for match in matches)

    return same


def test_pages_are_read_again_only_for_other_constants_of_reading() -> None:
    shelf = ParsedPageCache([row(1, "a", None, f"<p>{ENGLISH}</p>")])
    first = shelf.read(Config())
    assert shelf.read(Config(detectors=("exact",), threshold=0.5)) is first
    assert shelf.read(Config(link_run=5)) is not first


def test_all_is_every_detector_in_every_variant_and_the_default() -> None:
    field = evaluation_runs(Config(), ["all"], {})
    labels = [each.label for each in field]
    assert len(set(labels)) == len(labels)
    alone = [next(iter(each.config.detectors)) for each in field[:-1]]
    assert list(dict.fromkeys(alone)) == list(DETECTORS)
    assert [label for label in labels if label.startswith("datasketch")] == ["datasketch words", "datasketch segmented"]
    for name, variants in VARIANTS.items():
        assert alone.count(name) == len(variants)
    assert field[-1] == type(field[-1])("exact + minhash", Config(detectors=("exact", "minhash")))


def test_constants_go_to_those_that_have_them() -> None:
    given = {"minhash.slots": 64, "threshold": 0.7, "datasketch.tokens": "characters"}
    field = {each.label: build_detectors(each.config) for each in evaluation_runs(Config(), ["all"], given)}
    (minhash,) = field["minhash"]
    assert (minhash.slots, minhash.threshold) == (64, 0.7)  # type: ignore[attr-defined]
    assert field["exact + minhash"][1] == minhash
    assert [label for label in field if label.startswith("datasketch")] == ["datasketch characters"]


@pytest.mark.parametrize(
    ("names", "given", "said"),
    [
        (["all", "minhash"], {}, '"all" alone'),
        (["minhahs"], {}, "minhahs"),
        (["all"], {"minhash.slot": 1}, "minhash has the constants"),
        (["all"], {"minhahs.slots": 1}, "detector in use"),
        (["all"], {"treshold": 1}, "threshold, length_ratio"),
        (["all"], {"threshold": 2}, "at most 1"),
        (["minhash"], {"feature_code.size": 8}, "these are minhash"),
        (["exact"], {"threshold": 0.7}, "a constant that exact has"),
        (["minhash"], {"minhash.slots": 3}, "16, 32"),
        ([], {"detectors": ["exact"]}, "one of threshold"),
        ([], {"lease": 3}, "one of threshold"),
    ],
)
def test_what_is_wrong_is_reported(names: list[str], given: dict[str, object], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        evaluation_runs(Config(), names, given)
