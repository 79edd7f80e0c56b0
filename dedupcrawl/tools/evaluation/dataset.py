"""The labelled data of an evaluation: pages, and pairs of pages.

Pages are JSON Lines with ``id, url, html | text, cluster`` and, where it is known, ``edit``. Pairs are those that a
person labelled. They are judged by the real pipeline: fingerprinted, looked up by keys, compared.
"""

from __future__ import annotations

import gzip
import time
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import orjson

from dedupcrawl.decision import Verdict
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.errors import DedupError
from dedupcrawl.page.model import Page
from dedupcrawl.tools.evaluation.metrics import Proportion, StratumCount, proportion_of
from dedupcrawl.tools.label.labels import AnswerKind, Label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import IO

    import numpy.typing as npt

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.page.options import ReadOptions
    from dedupcrawl.tools.label.pairs import StratumPairs


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """One labelled page; pages of the same cluster are duplicates of each other."""

    id: str
    url: str
    cluster: str
    html: str | None
    text: str | None
    edit: str  #: the kind of edit or trap, "" if not given


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """A labelled page after reading."""

    row: LabelledPage
    result: Page | Verdict  #: a verdict if the reader refused the page


@dataclass(frozen=True, slots=True)
class ParsedCorpus:
    """All pages of a labelled file, in its order."""

    pages: tuple[ParsedPage, ...]
    seconds: float  #: processor time of reading all pages


class ParsedPageCache:
    """The pages of a labelled file. They are read again only when the options of reading change."""

    def __init__(self, rows: Iterable[LabelledPage]) -> None:
        self._rows = tuple(rows)
        self._options: ReadOptions | None = None
        self._parsed = ParsedCorpus((), 0.0)

    def __len__(self) -> int:
        return len(self._rows)

    def read(
        self, config: Config, track: Callable[[Sequence[LabelledPage]], Iterable[LabelledPage]] = lambda rows: rows
    ) -> ParsedCorpus:
        """Return the pages as ``config`` reads them; ``track`` wraps the iteration, to show progress."""
        # reading does not depend on the detectors; this one loads no lexicon
        with Deduplicator(config=replace(config, detectors=(Exact.name,))) as dedup:
            if dedup.reading != self._options:
                self._parsed = _parse_pages(track(self._rows), dedup)
                self._options = dedup.reading
        return self._parsed


def _parse_pages(rows: Iterable[LabelledPage], dedup: Deduplicator) -> ParsedCorpus:
    start = time.process_time()
    pages = []
    for row in rows:
        text = row.text if row.html is None else None
        pages.append(ParsedPage(row, dedup.read(html=row.html, text=text, url=row.url)))
    return ParsedCorpus(tuple(pages), time.process_time() - start)


def read_labelled_pages(path: Path) -> Iterator[LabelledPage]:
    """Yield the pages of a ``.jsonl`` or ``.jsonl.gz`` file.

    Raises:
        DedupError: the file or a line of it cannot be read; the message names the line.
    """
    number, found = 0, False
    try:
        with cast("IO[bytes]", (gzip.open if path.suffix == ".gz" else open)(path, "rb")) as lines:
            for number, line in enumerate(lines, 1):  # noqa: B007 - the messages below name it
                if line.strip():
                    found = True
                    yield _row(orjson.loads(line))
    except (OSError, EOFError, zlib.error) as error:
        raise DedupError(f"{path}: cannot be read after line {number}: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise DedupError(f"{path}, line {number}: not a row of a duplicates file: {error}") from error
    if not found:
        raise DedupError(f"{path} holds no page")


def _row(fields: object) -> LabelledPage:
    if not isinstance(fields, dict):
        raise TypeError("a row is a JSON object with id, url, html or text, and cluster")
    missing = [name for name in ("id", "url", "cluster") if fields.get(name) is None]
    html, text = fields.get("html"), fields.get("text")
    if html is None and text is None:
        missing.append("html or text")
    if missing:
        raise KeyError(f"{', '.join(missing)} missing")
    if not all(isinstance(content, str | None) for content in (html, text)):
        raise TypeError("html and text are strings")
    id_, url, cluster = (str(fields[name]) for name in ("id", "url", "cluster"))
    return LabelledPage(id_, url, cluster, html, text, edit=str(fields.get("edit", "")))


# -- pairs --------------------------------------------------------------------------------------

_OLD, _NEW = "https://old.invalid/", "https://new.invalid/"  # two pages of one URL would be versions


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A pair that a person labelled "same" or "different"."""

    label: Label
    weight: float  #: number of pairs of its run that it represents, 1…

    @property
    def is_same(self) -> bool:
        """Whether the label is "same"."""
        return self.label.answer is AnswerKind.SAME


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A labelled pair with the result of a configuration."""

    pair: LabelledPair
    is_found: bool  #: whether the newer page is judged a duplicate of the older one
    assessments: tuple[Assessment, ...]  #: () if one of the pages cannot be judged


@dataclass(frozen=True, slots=True)
class PairScores:
    """Precision and recall of a configuration on labelled pairs."""

    pairs: int
    found_counts: tuple[StratumCount, ...]  #: trials: found pairs; successes: those that are the same
    same_counts: tuple[StratumCount, ...]  #: trials: pairs that are the same; successes: those found

    @property
    def found(self) -> int:
        """Number of pairs found."""
        return sum(each.trials for each in self.found_counts)

    @property
    def wrong(self) -> int:
        """Number of pairs found that are different."""
        return self.found - sum(each.successes for each in self.found_counts)

    @property
    def missed(self) -> int:
        """Number of pairs that are the same and not found."""
        return sum(each.trials - each.successes for each in self.same_counts)

    @property
    def precision(self) -> Proportion:
        """Share of the found pairs that are the same."""
        return proportion_of(self.found_counts)

    @property
    def recall(self) -> Proportion:
        """Share of the same pairs that are found."""
        return proportion_of(self.same_counts)

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        counts = {name: getattr(self, name) for name in ("pairs", "found", "wrong", "missed")}
        return {**counts, "precision": self.precision.to_dict(), "recall": self.recall.to_dict()}


def weighted_pairs(labels: Sequence[Label]) -> list[LabelledPair]:
    """Return the pairs labelled "same" or "different", each with its weight.

    The labels of a stratum represent all of its pairs; a label without stratum represents itself.

    Raises:
        DedupError: there is no such pair.
    """
    answered = [label for label in labels if label.answer is not AnswerKind.SKIP]
    if not answered:
        raise DedupError("No pair is labelled the same or different: label some with dedupcrawl label")
    counts = Counter(_stratum_key(label.stratum) for label in answered)
    sizes: Counter[object] = Counter()
    for label in answered:
        if label.stratum is not None:
            key = _stratum_key(label.stratum)
            sizes[key] = max(sizes[key], label.stratum.size)
    keys = [_stratum_key(label.stratum) for label in answered]
    weights = [max(1.0, sizes[key] / counts[key]) if key else 1.0 for key in keys]
    return [LabelledPair(label, weight) for label, weight in zip(answered, weights, strict=True)]


def _stratum_key(stratum: StratumPairs | None) -> object:
    return stratum and (stratum.run, stratum.kind, stratum.zone, stratum.around)


def judge_pairs(
    pairs: Iterable[LabelledPair], config: Config, advance: Callable[[], object] = lambda: None
) -> list[JudgedPair]:
    """Judge each pair alone, the older page first, as in a crawl; ``advance`` is called after each."""
    with Deduplicator(config=config) as dedup:
        judged = []
        for pair in pairs:
            judged.append(_judge_pair(dedup, pair))
            advance()
    return judged


def _judge_pair(dedup: Deduplicator, pair: LabelledPair) -> JudgedPair:
    sides = ((pair.label.pair.old, _OLD), (pair.label.pair.new, _NEW))
    old, new = (dedup.fingerprint(Page.from_text(side.text, url, side.title)) for side, url in sides)
    if isinstance(old, Verdict) or isinstance(new, Verdict):
        return JudgedPair(pair, is_found=False, assessments=())
    dedup.store.add(old)
    verdict = dedup.check_record(new, _NEW)
    dedup.forget(_OLD)
    return JudgedPair(pair, verdict.is_duplicate, dedup.assessments(new, old))


class PairScoresBuilder:
    """Computes scores from flags that show which of the labelled pairs are found."""

    def __init__(self, same: Sequence[bool], weights: Sequence[float]) -> None:
        self._same = np.array(same, dtype=bool)
        distinct, self._weight_indices = np.unique(weights, return_inverse=True)
        self._weights: list[float] = distinct.tolist()

    @classmethod
    def for_pairs(cls, judged: Sequence[JudgedPair]) -> PairScoresBuilder:
        """Return a scorer with the labels and weights of these pairs."""
        return cls([each.pair.is_same for each in judged], [each.pair.weight for each in judged])

    def scores(self, found: npt.NDArray[np.bool_]) -> PairScores:
        """Return the scores for ``found``, one flag a pair."""
        right, wrong, missed = (
            self._count(flags) for flags in (found & self._same, found & ~self._same, ~found & self._same)
        )
        counts = list(zip(right, wrong, missed, self._weights, strict=True))
        return PairScores(
            len(found),
            tuple(StratumCount(hits, hits + errors, weight) for hits, errors, _, weight in counts),
            tuple(StratumCount(hits, hits + lost, weight) for hits, _, lost, weight in counts),
        )

    def _count(self, flags: npt.NDArray[np.bool_]) -> list[int]:
        """Count by weight."""
        counted: list[int] = np.bincount(self._weight_indices[flags], minlength=len(self._weights)).tolist()
        return counted


def score_pairs(judged: Sequence[JudgedPair]) -> PairScores:
    """Return the scores of the configuration that judged the pairs."""
    found = np.array([each.is_found for each in judged], dtype=bool)
    return PairScoresBuilder.for_pairs(judged).scores(found)
