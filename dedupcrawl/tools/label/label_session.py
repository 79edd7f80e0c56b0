"""A person at work: which pair lies before them, what they said, and what is left."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.label.labels import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.tools.label.labels import LabelFile
    from dedupcrawl.tools.label.sampling import OfferedPair, StratifiedSampler


class StaleAnswerError(DedupError):
    """An answer to a question that is not the one that was asked last: of another window, or sent twice."""


@dataclass(frozen=True, slots=True)
class LabelProgress:
    """How far the sitting has come."""

    done: int  #: answered in this sitting
    goal: int  #: for this sitting; less than asked for where there are not so many pairs
    same: int  #: in this sitting
    different: int
    skipped: int
    labelled: int  #: same and different in the whole file
    left: int  #: pairs of the run that nobody was asked about


class LabelSession:
    """One session of questions about the pairs of an urn; safe to be asked by several threads.

    Args:
        urn: the pairs.
        file: where labels go; what stands there is not asked again.
        goal: how many pairs to ask about.
    """

    def __init__(self, urn: StratifiedSampler, file: LabelFile, goal: int) -> None:
        self._urn, self._file, self._goal = urn, file, goal
        self._said: list[tuple[OfferedPair, Answer]] = []
        self._lock = RLock()
        self._current = self._next()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Let nothing change as long as the context lasts."""
        with self._lock:
            yield

    @property
    def current(self) -> OfferedPair | None:
        """The pair that is asked about; None: the sitting is over."""
        with self._lock:
            return self._current

    @property
    def last(self) -> tuple[OfferedPair, Answer] | None:
        """What was answered last, in this sitting."""
        with self._lock:
            return self._said[-1] if self._said else None

    @property
    def progress(self) -> LabelProgress:
        """How far it has come."""
        with self._lock:
            said = [answer for _, answer in self._said]
            labelled = sum(label.answer is not Answer.SKIP for label in self._file.labels.values())
            left = self._urn.left(self._file.labels.keys())
            return LabelProgress(
                done=len(said),
                goal=min(self._goal, len(said) + left),
                same=said.count(Answer.SAME),
                different=said.count(Answer.DIFFERENT),
                skipped=said.count(Answer.SKIP),
                labelled=labelled,
                left=left,
            )

    def answer(self, id: str, answer: Answer) -> None:
        """Write an answer down and go on to the next pair.

        Raises:
            OutOfTurnError: it is not this pair that is asked about.
        """
        with self._lock:
            pair = self._current
            if pair is None or pair.id != id:
                raise StaleAnswerError("this pair is not the one that is asked about")
            self._file.add(pair, answer, self._urn.stratum(pair))
            self._said.append((pair, answer))
            self._current = self._next()

    def undo(self) -> None:
        """Take the last answer of this sitting back, and ask about its pair again; without one do nothing."""
        with self._lock:
            if not self._said:
                return
            pair, _ = self._said[-1]
            self._file.undo(pair)  # first: where it cannot be written, nothing has changed
            self._said.pop()
            self._current = pair

    def extend(self, more: int) -> None:
        """Ask about so many pairs more."""
        with self._lock:
            self._goal += more
            self._current = self._current or self._next()

    def _next(self) -> OfferedPair | None:
        if len(self._said) >= self._goal:
            return None
        return self._urn.draw(self._file.labels.keys(), self._said[-1][0] if self._said else None)
