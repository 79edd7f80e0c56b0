"""Settings of a crawl, read back from its ledger.

Constants are found by the names that users have for them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from dedupcrawl.config import CONFIG_FIELDS, Config
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import SettingError
from dedupcrawl.tools.explain.configuration import (
    constant_name,
    constant_value,
    setting_of,
    settings_of_run,
    with_value,
)


def about(config: Config, kind: str = "crawl", **changes: str) -> dict[str, object]:
    """Return the ``about`` of a crawl."""
    values = {name: getattr(config, name) for name in CONFIG_FIELDS}
    values["drop"] = sorted(config.drop)
    told = {f"DEDUP_{name.upper()}": json.dumps(value) for name, value in values.items()}
    return {"kind": kind, "settings": {**told, "DEDUP_NAMESPACE": '"news"', **changes}}


@pytest.mark.parametrize(
    "config",
    [Config(), Config(detectors={"minhash": {"slots": 64}}, threshold=0.7, drop=frozenset(), keep="latest")],
    ids=["default", "changed"],
)
def test_they_are_those_of_the_crawl(config: Config) -> None:
    found = settings_of_run(about(config))
    assert found is not None
    assert replace(found.config, detectors=()) == replace(config, detectors=())
    assert build_detectors(found.config) == build_detectors(config)
    assert found.namespace == "news"


def test_those_of_a_batch_or_of_another_version_are_left_alone() -> None:
    assert settings_of_run(about(Config(), kind="batch")) is None
    assert settings_of_run(about(Config(), DEDUP_THRESHOLD="much")) is None
    assert settings_of_run(about(Config(), DEDUP_THRESHOLD="7")) is None
    assert settings_of_run({}) is None


@pytest.mark.parametrize(
    ("detectors", "detector", "constant", "name", "value"),
    [
        (["exact", "minhash"], "minhash", "threshold", "threshold", 0.8),
        (["minhash"], "minhash", "containment", "minhash.containment", 0.9),
        ({"minhash": {"threshold": 0.7}}, "minhash", "threshold", "minhash.threshold", 0.7),
        (["combined"], "combined", "shingling.needed", "combined.all_of.shingling.needed", 2),
        (
            {"combined": {"any_of": ["simhash", "minhash"]}},
            "combined",
            "simhash.distance",
            "combined.any_of.simhash.distance",
            3,
        ),
        ({"combined": {"any_of": ["simhash", "minhash"]}}, "combined", "minhash.threshold", "threshold", 0.8),
        (
            {"combined": {"all_of": {"simhash": {}, "minhash": {"threshold": 0.6}}}},
            "combined",
            "minhash.threshold",
            "combined.all_of.minhash.threshold",
            0.6,
        ),
    ],
)
def test_a_constant_is_named_and_changed(
    detectors: Any, detector: str, constant: str, name: str, value: object
) -> None:
    config = Config(detectors=detectors)
    assert constant_name(config, detector, constant) == name
    assert constant_value(config, name) == value
    other = 1 if isinstance(value, int) else 0.55
    changed = with_value(config, name, other)
    assert constant_value(changed, name) == other
    assert constant_value(with_value(changed, name, value), name) == value


def test_a_value_that_cannot_be_set_is_refused() -> None:
    with pytest.raises(SettingError):
        with_value(Config(), "threshold", 1.5)
    with pytest.raises(SettingError):
        with_value(Config(detectors=["combined"]), "combined.all_of.shingling.needed", 99)


def test_its_place_in_the_settings() -> None:
    assert setting_of("min_chars") == "DEDUP_MIN_CHARS"
    name = "combined.all_of.simhash.distance"
    assert setting_of(name) == "DEDUP_DETECTORS['combined']['all_of']['simhash']['distance']"
