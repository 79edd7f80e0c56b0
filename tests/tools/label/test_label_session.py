"""A labelling session: questions, answers, undo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.label.label_session import LabelSession, StaleAnswerError
from dedupcrawl.tools.label.labels import Answer, LabelFile, read_labels
from tests.tools.label.offers import pair, sampler_of

Begin = Callable[..., LabelSession]
PAIRS = [pair(number, 0.7 + number / 50) for number in range(10)]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    opened: list[LabelFile] = []

    def beginning(goal: int = 100) -> LabelSession:
        for each in opened:
            each.close()
        opened[:] = [LabelFile(tmp_path / "labels.jsonl")]
        return LabelSession(sampler_of(PAIRS), opened[0], goal)

    yield beginning
    for each in opened:
        each.close()


def answer(session: LabelSession, said: Answer = Answer.SAME) -> str:
    assert session.current is not None
    id_ = session.current.id
    session.answer(id_, said)
    return id_


def test_all_pairs_are_asked_once(begin: Begin, tmp_path: Path) -> None:
    session = begin()
    asked = [answer(session) for _ in PAIRS]
    assert len(set(asked)) == len(PAIRS)
    assert session.current is None
    assert session.progress.left == 0
    strata = {label.stratum for label in read_labels(tmp_path / "labels.jsonl") if label.stratum}
    assert sum(each.size for each in strata) == len(PAIRS)


def test_a_second_session_continues_where_the_first_one_stopped(begin: Begin) -> None:
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
    session = begin()
    asked = [answer(session, said) for said in (Answer.SAME, Answer.DIFFERENT)]
    session.undo()
    assert session.current is not None
    assert session.current.id == asked[1]
    assert session.last is not None
    assert session.last[1] is Answer.SAME
    session.undo()
    session.undo()  # there is nothing more to take back
    assert session.current.id == asked[0]
    assert session.progress.done == 0
    assert read_labels(tmp_path / "labels.jsonl") == []
    assert [answer(session, Answer.SKIP) for _ in asked] == asked


def test_undo_at_the_end_asks_again(begin: Begin) -> None:
    session = begin(1)
    only = answer(session)
    assert session.current is None
    session.undo()
    assert session.current is not None
    assert session.current.id == only


def test_an_undo_that_cannot_be_written_changes_nothing(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    session = begin()
    only = answer(session)

    def full(*_: object) -> None:
        raise DedupError("No space left on device")

    with monkeypatch.context() as failing:
        failing.setattr(LabelFile, "undo", full)
        with pytest.raises(DedupError):
            session.undo()
    assert session.progress.done == 1
    session.undo()
    assert session.current is not None
    assert session.current.id == only


def test_an_answer_to_another_question_is_refused(begin: Begin, tmp_path: Path) -> None:
    session = begin()
    before = answer(session)
    with pytest.raises(StaleAnswerError):
        session.answer(before, Answer.DIFFERENT)
    assert [label.answer for label in read_labels(tmp_path / "labels.jsonl")] == [Answer.SAME]


def test_one_may_ask_for_more(begin: Begin) -> None:
    session = begin(1)
    answer(session)
    session.extend(50)
    assert session.current is not None
    assert session.progress.goal == len(PAIRS)


def test_progress_counts(begin: Begin) -> None:
    session = begin(6)
    for said in (Answer.SAME, Answer.SAME, Answer.DIFFERENT, Answer.SKIP):
        answer(session, said)
    progress = session.progress
    assert (progress.done, progress.goal, progress.left) == (4, 6, 6)
    assert (progress.same, progress.different, progress.skipped, progress.labelled) == (2, 1, 1, 3)
