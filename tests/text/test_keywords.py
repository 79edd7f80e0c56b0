"""Keywords by TF-IDF, against jieba's own."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.evaluation.rows import read_rows
from dedupcrawl.page import read_page
from dedupcrawl.text.keywords import Keyword, keywords
from dedupcrawl.text.lexicon import Lexicon, Part, built_in
from dedupcrawl.text.normalize import normalize
from dedupcrawl.text.words import words
from tests.data import data
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE

FREQUENCIES = {"the": 100, "and": 50, "tea": 10, "ice": 1}
IDFS = {word: math.log(100 / documents) for word, documents in FREQUENCIES.items()}
LEXICON = Lexicon(documents=100, language="en", segmenter="", digest="", parts=(Part(IDFS, 100),))
CLAUSES = [clause for clause in re.split("[，。]", CHINESE + OTHER_CHINESE) if clause]


def check(text: str, count: int) -> None:
    """Compare with jieba, word by word and weight by weight."""
    import jieba.analyse  # it loads all that it may need, for every worker of the tests

    wanted = jieba.analyse.extract_tags(text, topK=count, withWeight=True)
    assert [tuple(keyword) for keyword in keywords(words(text), built_in(), count)] == wanted


def test_a_worked_example() -> None:
    """Of ten words two are too short, and two, twice each, are stop words: four count."""
    found = keywords(["the", "ice", "and", "a", "tea", "tea", "tea", "and", "the", "x"], LEXICON, 5)
    assert [keyword.word for keyword in found] == ["tea", "ice"]
    assert [keyword.weight for keyword in found] == pytest.approx(
        [3 / 4 * math.log(10), 1 / 4 * math.log(100)]
    )


def test_an_unknown_word_has_the_median_idf() -> None:
    assert keywords(["unheard"], LEXICON, 1) == [Keyword("unheard", LEXICON.median_idf)]


def test_the_heaviest_come_first_and_no_more_than_wanted() -> None:
    assert [keyword.word for keyword in keywords(["tea", "ice", "ice"], LEXICON, 1)] == ["ice"]
    assert keywords([], LEXICON, 10) == []
    assert keywords(["the", "and", "a"], LEXICON, 10) == []


def test_english_stop_words_do_not_count() -> None:
    found = {keyword.word for keyword in keywords(words(normalize(ENGLISH)), built_in(), 30)}
    assert {"harbour", "thickness", "breakwater"} <= found
    assert not {"the", "and", "was", "with", "that", "from"} & found


@pytest.mark.parametrize("text", [CHINESE, OTHER_CHINESE])
@pytest.mark.parametrize("count", [1, 10, 32, 1000])
def test_chinese_keywords_are_those_of_jieba(text: str, count: int) -> None:
    check(text, count)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(CLAUSES), min_size=1, max_size=12), st.integers(1, 40))
def test_keywords_of_any_chinese_text_are_those_of_jieba(clauses: list[str], count: int) -> None:
    check("，".join(clauses) + "。", count)


def test_keywords_of_real_chinese_pages_are_those_of_jieba() -> None:
    checked = 0
    for row in read_rows(data("reprints", "dev.jsonl.gz")):
        text = "。".join(re.findall("[\u4e00-\u9fd5]+", normalize(read_page(row.html or "", row.url).text)))
        if len(text) > 500:
            check(text, 10)
            check(text, 32)
            checked += 1
        if checked == 10:
            break
    assert checked == 10
