"""A labelling session: the current pair, the answers so far, and the progress."""

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
    """The answer is not to the current question: it comes from another window, or was sent twice."""


@dataclass(frozen=True, slots=True)
class LabelProgress:
    """The progress of a session."""

    done: int  #: answers in this session
    goal: int  #: questions in this session; fewer than requested if there are not so many pairs
    same: int  #: in this session
    different: int
    skipped: int
    labelled: int  #: same and different in the whole file
    left: int  #: pairs of the run not asked about


class LabelSession:
    """Asks about the pairs of a run, one after the other; thread-safe.

    Args:
        sampler: the pairs.
        file: where the labels are written; pairs that it contains are not asked about again.
        goal: how many pairs to ask about.
    """

    def __init__(self, sampler: StratifiedSampler, file: LabelFile, goal: int) -> None:
        self._sampler, self._file, self._goal = sampler, file, goal
        self._answers: list[tuple[OfferedPair, Answer]] = []
        self._lock = RLock()
        self._current = self._next()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Prevent changes by other threads within the context."""
        with self._lock:
            yield

    @property
    def current(self) -> OfferedPair | None:
        """The pair to answer; None: the session is finished."""
        with self._lock:
            return self._current

    @property
    def last(self) -> tuple[OfferedPair, Answer] | None:
        """The last answer of this session, with its pair."""
        with self._lock:
            return self._answers[-1] if self._answers else None

    @property
    def progress(self) -> LabelProgress:
        """The progress so far."""
        with self._lock:
            answers = [answer for _, answer in self._answers]
            left = self._sampler.remaining(self._file.labels.keys())
            return LabelProgress(
                done=len(answers),
                goal=min(self._goal, len(answers) + left),
                same=answers.count(Answer.SAME),
                different=answers.count(Answer.DIFFERENT),
                skipped=answers.count(Answer.SKIP),
                labelled=sum(label.answer is not Answer.SKIP for label in self._file.labels.values()),
                left=left,
            )

    def answer(self, id: str, answer: Answer) -> None:
        """Write the answer to the file and go on to the next pair.

        Args:
            id: id of the current pair.
            answer: the answer.

        Raises:
            StaleAnswerError: another pair is the current one.
        """
        with self._lock:
            pair = self._current
            if pair is None or pair.id != id:
                raise StaleAnswerError("this pair is not the current one")
            self._file.add(pair, answer, self._sampler.stratum(pair))
            self._answers.append((pair, answer))
            self._current = self._next()

    def undo(self) -> None:
        """Remove the last answer of this session, if there is one, and ask about its pair again."""
        with self._lock:
            if not self._answers:
                return
            pair, _ = self._answers[-1]
            self._file.undo(pair)  # first: if writing fails, nothing has changed
            self._answers.pop()
            self._current = pair

    def extend(self, more: int) -> None:
        """Ask about ``more`` further pairs."""
        with self._lock:
            self._goal += more
            self._current = self._current or self._next()

    def _next(self) -> OfferedPair | None:
        if len(self._answers) >= self._goal:
            return None
        return self._sampler.next_pair(self._file.labels.keys(), self._answers[-1][0] if self._answers else None)
