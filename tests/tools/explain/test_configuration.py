"""Settings of a crawl, read back from its ledger."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dedupcrawl.config import CONFIG_FIELDS, Config
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.tools.explain.configuration import settings_of_run


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
