"""Words of Chinese, English and both, and of scripts without spaces; sentences."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import CharacterKind, normalize, roles
from dedupcrawl.text.words import JIEBA_SEGMENTERS, is_han, load_segmenter, segment, sentence_ends, words
from tests.data import data
from tests.texts import CHINESE, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable


HERE = __name__


def test_long_chinese_is_segmented_in_pieces() -> None:
    text = "中华人民共和国的首都是北京。word " * 1000
    assert len(text) > 4 * 4096
    assert words(text) == words("中华人民共和国的首都是北京。word ") * 1000
    run = "的" * 10_000
    assert "".join(words(run)) == run


def letters(text: str) -> str:
    return "".join(character for character in text if roles()[ord(character)] != CharacterKind.SEPARATOR)


def pairs(run: str) -> Iterable[str]:
    """A segmenter of one's own; untidy, as users' are."""
    yield ""
    for at in range(0, len(run), 2):
        yield run[at : at + 2]
        yield " \u3000"


def numbers(run: str) -> list[int]:
    return [len(run)]


@pytest.mark.parametrize("segmenter", JIEBA_SEGMENTERS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我来到北京清华大学", ("我", "来到", "北京", "清华大学")),
        ("the 2nd harbour, frozen!", ("the", "2nd", "harbour", "frozen")),
        ("北京 2008 olympics。", ("北京", "2008", "olympics")),
        ("在北京的2008年奥运会", ("在", "北京", "的", "2008", "年", "奥运会")),
        ("don't_stop", ("don", "t", "stop")),
        ("한국어 문장", ("한국어", "문장")),
        ("मैं हिन्दी।", ("मैं", "हिन्दी")),
        ("مرحبا بالعالم", ("مرحبا", "بالعالم")),
        ("東京でラーメンを食べる", ("東京", "で", "ラーメン", "を", "食", "べる")),
        ("コーヒー・カップ らーめん", ("コーヒー", "カップ", "らーめん")),
        ("สวัสดีชาวโลก ข่าว", ("สวัสดีชาวโลก", "ข่าว")),
        ("ភាសាខ្មែរ។", ("ភាសាខ្មែរ",)),
        ("二〇二四年", ("二", "〇", "二", "四年")),
        ("", ()),
        ("…！", ()),
        ("😀👍🏽 \ud800 \x00", ()),
    ],
)
def test_words(text: str, expected: tuple[str, ...], segmenter: str) -> None:
    assert words(text, segmenter) == expected


def test_traditional_chinese_is_cut_where_it_is_folded() -> None:
    from dedupcrawl.page.model import Page

    assert Features(Page.from_text("我來到臺灣大學"), fold_chinese=True).words() == ("我", "来到", "台湾大学")
    assert "".join(words("我來到臺灣大學")) == "我來到臺灣大學"


SAMPLES = st.lists(
    st.sampled_from("的了一鿕鿖我國国北京大学〇々㐀𠀀かなカナー・ไทยខ្មែरहिन् 한국a1_é،م。！😀\ud800\n\t \u3000")
    | st.characters(),
    max_size=60,
).map("".join)


@pytest.mark.parametrize("segmenter", [*JIEBA_SEGMENTERS, f"{HERE}:pairs"])
@given(SAMPLES)
@settings(max_examples=150, deadline=None)
def test_words_joined_are_the_letters_of_the_text(segmenter: str, text: str) -> None:
    normal = normalize(text)
    found = words(normal, segmenter)
    assert "".join(found) == letters(normal)
    assert all(found)


@given(SAMPLES)
@settings(max_examples=150, deadline=None)
def test_rjieba_finds_the_words_of_jieba(text: str) -> None:
    assert words(normalize(text), "rjieba") == words(normalize(text), "jieba")


def test_rjieba_finds_the_words_of_jieba_in_real_pages_with_and_without_its_model() -> None:
    import jieba
    import rjieba

    lines = data("pages", "cwced", "truth.jsonl").read_bytes().splitlines()
    texts = [normalize(orjson.loads(line)["text"]) for line in lines if line]
    assert texts
    for text in texts:
        assert words(text, "rjieba") == words(text, "jieba")
        han = "\n".join(word for word in words(text) if is_han(word))
        assert rjieba.cut(han, hmm=False) == list(jieba.cut(han, HMM=False))


def test_a_text_is_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from dedupcrawl.page.model import Page
    from dedupcrawl.text import features as module

    calls: list[str] = []

    def counted(text: str, segmenter: str) -> tuple[str, ...]:
        calls.append(segmenter)
        return words(text, segmenter)

    monkeypatch.setattr(module, "words", counted)
    features = Features(Page.from_text(CHINESE))
    assert features.words() is features.words()
    assert features.words("rjieba") is features.words("rjieba")
    assert calls == ["jieba", "rjieba"]


def test_a_segmenter_of_the_user_gets_each_run_of_a_script_without_spaces() -> None:
    assert words("北京大学 in 東京でไทย!", f"{HERE}:pairs") == ("北京", "大学", "in", "東京", "でไ", "ทย")


def test_a_result_that_is_not_text_is_reported() -> None:
    with pytest.raises(TypeError, match=r"numbers' returned 2, which is not a str"):
        words("北京", f"{HERE}:numbers")
    with pytest.raises(TypeError):
        list(segment(f"{HERE}:numbers", "北京"))


@pytest.mark.parametrize(
    ("word", "expected"), [("北京", True), ("〇", True), ("の", False), ("beijing", False), ("ไทย", False)]
)
def test_is_han(word: str, expected: bool) -> None:
    assert is_han(word) is expected


def test_a_segmenter_is_loaded_once() -> None:
    assert load_segmenter("jieba") is load_segmenter("jieba")


def test_jieba_is_silent_and_loaded_only_for_chinese() -> None:
    program = (
        "import sys, warnings, dedupcrawl\n"
        "from dedupcrawl.text.words import words\n"
        "warnings.simplefilter('error')\n"
        "words('only english'); assert 'jieba' not in sys.modules\n"
        "words('北京大学'); assert 'jieba' in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_english_is_cut_as_it_was() -> None:
    assert len(words(normalize(ENGLISH))) == len(ENGLISH.split())


def sentences(text: str) -> list[str]:
    ends = sentence_ends(text)
    return [text[start:stop].strip() for start, stop in zip((0, *ends), ends, strict=False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? four", ["One.", "Two!", "Three?"]),
        ("一句。两句！三句？四", ["一句。", "两句！", "三句？"]),
        ("他说：“走吧。”然后走了。", ["他说：“走吧。”", "然后走了。"]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("It costs 3.14 euros. Or 3.", ["It costs 3.14 euros.", "Or 3."]),
        ("See example.com for more.", ["See example.com for more."]),
        ("Mr. Smith met Dr. Wu. They talked.", ["Mr. Smith met Dr. Wu.", "They talked."]),
        ("J. R. Miller of the U.S. team won.", ["J. R. Miller of the U.S. team won."]),
        ("Wait... what? No.", ["Wait... what?", "No."]),
        ("what?! really?", ["what?!", "really?"]),
        ("股价涨了3.5%。成交量0.8亿。", ["股价涨了3.5%。", "成交量0.8亿。"]),
        ("结束.然后", ["结束."]),
        ("(In brackets.) Out.", ["(In brackets.)", "Out."]),
        ("no end at all", []),
        ("", []),
        ("。", ["。"]),
        ("क्या हुआ। ठीक है।", ["क्या हुआ।", "ठीक है।"]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(("text", "count"), [(ENGLISH, 7), (CHINESE, 7)])
def test_real_texts(text: str, count: int) -> None:
    assert len(sentences(normalize(text))) == len(sentences(text)) == count


@given(st.text(st.sampled_from("ab. 。!?\"”'1…)")))
def test_ends_are_ascending_and_after_a_mark(text: str) -> None:
    ends = sentence_ends(text)
    assert list(ends) == sorted(set(ends))
    assert all(text[end - 1] in ".。!?\"”')" for end in ends)


def test_a_long_row_of_points_takes_no_time() -> None:
    assert sentence_ends("." * 200_000) == ()
    assert sentence_ends("a" * 200_000 + ".") == (200_001,)
