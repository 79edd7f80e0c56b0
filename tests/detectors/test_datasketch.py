"""Signatures and bands equal those of the library."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from datasketch import MinHash, MinHashLSH

from dedupcrawl.detectors.base import Fingerprint, Relation
from dedupcrawl.detectors.datasketch import Datasketch
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import normalize
from tests.texts import CHINESE, ENGLISH, OTHER_ENGLISH


def crc(data: bytes) -> int:
    """A hash function of a user's own."""
    return zlib.crc32(data)


def lines(text: str) -> Iterable[bytes]:
    """Tokens of a user's own."""
    return (line.encode() for line in text.splitlines())


def fingerprint(text: str, detector: Datasketch) -> Fingerprint:
    found = detector.fingerprint(Features(Page.from_text(text)))
    assert found is not None
    return found


def by_the_library(tokens: Iterable[bytes], **arguments: object) -> MinHash:
    minhash = MinHash(**({"num_perm": 128} | arguments))
    for token in tokens:
        minhash.update(token)
    return minhash


def three_words(text: str) -> list[bytes]:
    words = normalize(text).split()
    return [" ".join(words[at : at + 3]).encode() for at in range(len(words) - 2)]


def five_characters(text: str) -> list[bytes]:
    normal = normalize(text)
    return [normal[at : at + 5].encode() for at in range(len(normal) - 4)]


def three_segmented_words(text: str) -> list[bytes]:
    import jieba  # its import warns of old escapes

    words = [word for word in jieba.cut(normalize(text)) if word[0].isalnum()]
    return [" ".join(words[at : at + 3]).encode() for at in range(len(words) - 2)]


CASES: list[tuple[Datasketch, str, Callable[[str], Iterable[bytes]], dict[str, object]]] = [
    (Datasketch(tokens="words"), ENGLISH, three_words, {}),
    (Datasketch(tokens="characters", size=5), CHINESE, five_characters, {}),
    (Datasketch(), CHINESE, three_segmented_words, {}),
    (Datasketch(permutations="affine64", tokens="words"), ENGLISH, three_words, {"scheme": "affine64"}),
    (
        Datasketch(permutations="legacy", num_perm=64, tokens="words"),
        ENGLISH,
        three_words,
        {"scheme": "legacy", "num_perm": 64},
    ),
    (Datasketch(permutation_seed=42, tokens="words"), ENGLISH, three_words, {"seed": 42}),
    (Datasketch(hashfunc=f"{__name__}:crc", tokens="words"), ENGLISH, three_words, {"hashfunc": crc}),
    (Datasketch(tokens=f"{__name__}:lines"), "One\ntwo\nTHREE", lines, {}),
]


@pytest.mark.parametrize(("detector", "text", "tokens", "arguments"), CASES)
def test_values_are_the_librarys(
    detector: Datasketch, text: str, tokens: Callable[[str], Iterable[bytes]], arguments: dict[str, object]
) -> None:
    theirs = by_the_library(tokens(text), **arguments)
    _, values = detector._read(fingerprint(text, detector).sketch)
    assert (values == theirs.hashvalues).all()


@pytest.mark.parametrize(("detector", "text", "tokens", "arguments"), CASES)
def test_keys_are_the_buckets_of_the_librarys_index(
    detector: Datasketch, text: str, tokens: Callable[[str], Iterable[bytes]], arguments: dict[str, object]
) -> None:
    index = MinHashLSH(threshold=0.8, num_perm=detector.num_perm)
    index.insert("page", by_the_library(tokens(text), **arguments))
    buckets = [key for table in index.hashtables for key in table.keys()]  # noqa: SIM118 - not a dict
    assert [key[2:] for key in fingerprint(text, detector).keys] == buckets


def test_the_similarity_is_the_librarys() -> None:
    edited = ENGLISH.replace("Nobody was hurt", "No one at all was hurt")
    detector = Datasketch(threshold=0.5)
    match = detector.compare(fingerprint(edited, detector).sketch, fingerprint(ENGLISH, detector).sketch)
    assert match is not None
    assert match.relation is Relation.NEAR_DUPLICATE
    expected = by_the_library(three_words(edited)).jaccard(by_the_library(three_words(ENGLISH)))
    assert match.similarity == pytest.approx(expected)


def test_others_do_not_match() -> None:
    detector = Datasketch()
    sketches = [fingerprint(text, detector).sketch for text in (ENGLISH, OTHER_ENGLISH)]
    assert detector.compare(*sketches) is None


@pytest.mark.parametrize("text", ["", "  "])
def test_a_page_without_tokens_has_no_signature(text: str) -> None:
    assert Datasketch().fingerprint(Features(Page.from_text(text))) is None
    assert Datasketch(tokens=f"{__name__}:lines").fingerprint(Features(Page.from_text(""))) is None


def test_a_short_text_is_one_token() -> None:
    size, values = Datasketch()._read(fingerprint("Two words", Datasketch()).sketch)
    assert size == (9, 1)
    assert (values == by_the_library([b"two words"]).hashvalues).all()
    assert values.dtype == np.uint32


@pytest.mark.parametrize(
    ("constant", "value", "accepted"),
    [
        ("num_perm", 1, "from 2"),
        ("permutations", "affine16", "one of affine32, affine64, legacy"),
        ("hashfunc", "no.such:function", "dotted name"),
        ("hashfunc", 3, "dotted name"),
        ("tokens", "sentences", '"words", "segmented", "characters" or the dotted name'),
        ("tokens", "zlib:ZLIB_VERSION", "dotted name"),
        ("size", 0, "from 1"),
    ],
)
def test_constants_that_make_no_sense_are_named(constant: str, value: object, accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        Datasketch(**{constant: value})  # type: ignore[arg-type]
    assert caught.value.name == f"detectors['datasketch'].{constant}"


def test_a_few_words_that_agree_with_all_slots_of_a_text_are_no_match() -> None:
    """The words with the smallest hash of each slot have the signature of the whole text."""
    detector = Datasketch(tokens="words", size=1)
    words = [f"word{number}" for number in range(600)]
    honest = fingerprint(" ".join(words), detector)
    values = np.array([detector._read(fingerprint(word, detector).sketch)[1] for word in words])
    chosen = [words[index] for index in sorted(set(values.argmin(axis=0).tolist()))]
    assert len(chosen) < 150
    made = fingerprint(" ".join((chosen * 6)[: len(words)]), detector)
    assert set(made.keys) == set(honest.keys)
    assert detector._read(made.sketch)[1].tolist() == detector._read(honest.sketch)[1].tolist()
    assert detector.compare(made.sketch, honest.sketch) is None
    assert detector.compare(honest.sketch, made.sketch) is None
    assessment = detector.assess(made.sketch, honest.sketch)
    assert assessment.match is None
    assert "similarity that the sizes allow" in [threshold.measure for threshold in assessment.thresholds]


def test_the_sizes_of_sets_do_not_keep_copies_apart() -> None:
    detector = Datasketch(tokens="words", size=1)
    words = [f"word{number}" for number in range(600)]
    one, other = fingerprint(" ".join(words), detector), fingerprint(" ".join(words[:570]), detector)
    assert detector.compare(one.sketch, other.sketch)
