"""Settings of text and words, in real crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from opencc import OpenCC

from tests.crawl.running import IN_TURN, start
from tests.crawl.site import fancy, plain, text
from tests.texts import CHINESE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]


@pytest.mark.parametrize("folds", [True, False])
def test_a_reprint_in_the_other_script_is_found_when_chinese_is_folded(site: Site, run: Run, folds: bool) -> None:
    story = CHINESE * 3
    urls = [site.put("/cn", plain("港口", story)), site.put("/tw", fancy("港口", OpenCC("s2tw").convert(story)))]
    crawled = run(urls=urls, settings={**IN_TURN, "DEDUP_FOLD_CHINESE": folds})

    assert [item["url"] for item in crawled.items] == urls[: 2 - folds]
    assert crawled.dedup.get("duplicate", 0) == folds


def test_a_store_does_not_mix_folded_texts_with_others(site: Site, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    settings = {"DEDUP_STORE": f"lmdb://{tmp_path}/store"}
    assert start(tmp_path, ("Reader", {"urls": [url]}), settings=settings).wait() == 0
    running = start(tmp_path, ("Reader", {"urls": [url]}), settings={**settings, "DEDUP_FOLD_CHINESE": True})
    assert running.wait() != 0
    assert "DEDUP_FOLD_CHINESE (" in running.output


@pytest.mark.parametrize("segmenter", ["jieba", "rjieba", "tests.crawl.test_text_settings:pairs"])
def test_every_segmenter_serves_a_detector_of_words(site: Site, run: Run, segmenter: str) -> None:
    story = CHINESE * 3
    urls = [site.put("/1", plain("港口", story)), site.put("/2", fancy("港口", story + "完。"))]
    settings = {"DEDUP_DETECTORS": {"keywords": {"variant": 5, "count": 5}}, "DEDUP_SEGMENTER": segmenter}
    crawled = run(urls=urls, settings={**IN_TURN, **settings})

    assert [item["url"] for item in crawled.items] == urls[:1]
    assert crawled.dedup["duplicate/near-duplicate"] == 1


def pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(0, len(run), 2)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"DEDUP_DETECTORS": ["no such"]}, "DEDUP_DETECTORS = 'no such' is not accepted: one of exact"),
        ({"DEDUP_DETECTORS": '{"simhash": {}, "simhash": {"bits": 128}}'}, "simhash"),
        ({"DEDUP_DETECTORS": ["imatch", "imatch"]}, "each name once"),
        ({"DEDUP_DETECTORS": {"simhash": {"bits": 65}}}, "DEDUP_DETECTORS['simhash'].bits = 65"),
        ({"DEDUP_SEGMENTER": "nope"}, "DEDUP_SEGMENTER = 'nope' is not accepted"),
        ({"DEDUP_READER": "nope"}, "DEDUP_READER = 'nope' is not accepted"),
        ({"DEDUP_LEXICON": "missing.gz", "DEDUP_DETECTORS": ["imatch"]}, "DEDUP_LEXICON = 'missing.gz'"),
        ({"DEDUP_LEXICON": "missing.gz"}, "DEDUP_LEXICON = 'missing.gz'"),
        ({"DEDUP_FOLD_CHINESE": "perhaps"}, "DEDUP_FOLD_CHINESE = 'perhaps' is not accepted: True or False"),
    ],
)
def test_what_cannot_be_is_one_sentence_at_start(
    site: Site, tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    running = start(tmp_path, ("Reader", {"urls": [url]}), settings=settings)

    assert running.wait() != 0
    assert said in running.output
    assert site.asked == []
