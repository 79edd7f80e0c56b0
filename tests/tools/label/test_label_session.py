"""A session: one question after the other, and a way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.label.label_session import LabelSession, StaleAnswerError
from dedupcrawl.tools.label.labels import Answer, LabelFile, read_labels
from tests.tools.label.offers import pair, urn_of

Begin = Callable[..., LabelSession]
PAIRS = [pair(number, 0.7 + number / 50) for number in range(10)]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    opened: list[LabelFile] = []

    def beginning(goal: int = 100) -> LabelSession:
        for each in opened:
            each.close()
        opened[:] = [LabelFile(tmp_path / "labels.jsonl")]
        return LabelSession(urn_of(PAIRS), opened[0], goal)

    yield beginning
    for each in opened:
        each.close()


def answer(sitting: LabelSession, said: Answer = Answer.SAME) -> str:
    assert sitting.current is not None
    id_ = sitting.current.id
    sitting.answer(id_, said)
    return id_


def test_all_pairs_are_asked_once(begin: Begin, tmp_path: Path) -> None:
    sitting = begin()
    asked = [answer(sitting) for _ in PAIRS]
    assert len(set(asked)) == len(PAIRS)
    assert sitting.current is None
    assert sitting.progress.left == 0
    strata = {label.stratum for label in read_labels(tmp_path / "labels.jsonl") if label.stratum}
    assert sum(each.size for each in strata) == len(PAIRS)


def test_a_second_session_goes_on_where_the_first_one_stopped(begin: Begin) -> None:
    first = begin(4)
    asked = {answer(first, said) for said in (Answer.SAME, Answer.DIFFERENT, Answer.SKIP, Answer.SAME)}
    assert first.current is None
    assert first.progress.goal == 4
    second = begin()
    assert second.progress.labelled == 3
    rest = {answer(second) for _ in range(6)}
    assert second.current is None
    assert not asked & rest


def test_undo_goes_back_as_often_as_one_likes(begin: Begin, tmp_path: Path) -> None:
    sitting = begin()
    asked = [answer(sitting, said) for said in (Answer.SAME, Answer.DIFFERENT)]
    sitting.undo()
    assert sitting.current is not None
    assert sitting.current.id == asked[1]
    assert sitting.last is not None
    assert sitting.last[1] is Answer.SAME
    sitting.undo()
    sitting.undo()  # there is nothing more to take back
    assert sitting.current.id == asked[0]
    assert sitting.progress.done == 0
    assert read_labels(tmp_path / "labels.jsonl") == []
    assert [answer(sitting, Answer.SKIP) for _ in asked] == asked


def test_undo_at_the_end_asks_again(begin: Begin) -> None:
    sitting = begin(1)
    only = answer(sitting)
    assert sitting.current is None
    sitting.undo()
    assert sitting.current is not None
    assert sitting.current.id == only


def test_an_undo_that_cannot_be_written_changes_nothing(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting = begin()
    only = answer(sitting)

    def full(*_: object) -> None:
        raise DedupError("No space left on device")

    with monkeypatch.context() as failing:
        failing.setattr(LabelFile, "undo", full)
        with pytest.raises(DedupError):
            sitting.undo()
    assert sitting.progress.done == 1
    sitting.undo()
    assert sitting.current is not None
    assert sitting.current.id == only


def test_an_answer_to_another_question_is_refused(begin: Begin, tmp_path: Path) -> None:
    sitting = begin()
    before = answer(sitting)
    with pytest.raises(StaleAnswerError):
        sitting.answer(before, Answer.DIFFERENT)
    assert [label.answer for label in read_labels(tmp_path / "labels.jsonl")] == [Answer.SAME]


def test_one_may_ask_for_more(begin: Begin) -> None:
    sitting = begin(1)
    answer(sitting)
    sitting.extend(50)
    assert sitting.current is not None
    assert sitting.progress.goal == len(PAIRS)


def test_progress_counts(begin: Begin) -> None:
    sitting = begin(6)
    for said in (Answer.SAME, Answer.SAME, Answer.DIFFERENT, Answer.SKIP):
        answer(sitting, said)
    progress = sitting.progress
    assert (progress.done, progress.goal, progress.left) == (4, 6, 6)
    assert (progress.same, progress.different, progress.skipped, progress.labelled) == (2, 1, 1, 3)
