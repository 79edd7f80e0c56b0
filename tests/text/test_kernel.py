"""The compiled kernel gives the results of the numpy code, bit for bit, for any text."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dedupcrawl.config import Config
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.detectors.registry import DETECTORS, build_detectors
from dedupcrawl.detectors.shingling import minima
from dedupcrawl.detectors.simhash import bit_sums, sign_bits
from dedupcrawl.fingerprinting import Fingerprinter
from dedupcrawl.page.model import Page
from dedupcrawl.text import features
from dedupcrawl.text.features import Features, hasher, is_compiled, loaded, normalizer, points_of
from dedupcrawl.text.normalize import COMBINES, RESIZED, kernel_tables, pack, simplify
from dedupcrawl.text.shingles import MAX_LETTERS, kernel_keys, seeded_constants, shingles, tokens
from dedupcrawl.utils.optional import NO_EXTENSIONS, load_extension
from tests.texts import CHINESE, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable

compiled = pytest.mark.skipif(not is_compiled(), reason="the kernel is turned off, or there is no compiler")

TABLES = kernel_tables(fold_chinese=False)
SEED = 7
TEN_MEGABYTES = 10_000_000
#: Characters that become several or none: …, ligatures, full-width forms, dotted I, compatibility forms.
RESIZING = "".join(map(chr, np.flatnonzero((TABLES.packed >= RESIZED) & (TABLES.packed < COMBINES)).tolist()))
COMBINING = "".join(map(chr, np.flatnonzero(TABLES.packed >= COMBINES).tolist()))
ODD = "ab é1.,\t\n\u3000\0\u200bﬁ…\u0301\u1161\ud800\udc00中文汉漢裡ไทยカ한ﷺ㈱①ＡİßΣς㎏豈각가😀\U0010ffff"
texts = st.one_of(
    st.text(st.characters(), max_size=60),
    st.text(st.sampled_from(ODD), max_size=80),
    st.text(st.sampled_from(RESIZING + " a中"), max_size=40),
    st.text(st.sampled_from(COMBINING + " a中각"), max_size=20),
    st.text(st.sampled_from("ab 中文"), max_size=300),
    st.text(st.sampled_from("12+−×÷=<>≤≥≠±＋＜() $%a中\0\u0301"), max_size=60),
    st.builds(lambda word, times: word * times, st.text(st.sampled_from("ab 中."), max_size=9), st.integers(2, 99)),
    st.builds(lambda size, other: "x" * size + other * size, st.integers(60, 70), st.sampled_from("y 中.")),
    st.sampled_from([ENGLISH, CHINESE, f"{ENGLISH} {CHINESE}"]),
)


def by_numpy(call: Callable[[], object]) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "kernel", None)
        return call()


def test_it_is_built_where_a_compiler_is() -> None:
    if (shutil.which("cc") or shutil.which("gcc")) and not os.environ.get(NO_EXTENSIONS):
        assert is_compiled(), "the extension is not built: run `make install`"
        assert features.kernel_description() == "compiled"


@compiled
@settings(max_examples=400)
@given(texts, st.booleans())
@example("", False)
@example(" \0 ", False)
@example("\ud800\udfff", False)
@example("x" * 600 + "…", True)
def test_texts(text: str, fold: bool) -> None:
    packed = simplify(pack(text)) if fold else pack(text)
    found = normalizer(fold).pack(text)
    assert points_of(found).tolist() == packed.tolist()
    one, other = Features(Page.from_text(text), fold), Features(Page.from_text(text), fold)
    measured = [by_numpy(lambda name=name: getattr(other, name)) for name in VIEWS]  # type: ignore[misc]
    assert [getattr(one, name) for name in VIEWS] == measured


VIEWS = ("length", "letters", "encoded", "text", "is_one_word_repeated")


@compiled
def test_every_code_point() -> None:
    alone = [chr(point) for point in range(0x110000) if TABLES.packed[point] < COMBINES]
    for separator in ("", "a", "\0", " "):
        text = separator.join(alone)
        assert np.array_equal(points_of(normalizer(False).pack(text)), pack(text))
    for mark in COMBINING:
        for text in (mark, f"a{mark}", f"ﬁ{mark}각"):
            assert points_of(normalizer(False).pack(text)).tolist() == pack(text).tolist()


@compiled
@settings(max_examples=300)
@given(texts, st.integers(1, 64), st.integers(1, 64), st.integers(0, 2**64 - 1))
@example("x" * MAX_LETTERS + " " + "x" * (MAX_LETTERS + 1) + " é\u0316" + "y" * 99, 5, 3, 0)
@example("中" * 64 + "a", 64, 64, 0)
def test_tokens_and_shingles(text: str, characters: int, words: int, seed: int) -> None:
    stream = tokens(pack(text), seed)
    features = Features(Page.from_text(text))
    for field in stream._fields:
        found, expected = (getattr(each, field) for each in (features.tokens(seed), stream))
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()
    cut = shingles(stream, characters, words, seed)
    assert features.shingles(characters, words, seed).tolist() == cut.tolist()


schemes = st.builds(
    lambda slots, words, seed: MinHash(slots=slots, filed=min(32, slots), characters=words + 1, words=words, seed=seed),
    st.sampled_from([16, 32, 64, 128, 256]),
    st.integers(1, 9),
    st.integers(0, 2**64 - 1),
)


@compiled
@settings(max_examples=300)
@given(texts, schemes)
@example("a", MinHash())
@example(ENGLISH * 40, MinHash(slots=256))
def test_sketches_and_keys(text: str, detector: MinHash) -> None:
    found = detector.fingerprint(Features(Page.from_text(text)))
    assert found == by_numpy(lambda: detector.fingerprint(Features(Page.from_text(text))))
    assert detector.fingerprint_text(text) == found
    assert found is None or detector.keys_from_sketch(found.sketch) == found.keys


@compiled
@settings(max_examples=60)
@given(texts, st.sampled_from([name for name in DETECTORS if name != "combined"]), st.booleans())
def test_every_detector(text: str, name: str, fold: bool) -> None:
    page = Page(url="https://a.example/1", text=text, title="The harbour 港口", rest=text[:9])
    fingerprinter = Fingerprinter(build_detectors(Config(detectors=(name,))), 0, lambda: 5.0, 3, fold)
    assert fingerprinter.fingerprint(page) == by_numpy(lambda: fingerprinter.fingerprint(page))


hashes = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=80).map(lambda found: np.array(found, np.uint64))


@compiled
@given(hashes, st.integers(1, 200), st.integers(0, 2**64 - 1))
def test_minima(found: np.typing.NDArray[np.uint64], count: int, seed: int) -> None:
    assert minima(found, count, seed).tolist() == by_numpy(lambda: minima(found, count, seed).tolist())


@compiled
@given(hashes, st.none() | st.integers(0, 2**40))
def test_sums_of_bits(found: np.typing.NDArray[np.uint64], most: int | None) -> None:
    draw = random.Random(int(found[0]))
    weights = None if most is None else np.array([draw.randint(0, most) for _ in found], np.int64)
    sums = features.weigh_bits(found, weights)
    assert sums is not None
    assert sums.reshape(8, 8)[:, ::-1].ravel().tolist() == bit_sums(found, weights).tolist()
    assert sign_bits(found, weights) == by_numpy(lambda: sign_bits(found, weights))


@compiled
@pytest.mark.parametrize(
    "unit",
    ["the cat … sat. ", "港口在夜里结了冰，", "x", "\0", " ", "ﷺ", "\ud800", "a中", "e\u0301 "],
    ids=["words", "Chinese", "one word", "NUL", "spaces", "ligatures", "surrogates", "mixed", "marks"],
)
def test_long_texts(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    features, detector = Features(Page.from_text(text)), MinHash()
    packed = pack(text)
    assert np.array_equal(features.packed, packed)
    assert features.encoded == features.text.encode("utf-8", "surrogatepass")
    stream = tokens(packed, 0)
    assert np.array_equal(features.tokens(0).hashes, stream.hashes)
    assert np.array_equal(features.shingles(5, 3, 0), shingles(stream, 5, 3, 0))
    assert detector.fingerprint(features) == by_numpy(lambda: detector.fingerprint(Features(features.page)))


@compiled
@pytest.mark.parametrize("unit", ["the cat … sat. ", "x", "港口在夜里结了冰，"], ids=["words", "one word", "Chinese"])
def test_texts_of_ten_megabytes(unit: str) -> None:
    text = unit * (TEN_MEGABYTES // len(unit.encode()))
    found = MinHash().fingerprint_text(text)
    assert found == by_numpy(lambda: MinHash().fingerprint_text(text))


@compiled
def test_another_thread_runs_during_long_work() -> None:
    """No thread is asked for the lock here, so the other one runs only if the kernel gives it up."""
    text, interval = "the cat sat. " * 400_000, sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        assert any(runs_beside(lambda: MinHash().fingerprint_text(text)) for _ in range(20))
        assert not runs_beside(lambda: MinHash().fingerprint_text("the cat sat."))
    finally:
        sys.setswitchinterval(interval)


def runs_beside(call: Callable[[], object]) -> bool:
    """Return whether a thread that was waiting has run when the call returns."""
    lock, ran = threading.Lock(), list[int]()
    lock.acquire()

    def wait() -> None:
        with lock:
            ran.append(1)

    thread = threading.Thread(target=wait)
    thread.start()
    call()  # warm
    lock.release()
    call()
    found = bool(ran)
    thread.join()
    return found


@compiled
def test_an_extension_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    name, version = loaded().__name__, features.KERNEL_VERSION
    assert load_extension(name, version) == (loaded(), "")
    monkeypatch.setattr(loaded(), "VERSION", 0)
    assert load_extension(name, version) == (None, "the extension was built for another version")


@compiled
def test_a_detector_that_was_used_can_be_pickled() -> None:
    detector = MinHash(words=4)
    found = detector.fingerprint_text(ENGLISH)
    copy = pickle.loads(pickle.dumps(detector))
    assert copy == detector
    assert copy.fingerprint_text(ENGLISH) == found


def short(array: np.typing.NDArray[np.generic]) -> np.typing.NDArray[np.generic]:
    return array[:-1].copy()


@compiled
@pytest.mark.parametrize("place", range(6))
def test_tables_of_another_size_are_refused(place: int) -> None:
    arrays: list[Any] = list(TABLES)
    if place < 3:
        arrays[place] = short(arrays[place])
    else:
        arrays[place % 3] = np.asfortranarray(np.zeros((2, 3), np.uint16))
    with pytest.raises((ValueError, BufferError)):
        loaded().Normalizer(*arrays, pack)


@compiled
def test_tables_with_other_values_are_refused() -> None:
    unknown_role = TABLES._replace(packed=TABLES.packed | np.uint32(3 << 21))
    with pytest.raises(ValueError, match="not a packed point"):
        loaded().Normalizer(*unknown_role, pack).pack("a")
    beyond = TABLES._replace(starts=TABLES.starts + np.uint32(2**31))
    with pytest.raises(ValueError, match="not a packed point"):
        loaded().Normalizer(*beyond, pack).pack("…")
    flagged = TABLES._replace(expansions=TABLES.expansions | np.uint32(RESIZED))
    with pytest.raises(ValueError, match="not a packed point"):
        loaded().Normalizer(*flagged, pack).pack("…")


@compiled
@pytest.mark.parametrize(
    ("points", "error"),
    [
        (np.array([3 << 21], np.uint32), ValueError),
        (np.array([0x110000], np.uint32), ValueError),
        (np.zeros(3, np.uint64), ValueError),
        (np.zeros(6, np.uint32)[::2], BufferError),
        (None, TypeError),
    ],
)
def test_what_python_normalises_is_checked(points: object, error: type[Exception]) -> None:
    with pytest.raises((error, ValueError)):
        loaded().Normalizer(*TABLES, lambda _: points).pack("e\u0301")


@compiled
def test_an_error_of_a_python_function_is_raised() -> None:
    def fail(_: object) -> object:
        raise LookupError("no")

    with pytest.raises(LookupError):
        loaded().Normalizer(*TABLES, fail).pack("e\u0301")
    text = normalizer(False).pack("x" * 65)
    with pytest.raises(LookupError):
        loaded().Hasher(*kernel_keys(0), fail).tokens(text)
    for number in (-1, 2**64):
        with pytest.raises(OverflowError):
            loaded().Hasher(*kernel_keys(0), lambda _, number=number: number).shingles(text, 1, 1)
    with pytest.raises(TypeError):
        loaded().Hasher(*kernel_keys(0), lambda _: b"").tokens(text)


@compiled
@pytest.mark.parametrize("given_text", [None, b"bytes", 5])
def test_only_texts_are_accepted(given_text: object) -> None:
    pack_text: Callable[[Any], object] = normalizer(False).pack
    hash_tokens: Callable[[Any], object] = hasher(0).tokens
    hash_shingles: Callable[[Any, int, int], object] = hasher(0).shingles
    for call in (pack_text, hash_tokens, lambda text: hash_shingles(text, 5, 3)):
        with pytest.raises(TypeError):
            call(given_text)
    text_type: Any = type(normalizer(False).pack("a"))
    with pytest.raises(TypeError):
        text_type()


@compiled
def test_keys_of_another_size_are_refused() -> None:
    keys = kernel_keys(0)
    for wrong in (keys._replace(letters=keys.letters[:-1]), keys._replace(rising=keys.rising[:5])):
        with pytest.raises(ValueError, match="array"):
            loaded().Hasher(*wrong, int)
    for lengths in ((0, 3), (5, 65), (-1, 1)):
        with pytest.raises(ValueError, match="1 to 64"):
            hasher(0).shingles(normalizer(False).pack("a"), *lengths)


@compiled
@pytest.mark.parametrize(
    ("slots", "rows", "bands", "rounds"),
    [(128, 5, 26, 16), (100, 5, 6, 16), (512, 5, 6, 16), (1, 1, 1, 16), (128, 5, 6, 15)],
)
def test_sketches_of_another_shape_are_refused(slots: int, rows: int, bands: int, rounds: int) -> None:
    counts = {"round": rounds, "order": slots, "row": rows, "band": bands}
    constants = [seeded_constants(0, purpose, count) for purpose, count in counts.items()]
    with pytest.raises(ValueError, match=r"slots|array"):
        loaded().Sketcher(tuple, 1, normalizer(False), hasher(0), 5, 3, *constants)


@compiled
def test_memory_is_returned() -> None:
    resource = pytest.importorskip("resource")
    detector, text = MinHash(), "the … cat é " * 20_000 + "x" * 99 + " e\u0301"

    def work() -> None:
        features = Features(Page.from_text(text))
        for call in (lambda: detector.fingerprint(features), lambda: features.tokens(0), lambda: features.encoded):
            call()
        with pytest.raises(OverflowError):
            loaded().Hasher(*kernel_keys(0), lambda _: -1).tokens(normalizer(False).pack(text))

    for _ in range(5):
        work()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(40):
        work()
    # Each round has 10 MB of arrays: were one of them lost, it would be 40 MB or more.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


SCRIPT = """
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.text.features import kernel_description
from dedupcrawl.utils.optional import NO_EXTENSIONS, load_extension
print(kernel_description(), MinHash().fingerprint_text("The harbour … froze over e\\u0301 港口").sketch.hex())
"""


@pytest.mark.parametrize("value", ["", "1"])
def test_it_can_be_turned_off(value: str) -> None:
    environment = {**os.environ, NO_EXTENSIONS: value}
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    name, _, sketch = run.stdout.strip().rpartition(" ")
    found = MinHash().fingerprint_text("The harbour … froze over e\u0301 港口")
    assert found is not None
    assert sketch == found.sketch.hex()
    if value:
        assert name == f"numpy ({NO_EXTENSIONS} is set)"
    elif not os.environ.get(NO_EXTENSIONS):
        assert name == features.kernel_description()


@given(texts | st.text(st.characters(categories=("Cs", "L", "So")), max_size=40), st.sampled_from([1, 1, 700]))
@example("\ud7ff\ud800\udfff\ue000", 2000)
@example("é", 5000)
def test_the_length_in_utf8_is_that_of_the_encoded_text(text: str, times: int) -> None:
    assert features.utf8_length(text * times) == len((text * times).encode("utf-8", "replace"))
    assert by_numpy(lambda: features.utf8_length(text)) == len(text.encode("utf-8", "replace"))
