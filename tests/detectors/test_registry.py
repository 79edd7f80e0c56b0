"""From settings to detectors."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.config import Config
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.detectors.registry import DETECTORS, build_detectors, schemes
from dedupcrawl.errors import SettingError
from dedupcrawl.text.lexicon import LexiconHeader, write_counts
from dedupcrawl.text.normalize import folding_digest

if TYPE_CHECKING:
    from pathlib import Path


def test_names_are_built_in_one_order() -> None:
    for chosen in (["minhash", "exact"], ["exact", "minhash"]):
        assert build_detectors(Config(detectors=chosen)) == (Exact(), MinHash(threshold=Config().threshold))
    every = build_detectors(Config(detectors=tuple(DETECTORS)))
    assert [detector.name for detector in every] == list(DETECTORS)


def test_the_order_that_filled_stores_count_on_is_pinned() -> None:
    assert list(DETECTORS)[:15] == [
        "exact",
        "minhash",
        "feature_code",
        "feature_codes",
        "datasketch",
        "shingling",
        "segments",
        "keywords",
        "imatch",
        "imatch_randomized",
        "boolean",
        "spotsigs",
        "simhash",
        "random_projection",
        "combined",
    ]


def test_the_configuration_is_used_unless_it_is_overridden() -> None:
    config = Config(
        detectors={"exact": {}, "minhash": {"threshold": 0.6, "words": 2}}, threshold=0.7, length_ratio=1.2, seed=9
    )
    assert build_detectors(config) == (Exact(seed=9), MinHash(threshold=0.6, words=2, length_ratio=1.2, seed=9))


@pytest.mark.parametrize(
    ("chosen", "name", "accepted"),
    [
        (["minhush"], "detectors", "one of exact, minhash"),
        ([], "detectors", "at least one"),
        ({}, "detectors", "at least one"),
        (["exact", "exact"], "detectors", "each name once"),
        ("exact", "detectors", "a list of names"),
        (None, "detectors", "a list of names"),
        (7, "detectors", "a list of names"),
        ([["exact"]], "detectors", "one of exact"),
        ({3: {}}, "detectors", "one of exact"),
        ({"minhash": 0.8}, "detectors['minhash']", "a dict"),
        ({"minhash": {"treshold": 0.8}}, "detectors['minhash'].treshold", "any of threshold"),
        ({"exact": {"threshold": 0.8}}, "detectors['exact'].threshold", "any of seed"),
        ({"exact": {"name": "x"}}, "detectors['exact'].name", "any of seed"),
        ({"minhash": {"threshold": 8}}, "detectors['minhash'].threshold", "at most 1"),
        ({"minhash": {3: 1}}, "detectors['minhash'].3", "any of"),
        ({"minhash": {"slots": 128.0}}, "detectors['minhash'].slots", "16, 32"),
        ({"imatch": {"language": "Thai"}}, "detectors['imatch'].language", "a code of BCP 47"),
    ],
)
def test_a_choice_that_makes_no_sense_is_named(chosen: object, name: str, accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        build_detectors(Config(detectors=chosen))  # type: ignore[arg-type]
    assert caught.value.name == name


@pytest.mark.parametrize("name", ["imatch", "imatch_randomized", "keywords", "boolean"])
@pytest.mark.parametrize(
    ("constants", "accepted"),
    [
        ({"lexicon": "/no/such/file"}, "cannot be read: No such file"),
        ({"lexicon": 5}, "the path of a file"),
        ({"lexicon": "ZH"}, "counted with fold_chinese = True, configured is False"),
        ({"lexicon": "ZH", "language": "de"}, "its language is 'zh', required is 'de'"),
    ],
)
def test_a_lexicon_that_does_not_fit_is_reported_with_its_setting(
    name: str, constants: dict[str, object], accepted: str, tmp_path: Path
) -> None:
    path = tmp_path / "zh"
    write_counts(path, LexiconHeader("zh", "jieba", fold_chinese=True, documents=9, words=1), {"港口": 2})
    given = {**constants, "lexicon": str(path) if constants["lexicon"] == "ZH" else constants["lexicon"]}
    for place, chosen in (
        ("detectors", {name: given}),
        ("detectors['combined'].any_of", {"combined": {"any_of": {"exact": {}, name: given}}}),
    ):
        with pytest.raises(SettingError, match=accepted) as caught:
            build_detectors(Config(detectors=chosen))
        assert caught.value.name == f"{place}['{name}'].lexicon"
    assert build_detectors(Config(detectors={name: {"lexicon": str(path)}}, fold_chinese=True))


def test_the_lexicon_must_have_the_language_of_the_pages(tmp_path: Path) -> None:
    path = tmp_path / "de"
    write_counts(path, LexiconHeader("de", "", fold_chinese=False, documents=9, words=1), {"hafen": 2})
    for detectors in (["imatch"], ["minhash"]):
        assert build_detectors(Config(detectors=detectors, lexicon=str(path), language="de"))
        with pytest.raises(SettingError, match="its language is 'de', required is 'th'") as caught:
            build_detectors(Config(detectors=detectors, lexicon=str(path), language="th"))
        assert caught.value.name == "lexicon"
    assert build_detectors(Config(detectors=["minhash"], language="th"))
    with pytest.raises(SettingError, match="built in are zh and en, required is 'th'"):
        build_detectors(Config(detectors=["imatch"], language="th"))


@pytest.mark.parametrize("constants", [None, {}])
def test_a_dict_may_leave_the_constants_out(constants: object) -> None:
    assert build_detectors(Config(detectors={"minhash": constants}, threshold=0.8)) == (MinHash(),)  # type: ignore[dict-item]


def test_schemes_are_json_and_distinguish_configurations() -> None:
    every = build_detectors(Config(detectors=list(DETECTORS)))
    assert json.loads(json.dumps(schemes(every, Config()))) == schemes(every, Config())
    assert list(schemes(every, Config())) == list(DETECTORS)
    other = build_detectors(Config(detectors=list(DETECTORS), threshold=0.6))
    assert schemes(other, Config())["minhash"] != schemes(every, Config())["minhash"]


def test_schemes_distinguish_other_texts() -> None:
    detectors = build_detectors(Config())
    plain = schemes(detectors, Config())
    assert schemes(detectors, Config(reader="text")) == {**plain, "text": {"reader": "text"}}
    folded = schemes(detectors, Config(fold_chinese=True))
    assert folded == {**plain, "text": {"fold_chinese": folding_digest()}}


@pytest.mark.parametrize("detector", DETECTORS.values())
def test_every_detector_is_a_frozen_dataclass_with_defaults(detector: type) -> None:
    assert is_dataclass(detector)
    made = detector()
    first = fields(made)[0].name
    with pytest.raises(AttributeError):
        setattr(made, first, 1)
    assert made == detector()
    assert hash(made) == hash(detector())


def test_every_detector_is_registered_under_its_own_name() -> None:
    assert [detector.name for detector in DETECTORS.values()] == list(DETECTORS)


def test_no_default_needs_what_is_slow_to_load() -> None:
    import subprocess
    import sys

    program = (
        "import sys\n"
        "from dedupcrawl.config import Config\n"
        "from dedupcrawl.detectors.registry import build_detectors, schemes\n"
        "schemes(build_detectors(Config()), Config())\n"
        "assert not {'datasketch', 'scipy', 'jieba', 'opencc'} & set(sys.modules)\n"
        "loaded = [name for name in sys.modules if name.startswith('dedupcrawl.detectors.feature')]\n"
        "assert not loaded, loaded\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
