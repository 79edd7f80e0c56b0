"""The sketch estimates J without bias, better than plain MinHash."""

from __future__ import annotations

import random

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.detectors import lsh as module
from dedupcrawl.detectors.lsh import ROUNDS, fast_similarity_sketch, fast_similarity_sketches
from dedupcrawl.text.shingles import Hashes, mix

sets = st.sets(st.integers(0, 200), min_size=1, max_size=150)


def mixed(numbers: set[int] | range) -> Hashes:
    return mix(np.array(sorted(numbers), np.uint64) + np.uint64(1))


@given(sets, st.sampled_from([16, 64, 128, 256]), st.integers(0, 3))
def test_only_the_set_counts(numbers: set[int], slots: int, seed: int) -> None:
    elements = mixed(numbers)
    shuffled = np.random.default_rng(len(numbers)).permutation(np.concatenate((elements, elements)))
    sketch = fast_similarity_sketch(elements, slots, seed)
    assert len(sketch) == slots
    assert sketch.dtype == np.uint8
    assert (sketch == fast_similarity_sketch(shuffled, slots, seed)).all()


@settings(max_examples=30)
@given(sets)
def test_it_does_not_matter_how_rounds_are_batched(numbers: set[int]) -> None:
    elements = mixed(numbers)
    expected = fast_similarity_sketch(elements, 128, 0)
    for batch in (0, 1, 10**6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_BATCH_KEYS", batch)
            assert (fast_similarity_sketch(elements, 128, 0) == expected).all()


def test_a_long_text_of_few_shingles_takes_little_room() -> None:
    elements = mixed(range(6))
    sketch = fast_similarity_sketch(np.tile(elements, 500_000), 128, 0)
    assert (sketch == fast_similarity_sketch(elements, 128, 0)).all()


@settings(max_examples=50)
@given(sets)
def test_a_slot_goes_to_the_first_element_thrown_into_it(numbers: set[int]) -> None:
    """The paper's definition, element by element."""
    elements = mixed(numbers)
    thrown = [module.round_hashes(elements, range(r, r + 1), 5).ravel().tolist() for r in range(ROUNDS)]
    sketch = fast_similarity_sketch(elements, 128, 5)
    for slot in range(128):
        fallen = [(round_, value) for round_, row in enumerate(thrown) for value in row if value >> 57 == slot]
        if fallen:
            assert sketch[slot] == (min(fallen)[1] >> 4) & 0xFF


def errors_of(size: int, trials: int) -> tuple[list[float], list[float]]:
    """Estimate minus truth, ours and datasketch's, for pairs of sets with all degrees of overlap."""
    rng = random.Random(size)
    ours, theirs = [], []
    for trial in range(trials):
        shared = rng.randint(0, size)
        base = trial * 1_000_000
        left, right = range(base, base + size), range(base + size - shared, base + 2 * size - shared)
        true = shared / (2 * size - shared)
        agreeing = fast_similarity_sketch(mixed(left), 128, trial) == fast_similarity_sketch(mixed(right), 128, trial)
        ours.append((agreeing.mean() - 1 / 256) / (1 - 1 / 256) - true)
        theirs.append(by_datasketch(left, trial).jaccard(by_datasketch(right, trial)) - true)
    return ours, theirs


def test_the_mean_error_is_no_larger_than_datasketchs() -> None:
    pairs = [errors_of(size, 120) for size in (20, 60, 150, 300, 600, 1000, 2000)]
    ours, theirs = (np.abs([error for pair in pairs for error in pair[side]]).mean() for side in (0, 1))
    assert ours <= theirs


@pytest.mark.parametrize("size", [1, 4, 20, 60, 300, 1000, 4000])
def test_there_is_no_bias(size: int) -> None:
    ours, _ = errors_of(size, 150)
    assert abs(np.mean(ours)) < 4 * np.std(ours) / np.sqrt(len(ours)) + 0.001


def by_datasketch(numbers: range, seed: int) -> MinHash:
    minhash = MinHash(128, seed=seed)
    minhash.update_batch([number.to_bytes(8, "little") for number in numbers])
    return minhash


def test_disjoint_sets_agree_once_in_256() -> None:
    agreeing = [
        (
            fast_similarity_sketch(mixed(range(at, at + size)), 256, 0)
            == fast_similarity_sketch(mixed(range(at + size, at + 2 * size)), 256, 0)
        ).mean()
        for size in (1, 3, 40, 2000)
        for at in range(0, 200_000, 5000)
    ]
    assert 0.6 / 256 < np.mean(agreeing) < 1.4 / 256


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 500), max_size=400), min_size=1, max_size=6),
    st.sampled_from([16, 64, 128, 256]),
    st.integers(0, 3),
)
def test_many_sets_are_sketched_as_each_alone(groups: list[set[int]], slots: int, seed: int) -> None:
    sets_of = [mixed(numbers) for numbers in groups]
    elements = np.concatenate(sets_of)
    owners = np.repeat(np.arange(len(groups)), [len(each) for each in sets_of])
    shuffled = np.random.default_rng(seed).permutation(len(elements))
    found = fast_similarity_sketches(elements[shuffled], owners[shuffled], len(groups), slots, seed)
    assert found.shape == (len(groups), slots)
    assert found.dtype == np.uint8
    for each, row in zip(sets_of, found, strict=True):
        if len(each):
            assert (row == fast_similarity_sketch(each, slots, seed)).all()
