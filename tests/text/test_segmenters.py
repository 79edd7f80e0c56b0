"""A segmenter that does not work is refused at start, in one sentence."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import MissingPackageError, SettingError
from dedupcrawl.text import words
from dedupcrawl.text.words import check_segmenter
from tests.texts import CHINESE

if TYPE_CHECKING:
    from pathlib import Path

HERE = __name__
NUMBER = 7


def characters(run: str) -> list[str]:
    return list(run)


def nothing(run: str) -> None:
    return None


def numbers(run: str) -> list[int]:
    return [1, 2]


def failing(run: str) -> list[str]:
    raise RuntimeError("the dictionary is gone")


def failing_later(run: str) -> list[str]:
    if run != "中文":
        raise RuntimeError("the dictionary is gone")
    return [run]


BAD = {
    "nope": "cannot be loaded: No module named 'nope'",
    "nope.x:y": "cannot be loaded: No module named 'nope'",
    "json:nope": "cannot be loaded: module 'json' has no attribute 'nope'",
    "jieba ": "cannot be loaded",
    f"{HERE}:NUMBER": "this one is not a function",
    f"{HERE}:nothing": "a function from str to an iterable of str; given '中文' this one fails",
    f"{HERE}:numbers": "returned 1, which is not a str",
    f"{HERE}:failing": "the dictionary is gone",
}


@pytest.mark.parametrize(("name", "said"), BAD.items())
def test_a_bad_segmenter_is_refused_at_start_whatever_the_detectors(name: str, said: str) -> None:
    with pytest.raises(SettingError) as caught:
        Deduplicator(segmenter=name)
    assert str(caught.value).startswith(f"segmenter = {name!r} is not accepted: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", None, 7, ["jieba"]])
def test_what_is_no_name_is_refused(name: Any) -> None:
    with pytest.raises(SettingError, match='"jieba", "rjieba" or the dotted name of a function'):
        Config(segmenter=name)


def test_the_segmenter_of_one_detector_is_checked_too() -> None:
    config = Config(detectors={"datasketch": {"tokens": "segmented", "segmenter": "nope"}})
    with pytest.raises(SettingError) as caught:
        build_detectors(config)
    assert str(caught.value).startswith("detectors['datasketch'].segmenter = 'nope' is not accepted")


def test_a_module_that_fails_on_import_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_segmenter.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingError, match="cannot be loaded: division by zero"):
        check_segmenter("broken_segmenter:cut")


def test_rjieba_that_is_not_installed_shows_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    words.load_segmenter.cache_clear()
    try:
        with pytest.raises(MissingPackageError, match=r"pip install 'dedupcrawl\[rjieba\]'"):
            Config(segmenter="rjieba")
    finally:
        words.load_segmenter.cache_clear()


@pytest.mark.parametrize("name", ["rjieba", f"{HERE}:characters"])
def test_a_good_segmenter_finds_copies(name: str) -> None:
    detectors = {"datasketch": {"tokens": "segmented"}}
    with Deduplicator(detectors=detectors, segmenter=name) as dedup:
        dedup.add(text=CHINESE, url="https://a.example/1")
        assert dedup.add(text=CHINESE + "完。", url="https://b.example/1").of == "https://a.example/1"


def test_a_segmenter_that_fails_later_raises_what_it_raises() -> None:
    detectors = {"datasketch": {"tokens": "segmented"}}
    dedup = Deduplicator(detectors=detectors, segmenter=f"{HERE}:failing_later")
    with dedup, pytest.raises(RuntimeError, match="the dictionary is gone"):
        dedup.add(text=CHINESE)


def test_checking_the_default_loads_nothing() -> None:
    import subprocess

    program = (
        "import sys\n"
        "from dedupcrawl.config import Config\n"
        "Config(segmenter='jieba')\n"
        "assert not {'jieba', 'rjieba'} & set(sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
