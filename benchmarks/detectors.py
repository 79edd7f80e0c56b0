"""The cost of a page by detector: ``python -m benchmarks.detectors [--rounds N]``.

The pages are stories of the demo: 600 English words, or 1,500 Chinese characters. *µs* is the time from text
to fingerprint: normalisation and all work of the detector. Words are segmented beforehand; the cost of
segmentation is reported separately, for jieba and rjieba. *Keys*, and the *bytes* of the sketch, are the size
of a page in a store. Contestants take turns in short batches, so that other load affects all of them; the
median of CPU times over the rounds is reported.

Then ``simhash`` is compared with the package simhash of PyPI, on normalised text that is all words or all
Chinese. *Same shingles*: the package has them ready as a list of strings, ours has the tokens. *From text*:
the package gets them from one comprehension, ours starts from the raw text. *Term weights*: from text,
weighted as in the patent. Shingles are three words or five characters.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simhash import Simhash

from benchmarks.results import add_json_option, write_results
from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.detectors.simhash import ShingleHasher, WeightedText, sign_bits
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import normalize, pack
from dedupcrawl.text.shingles import tokens
from dedupcrawl.text.words import words
from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.evaluation.runs import all_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dedupcrawl.detectors.base import Detector
    from dedupcrawl.detectors.simhash import ShingleTable

    Call = Callable[[], object]

BATCH_SECONDS = 0.01
SLOWEST = 5000  #: bar: µs per page, without segmentation
FASTER = {"English": 7, "Chinese": 25}  #: bar: relative to the package simhash
SHINGLE = {"English": 3, "Chinese": 5}  #: tokens
WEIGHING = ShingleHasher(SHINGLE["Chinese"], SHINGLE["English"], seed=0, hashes=1)


@dataclass(frozen=True)
class Cut(Features):
    """A page whose words are already segmented."""

    found: tuple[str, ...] = ()

    def words(self, segmenter: str = "jieba") -> tuple[str, ...]:  # noqa: ARG002 - whichever it was
        """Return the words."""
        return self.found


def stories() -> dict[str, str]:
    """Join stories of the demo and cut them to the sizes."""
    articles = sorted(load_content().articles.values(), key=lambda article: article.id)
    english, chinese = (
        "\n".join(text for article in articles if article.language == language for text in article.paragraphs)
        for language in ("en", "zh")
    )
    return {"English": " ".join(english.split(" ")[:600]), "Chinese": chinese[:1500]}


def time_all(contestants: Sequence[Call], rounds: int) -> list[list[float]]:
    """Time all contestants in turns; return µs per call, one list for each."""
    counts = [_repeats(call) for call in contestants]
    times: list[list[float]] = [[] for _ in contestants]
    for _ in range(rounds):
        for call, count, column in zip(contestants, counts, times, strict=True):
            column.append(_seconds(call, count) * 1e6)
    return times


def _repeats(call: Call) -> int:
    _seconds(call, 2)
    return max(1, round(BATCH_SECONDS / _seconds(call, 3)))


def _seconds(call: Call, count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def all_detectors(rounds: int) -> dict[str, dict[str, float]]:
    """Print a row for every detector; return its µs by language."""
    rows = [(each.label, build_detectors(each.config)) for each in all_runs(Config(), {})]
    columns = [_column([of for _, of in rows], Page.from_text(text), rounds) for text in stories().values()]
    print(f"{'µs a page':<30}" + "".join(f"{language:>10}{'keys':>6}{'bytes':>7}" for language in stories()))
    for (label, _), *cells in zip(rows, *columns, strict=True):
        print(f"{label:<30}" + "".join(f"{us:>10.0f}{keys:>6}{size:>7}" for us, keys, size in cells))
    fast = all(us <= SLOWEST for column in columns for us, _, _ in column)
    print(f"none slower than {SLOWEST:,} µs: {'ok' if fast else 'MISSED'}")
    return {
        label: dict(zip(stories(), (us for us, _, _ in cells), strict=True))
        for (label, _), *cells in zip(rows, *columns, strict=True)
    }


def _column(of: Sequence[Sequence[Detector]], page: Page, rounds: int) -> list[tuple[float, int, int]]:
    found = Features(page).words()
    times = time_all([_filing(detectors, page, found) for detectors in of], rounds)
    return [(statistics.median(us), *_sizes(each, page)) for us, each in zip(times, of, strict=True)]


def _filing(detectors: Sequence[Detector], page: Page, found: tuple[str, ...]) -> Call:
    def call() -> object:
        features = Cut(page, found=found)
        return [detector.fingerprint(features) for detector in detectors]

    return call


def _sizes(detectors: Sequence[Detector], page: Page) -> tuple[int, int]:
    made = [found for detector in detectors if (found := detector.fingerprint(Features(page)))]
    return sum(len(found.keys) for found in made), sum(len(found.sketch) for found in made)


def segmentation(rounds: int) -> None:
    """Print the cost of word segmentation."""
    text = {language: normalize(story) for language, story in stories().items()}
    print(f"\n{'segmentation, µs a page':<30}" + "".join(f"{language:>10}" for language in text))
    for segmenter in ("jieba", "rjieba"):
        calls = [_segmenting(story, segmenter) for story in text.values()]
        print(f"{segmenter:<30}" + "".join(f"{statistics.median(us):>10.0f}" for us in time_all(calls, rounds)))


def _segmenting(text: str, segmenter: str) -> Call:
    return lambda: words(text, segmenter)


def beside_the_package(rounds: int) -> dict[str, float]:
    """Print and return the speed relative to the package simhash."""
    heads = f"{'ours':>8}{'package':>9}{'package/':>10}{'bar':>6}"
    print(f"\n{'simhash, µs a text':<30}{heads}")
    return {
        name: ratio for language, story in stories().items() for name, ratio in _race(language, plain(story), rounds)
    }


def plain(text: str) -> str:
    """Remove everything but words, or but Chinese characters."""
    if sum(map(str.isascii, text)) * 2 < len(text):
        return re.sub(r"[0-9A-Za-z]+", "", text)
    return text


def _race(language: str, text: str, rounds: int) -> Iterator[tuple[str, float]]:
    size, normal, field = SHINGLE[language], normalize(text), _field(text)
    ready = _shingles(normal, size)
    assert len(set(ready)) == len(set(WEIGHING.by_occurrences(field).hashes[0].tolist()))
    contestants: list[Call] = [
        lambda: _signs(WEIGHING.by_occurrences(field)),
        lambda: Simhash(ready),
        lambda: _signs(WEIGHING.by_occurrences(_field(text))),
        lambda: Simhash(_shingles(normal, size)),
        lambda: _signs(WEIGHING.by_terms(_field(text))),
        lambda: Simhash(_by_terms(normal, size)),
    ]
    ours, theirs, our_text, their_text, our_terms, their_terms = time_all(contestants, rounds)
    yield _faster(language), _judged(f"{language}, same shingles", ours, theirs, FASTER[language])
    yield f"simhash/ours: {language}, from text", _judged(f"{language}, from text", our_text, their_text)
    yield f"simhash/ours: {language}, term weights", _judged(f"{language}, term weights", our_terms, their_terms)


def _faster(language: str) -> str:
    return f"simhash/ours: {language}, same shingles"


def _field(text: str) -> list[WeightedText]:
    return [WeightedText(tokens(pack(text), 0), 1)]


def _signs(of: ShingleTable) -> bytes:
    return sign_bits(of.hashes[0], of.weights)


def _shingles(normal: str, size: int) -> list[str]:
    """Cut normalised text, all words or all Chinese, as a user of the package would."""
    if size == SHINGLE["Chinese"]:
        characters = re.sub(r"\W+", "", normal)
        return [characters[at : at + size] for at in range(len(characters) - size + 1)]
    found = re.findall(r"\w+", normal)
    return [" ".join(found[at : at + size]) for at in range(len(found) - size + 1)]


def _by_terms(normal: str, size: int) -> dict[str, int]:
    """Weight each shingle by the frequencies of its terms, and 1 for the text."""
    chinese = size == SHINGLE["Chinese"]
    found = re.findall(r"\w" if chinese else r"\w+", normal)
    frequency, between = Counter(found), "" if chinese else " "
    runs = (found[at : at + size] for at in range(len(found) - size + 1))
    return {between.join(run): 1 + sum(frequency[token] for token in run) for run in runs}


def _judged(name: str, ours: Sequence[float], theirs: Sequence[float], bar: float = 0) -> float:
    ratio = statistics.median(slow / fast for slow, fast in zip(theirs, ours, strict=True))
    times = f"{statistics.median(ours):>8.1f}{statistics.median(theirs):>9.1f}"
    verdict = f"{bar:>6}  {'ok' if ratio >= bar else 'MISSED'}" if bar else ""
    print(f"{name:<30}{times}{ratio:>10.1f}{verdict}")
    return ratio


def main() -> int:
    """Run all parts; return 0 if every bar is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    add_json_option(parser)
    options = parser.parse_args()
    costs = all_detectors(options.rounds)
    segmentation(options.rounds)
    ratios = beside_the_package(2 * options.rounds)
    write_results(options.json, "detectors", ratios=ratios, figures={"microseconds of a page": costs})
    cheap = all(us <= SLOWEST for cost in costs.values() for us in cost.values())
    return 0 if cheap and all(ratios[_faster(language)] >= bar for language, bar in FASTER.items()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
