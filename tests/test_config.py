"""Validation of a configuration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Config, Deduplicator, Status
from dedupcrawl.config import recovered
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.registry import DETECTORS, build_detectors, schemes
from dedupcrawl.errors import SettingError, StoreError
from tests.texts import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", 0),
        ("threshold", 1.5),
        ("threshold", "high"),
        ("threshold", float("nan")),
        ("length_ratio", 0.9),
        ("min_chars", -1),
        ("min_chars", 1.5),
        ("keep", "newest"),
        ("drop", frozenset({"copies"})),
        ("drop", "identical"),
        ("drop", None),
        ("lease", 0),
        ("wait", -1),
        ("ttl", 0),
        ("seed", -1),
        ("detectors", ["minhahs"]),
        ("detectors", []),
        ("detectors", {"minhash": {"slot": 128}}),
        ("link_density_noise", 1.1),
        ("link_density_content", -0.1),
        ("link_run", -1),
        ("language", "English"),
        ("language", None),
    ],
)
def test_bad_value_is_named(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=rf"{name}.* is not accepted: ."):
        Deduplicator(config=Config(**{name: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [list, set, iter])
def test_relations_to_drop_may_be_names_in_any_collection(kind: type) -> None:
    with Deduplicator(drop=kind(["excerpt", "identical"])) as dedup:
        assert dedup.config.drop == {Relation.EXCERPT, Relation.IDENTICAL}
        dedup.add(text=ENGLISH, url="https://a.example/1")
        second = dedup.add(text=ENGLISH, url="https://b.example/2")
        assert (second.status, second.keep) == (Status.DUPLICATE, False)


@pytest.mark.parametrize("namespace", ["", "x" * 201, "a\0b", "\ud800", None, 5])
def test_bad_namespace_is_named(namespace: str) -> None:
    with pytest.raises(SettingError, match=r"namespace = .* is not accepted"):
        Deduplicator("memory://", namespace)


@pytest.mark.parametrize("store", ["", "lmdb://", "redis:x", "lmdb://a\0b", "lmdb://\ud800", None, 5])
def test_bad_store_is_named(store: str) -> None:
    with pytest.raises(SettingError, match=r"store = .* is not accepted"):
        Deduplicator(store)


CHOICES: list[Any] = [
    list(DETECTORS),
    {"minhash": {"slots": 256, "words": 2, "seed": 5}},
    {"simhash": {"distance": 2, "blocks": 5, "weights": "occurrences"}, "exact": {}},
    {"boolean": {"differing": 4, "count": 16}},
    {"spotsigs": {"tau": 0.6, "antecedents": {"the": 2}}},
    {"keywords": {"variant": 4, "count": 8}, "imatch_randomized": {"lexicons": 3}},
    {"combined": {"any_of": {"feature_code": {"tolerance": 1}, "minhash": {"slots": 64}}}},
    {"combined": {}},
    {"random_projection": {"bits": 192, "agreement": 180}},
    {"datasketch": {"num_perm": 64, "tokens": "characters", "size": 4}},
]


def scheme(config: Config) -> Mapping[str, Any]:
    """The scheme that a store would have."""
    found: dict[str, Any] = json.loads(json.dumps(schemes(build_detectors(config), config)))
    return found


@pytest.mark.parametrize("detectors", CHOICES, ids=str)
def test_detectors_and_their_constants(detectors: Any) -> None:
    there = scheme(Config(detectors=detectors, seed=3))
    found = recovered(there, Config())
    assert scheme(found.config) == there
    assert not found.notes


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.6, 0.7, 0.9, 0.95])
@pytest.mark.parametrize("name", ["minhash", "datasketch"])
def test_a_threshold_is_found_from_the_bands(name: str, threshold: float) -> None:
    constants = {"floor": threshold} if name == "minhash" else {}
    there = scheme(Config(detectors={name: constants}, threshold=threshold))
    found = recovered(there, Config())
    assert scheme(found.config) == there
    (note,) = found.notes
    assert f"{name} was filed in" in note
    assert "assumed" in note


@pytest.mark.parametrize("rule", ["all_of", "any_of"])
def test_a_threshold_is_found_for_members_too(rule: str) -> None:
    chosen = {"combined": {rule: {"minhash": {"threshold": 0.6}, "simhash": {}}}}
    there = scheme(Config(detectors=chosen))
    found = recovered(there, Config())
    assert scheme(found.config) == there
    (note,) = found.notes
    assert "minhash was filed in" in note


def test_a_threshold_that_fits_is_left_alone() -> None:
    base = Config(threshold=0.78, length_ratio=1.3)
    found = recovered(scheme(Config()), base)
    assert (found.config.threshold, found.config.length_ratio) == (0.78, 1.3)
    assert not found.notes


def test_how_the_text_is_read() -> None:
    there = scheme(Config(reader="topic", fold_chinese=True))
    found = recovered(there, Config()).config
    assert (found.reader, found.fold_chinese) == ("topic", True)
    assert recovered(scheme(Config()), Config(reader="text")).config.reader == "blocks"


def test_a_detector_of_another_version_is_named() -> None:
    with pytest.raises(StoreError, match="'oracle'"):
        recovered({"oracle": {"version": 1}}, Config())
