"""Constants are found by the names that users have for them."""

from __future__ import annotations

from typing import Any

import pytest

from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError
from dedupcrawl.tools.explain.configuration import constant_name, constant_value, setting_of, with_value


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


def test_a_value_that_nobody_could_set_is_refused() -> None:
    with pytest.raises(SettingError):
        with_value(Config(), "threshold", 1.5)
    with pytest.raises(SettingError):
        with_value(Config(detectors=["combined"]), "combined.all_of.shingling.needed", 99)


def test_where_it_stands_in_the_settings() -> None:
    assert setting_of("min_chars") == "DEDUP_MIN_CHARS"
    name = "combined.all_of.simhash.distance"
    assert setting_of(name) == "DEDUP_DETECTORS['combined']['all_of']['simhash']['distance']"
