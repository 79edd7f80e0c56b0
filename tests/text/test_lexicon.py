"""Document frequencies: the built-in lexicon, lexicon files, and damaged files.

Keywords by TF-IDF, against jieba's own.
"""

from __future__ import annotations

import gzip
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Deduplicator
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.page import read_page
from dedupcrawl.text.lexicon import (
    LanguageLexicon,
    Lexicon,
    LexiconFileError,
    LexiconHeader,
    WeightedTerm,
    built_in,
    keywords,
    open_lexicon,
    read_counts,
    read_lexicon,
    write_counts,
)
from dedupcrawl.text.normalize import normalize
from dedupcrawl.text.words import words
from dedupcrawl.tools.evaluation.dataset import read_labelled_pages
from tests.data import data
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE

COUNTS = {"the": 8, "harbour": 4, "ferry": 2, "zyzzyva": 1}


def written(
    path: Path, counts: dict[str, int] | None = None, language: str = "en", segmenter: str = "", documents: int = 8
) -> str:
    counts = COUNTS if counts is None else counts
    write_counts(path, LexiconHeader(language, segmenter, False, documents, len(counts)), counts)
    return str(path)


def test_idf_and_its_normal_form(tmp_path: Path) -> None:
    found = open_lexicon(written(tmp_path / "lexicon"), segmenter="jieba")
    assert [found.idf(word) for word in COUNTS] == pytest.approx([0, math.log(2), math.log(4), math.log(8)])
    assert [found.nidf(word) for word in COUNTS] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert found.idf("nowhere") is found.nidf("nowhere") is None
    assert found.weight("ferry") == found.idf("ferry")
    assert found.weight("nowhere") == found.weight("北京") == found.parts[0].median == pytest.approx(math.log(4))
    assert (len(found), list(found), found.documents) == (4, sorted(COUNTS), 8)
    assert "ferry" in found
    assert "nowhere" not in found


def test_all_words_as_common_as_each_other(tmp_path: Path) -> None:
    found = open_lexicon(written(tmp_path / "lexicon", {"a": 2, "b": 2}), segmenter="jieba")
    assert (found.nidf("a"), found.nidf("b")) == (0.0, 0.0)


def test_the_built_in_chinese_is_jiebas() -> None:
    from jieba.analyse.tfidf import TFIDF

    idfs, median = TFIDF().idf_loader.get_idf()
    chinese = built_in("zh")
    assert {word: chinese.idf(word) for word in idfs} == idfs
    assert chinese.weight("麤麤麤") == chinese.parts[0].median == median
    assert len(chinese) == len(idfs)
    assert chinese.documents == 1_088_899


def test_the_built_in_english_is_an_estimate_of_documents() -> None:
    english = built_in("en")
    assert len(english) == 30_000
    assert english.nidf("the") == 0.0
    order = ["the", "people", "harbour", "perjury"]
    idfs = [english.idf(word) or 0.0 for word in order]
    assert idfs == sorted(idfs)
    assert english.documents == 1_000_000
    assert english.segmenter == ""


def test_the_built_in_one_holds_both_each_with_its_own_norm() -> None:
    both, chinese, english = built_in(), built_in("zh"), built_in("en")
    assert len(both) == len(chinese) + len(english)
    assert both.documents == chinese.documents + english.documents
    for word, part in (("经济", chinese), ("perjury", english), ("nowhere-to-be-found", english), ("麤麤", chinese)):
        assert both.idf(word) == part.idf(word)
        assert both.nidf(word) == part.nidf(word)
        assert both.weight(word) == part.weight(word)
    assert len({both.digest, chinese.digest, english.digest}) == 3


def test_the_built_in_one_is_what_it_was() -> None:
    """Keys of stores depend on it, so it must not change by accident."""
    assert built_in("en").digest == "7c8666b6520099d6ff3ee81ac3942a5b"
    assert built_in("zh").digest == "42dbdc8331c7a05a2d149837c2d656b8"


def test_what_ships_is_small() -> None:
    from importlib import resources

    assert len(resources.files("dedupcrawl.text").joinpath("data", "en.lexicon.gz").read_bytes()) < 160_000


def test_jieba_does_not_load_for_its_table() -> None:
    program = (
        "import sys\n"
        "from dedupcrawl.text.lexicon import built_in\n"
        "assert built_in().idf('经济')\n"
        "assert 'jieba' not in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    path = written(tmp_path / "lexicon")
    first = open_lexicon(path, segmenter="jieba")
    assert open_lexicon(path, segmenter="rjieba") is first
    written(tmp_path / "lexicon", {"other": 3})
    os.utime(path, ns=(1, 1))
    again = open_lexicon(path, segmenter="jieba")
    assert list(again) == ["other"]
    assert again != first
    assert again.digest != first.digest


def test_equal_content_has_an_equal_digest(tmp_path: Path) -> None:
    one = read_lexicon(written(tmp_path / "a"))
    other = read_lexicon(written(tmp_path / "b", dict(reversed(COUNTS.items()))))
    assert one == other
    assert hash(one) == hash(other)
    assert one != read_lexicon(written(tmp_path / "c", documents=9))
    assert one != "a lexicon"


@pytest.mark.parametrize(
    ("made", "opened", "fine"),
    [
        ("jieba", "jieba", True),
        ("jieba", "rjieba", True),
        ("rjieba", "jieba", True),
        ("", "own:cut", True),
        ("jieba", "own:cut", False),
        ("own:cut", "jieba", False),
        ("own:cut", "own:cut", True),
    ],
)
def test_words_of_another_segmenter_are_refused(made: str, opened: str, fine: bool, tmp_path: Path) -> None:
    path = written(tmp_path / "lexicon", segmenter=made)
    if fine:
        assert open_lexicon(path, segmenter=opened)
        return
    with pytest.raises(SettingError) as caught:
        open_lexicon(path, segmenter=opened)
    assert f"its words are from the segmenter {made!r}, the configured one is {opened!r}" in str(caught.value)


def test_another_language_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "lexicon")
    assert open_lexicon(path, segmenter="jieba", language="en")
    assert open_lexicon(written(tmp_path / "any", language=""), segmenter="jieba", language="th")
    with pytest.raises(SettingError, match="its language is 'en', required is 'zh'"):
        open_lexicon(path, segmenter="jieba", language="zh")
    with pytest.raises(SettingError, match="built in are zh and en, required is 'th'"):
        open_lexicon("", segmenter="jieba", language="th")


@pytest.mark.parametrize("folded", [False, True])
def test_chinese_that_was_counted_otherwise_is_refused(folded: bool, tmp_path: Path) -> None:
    path = str(tmp_path / "lexicon")
    write_counts(Path(path), LexiconHeader("zh", "jieba", folded, 2, 1), {"北京": 1})
    assert open_lexicon(path, segmenter="jieba", fold_chinese=folded).fold_chinese is folded
    assert open_lexicon(path, segmenter="jieba")
    with pytest.raises(SettingError, match=f"counted with fold_chinese = {folded}, configured is {not folded}"):
        Deduplicator(lexicon=path, fold_chinese=not folded)
    assert open_lexicon("", segmenter="jieba", fold_chinese=folded).fold_chinese is None
    assert open_lexicon(written(tmp_path / "en"), segmenter="jieba", fold_chinese=True)


def _forged(head: dict[str, object], *pairs: object) -> bytes:
    from hashlib import blake2b

    body = b"".join(orjson.dumps(line) + b"\n" for line in (head, *pairs))
    return gzip.compress(body + blake2b(body, digest_size=16).hexdigest().encode())


HEAD: dict[str, object] = {
    "format": "dedupcrawl-lexicon",
    "version": 1,
    "language": "",
    "segmenter": "",
    "fold_chinese": False,
    "documents": 3,
    "words": 1,
}
GOOD = _forged(HEAD, ["a", 3])
DAMAGED = {
    b"": "it is not a lexicon",
    b"the of and": "it is not a gzip file",
    gzip.compress(b""): "it is not a lexicon",
    gzip.compress(b"the 3\nof 4\n"): "it is not a lexicon",
    gzip.compress(b"[1]\n[2]\n"): "it is not a lexicon",
    GOOD[:-9]: "it is not a gzip file, or is truncated",
    _forged({**HEAD, "version": 2}): "it has version 2, this program reads version 1",
    _forged({**HEAD, "format": "other"}): "it is not a lexicon",
    _forged({**HEAD, "colour": "red"}, ["a", 1]): "it is damaged",
    _forged(HEAD, ["a", 4]): "a frequency is not from 1 to the number of documents",
    _forged(HEAD, ["a", 0]): "a frequency is not from 1 to the number of documents",
    _forged(HEAD, ["a"]): "it is damaged",
    _forged(HEAD): "a frequency is not from 1 to the number of documents",
    gzip.compress(gzip.decompress(GOOD).replace(b'["a",3]', b'["a",2]')): "its content does not match its digest",
}


def test_the_format_is_as_it_is_described() -> None:
    counts = read_counts(GOOD)
    assert counts.head == LexiconHeader("", "", False, 3, 1)
    assert counts.frequencies == {"a": 3}


@pytest.mark.parametrize(("data", "said"), DAMAGED.items())
def test_a_damaged_file_is_reported_in_one_sentence(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "lexicon"
    path.write_bytes(data)
    with pytest.raises(SettingError) as caught:
        open_lexicon(str(path), segmenter="jieba")
    assert str(caught.value).startswith(f"lexicon = {str(path)!r} is not accepted: the path of a file made by")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("where", ["nowhere", ".", "a\0b"])
def test_a_missing_file_is_reported(where: str) -> None:
    with pytest.raises(SettingError, match="this one cannot be read"):
        open_lexicon(where, segmenter="jieba")
    with pytest.raises(LexiconFileError):
        read_lexicon(where)


def test_a_lexicon_that_cannot_be_read_is_refused_whatever_the_detectors() -> None:
    with pytest.raises(SettingError, match="this one cannot be read: No such file"):
        Deduplicator(lexicon="nowhere")


WORDS = st.dictionaries(st.text(min_size=1, max_size=5).filter(str.isprintable), st.integers(1, 99), min_size=1)


@given(WORDS)
@settings(max_examples=50)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, counts: dict[str, int]) -> None:
    path = tmp_path_factory.mktemp("lexicon") / "file"
    head = LexiconHeader("en", "jieba", True, 99, len(counts), missed=2, source="tests")
    digest = write_counts(path, head, counts)
    read = read_counts(path.read_bytes())
    assert (read.head, read.frequencies, read.digest) == (head, counts, digest)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(written(tmp_path / "lexicon"))
    before = path.read_bytes()

    def fails(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(DedupError, match="cannot be written: no space left"):
        written(path, {"other": 3})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


FREQUENCIES = {"the": 100, "and": 50, "tea": 10, "ice": 1}
IDFS = {word: math.log(100 / documents) for word, documents in FREQUENCIES.items()}
LEXICON = Lexicon(documents=100, language="en", segmenter="", digest="", parts=(LanguageLexicon(IDFS, 100),))
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
    assert [keyword.weight for keyword in found] == pytest.approx([3 / 4 * math.log(10), 1 / 4 * math.log(100)])


def test_an_unknown_word_has_the_median_idf() -> None:
    assert keywords(["unheard"], LEXICON, 1) == [WeightedTerm("unheard", LEXICON.parts[0].median)]


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
    for row in read_labelled_pages(data("reprints", "dev.jsonl.gz")):
        text = "。".join(re.findall("[\u4e00-\u9fd5]+", normalize(read_page(row.html or "", row.url).text)))
        if len(text) > 500:
            check(text, 10)
            check(text, 32)
            checked += 1
        if checked == 10:
            break
    assert checked == 10
