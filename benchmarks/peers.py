"""Deduplicating a file as a user of another library would: ``python -m benchmarks.peers NAME IN OUT``.

Reads texts from JSON Lines, writes the numbers of the kept lines. All use our shingles of lower-case text,
128 slots and the threshold 0.8. As in dedupcrawl, a hit of the index is verified by the estimated similarity,
and a page is dropped only for a match with a kept one. Without either they drop more pages, wrongly.

Of datatrove and text-dedup, which are pipelines over files, only the core is used: the function that turns shingles
into a signature. Bands in dictionaries take the place of sorted files. So their whole pipelines take longer.
"""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SLOTS, BANDS, THRESHOLD = 128, 16, 0.8
_CHARACTERS, _WORDS = 5, 3
_HAN = re.compile(r"[\u3400-\u9fff]")


def cut(text: str) -> list[str]:
    """Return shingles: five characters if most characters are Chinese, else three words."""
    low = text.lower()
    if len(_HAN.findall(low)) > 0.25 * len(low):
        joined = re.sub(r"\W+", "", low)
        return [joined[at : at + _CHARACTERS] for at in range(len(joined) - _CHARACTERS + 1)]
    words = re.findall(r"\w+", low)
    return [" ".join(words[at : at + _WORDS]) for at in range(len(words) - _WORDS + 1)]


def by_datasketch(texts: Iterator[str]) -> Iterator[int]:
    """Yield the kept lines."""
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415  # no script pays for the import of the other

    index = MinHashLSH(threshold=THRESHOLD, num_perm=SLOTS)
    kept: dict[int, MinHash] = {}
    for number, text in enumerate(texts):
        sketch = MinHash(SLOTS)
        sketch.update_batch([shingle.encode() for shingle in cut(text)])
        if not any(kept[hit].jaccard(sketch) >= THRESHOLD for hit in index.query(sketch)):
            index.insert(number, sketch)
            kept[number] = sketch
            yield number


def by_rensa(texts: Iterator[str]) -> Iterator[int]:
    """Yield the kept lines."""
    from rensa import RMinHash, RMinHashLSH  # noqa: PLC0415

    index = RMinHashLSH(threshold=THRESHOLD, num_perm=SLOTS, num_bands=BANDS)
    kept: dict[int, RMinHash] = {}
    for number, text in enumerate(texts):
        sketch = RMinHash(num_perm=SLOTS, seed=1)
        sketch.update(cut(text))
        if not any(kept[hit].jaccard(sketch) >= THRESHOLD for hit in index.query(sketch)):
            index.insert(number, sketch)
            kept[number] = sketch
            yield number


def by_datatrove(texts: Iterator[str]) -> Iterator[int]:
    """Yield the kept lines."""
    import numpy as np  # noqa: PLC0415
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature  # noqa: PLC0415
    from datatrove.utils.word_tokenizers import WhitespaceTokenizer  # noqa: PLC0415

    config = MinhashConfig(num_buckets=BANDS, hashes_per_bucket=SLOTS // BANDS)
    signer = MinhashDedupSignature("unused", config, WhitespaceTokenizer())  # which cut() takes the place of
    hash_of = signer._hash_func

    def sign(text: str) -> list[tuple[int, ...]]:
        shingles = np.fromiter((hash_of(each.encode()) for each in cut(text) or [""]), np.uint64)
        return [tuple(band) for band in signer.get_signature(shingles.reshape(-1, 1))]

    return _by_bands(map(sign, texts))


def by_text_dedup(texts: Iterator[str]) -> Iterator[int]:
    """Yield the kept lines."""
    import numpy as np  # noqa: PLC0415
    from text_dedup import minhash  # noqa: PLC0415
    from text_dedup.utils import xxh3_32hash  # noqa: PLC0415

    prime, rng, rows = np.uint32((1 << 32) - 5), np.random.RandomState(1), SLOTS // BANDS
    shingles: list[str] = []
    minhash.ngrams = lambda *_: ((each,) for each in shingles)  # in place of its own words
    constants = {
        "num_perm": SLOTS,
        "ngram_size": _WORDS,
        "min_length": 0,
        "hashranges": [(band * rows, (band + 1) * rows) for band in range(BANDS)],
        "permutations": [rng.randint(least, prime, size=SLOTS, dtype=np.uint32) for least in (1, 0)],
        "hash_func": xxh3_32hash,  # the fastest of its hashes
        "dtype": np.uint32,
        "max_hash": np.uint32((1 << 32) - 1),
        "modulo_prime": prime,
    }

    def sign(text: str) -> list[memoryview]:
        shingles[:] = cut(text) or [""]
        bands = minhash.embed_func("", 0, **constants)[minhash.SIGNATURE_COLUMN]
        return [memoryview(band).cast("I") for band in bands]

    return _by_bands(map(sign, texts))


def _by_bands(signatures: Iterator[Sequence[Sequence[int]]]) -> Iterator[int]:
    """Yield the places of the signatures, given as bands of slots, that are like no earlier one."""
    index: list[dict[Any, list[int]]] = [{} for _ in range(BANDS)]
    kept: dict[int, Sequence[Sequence[int]]] = {}
    for number, bands in enumerate(signatures):
        places = [found.setdefault(band, []) for found, band in zip(index, map(tuple, bands), strict=True)]
        hits = {hit for place in places for hit in place}
        if not any(_similarity(kept[hit], bands) >= THRESHOLD for hit in hits):
            for place in places:
                place.append(number)
            kept[number] = bands
            yield number


def _similarity(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> float:
    pairs = zip(chain.from_iterable(one), chain.from_iterable(other), strict=True)
    return sum(a == b for a, b in pairs) / SLOTS


PEERS: dict[str, Callable[[Iterator[str]], Iterator[int]]] = {
    "datasketch": by_datasketch,
    "rensa": by_rensa,
    "datatrove": by_datatrove,
    "text-dedup": by_text_dedup,
}


def version_of(name: str, python: str) -> str | None:
    """Return the version of a peer that an interpreter has, None if it is not installed."""
    find = f"from importlib.metadata import version; print(version({name!r}))"
    found = subprocess.run([python, "-c", find], capture_output=True, text=True, check=False)
    return None if found.returncode else found.stdout.strip()


def main(name: str, source: str, target: str) -> None:
    """Deduplicate a file."""
    with Path(source).open("rb") as lines:
        kept = PEERS[name](orjson.loads(line)["text"] for line in lines)
        Path(target).write_text("\n".join(map(str, kept)), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
