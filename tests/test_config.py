"""Validation of a configuration."""

from __future__ import annotations

import pytest

from dedupcrawl import Config, Deduplicator, Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import SettingError
from tests.texts import ENGLISH


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
