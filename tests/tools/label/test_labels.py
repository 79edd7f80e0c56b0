"""The file of labels survives however a session ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.label.labels import AnswerKind, LabelFile, LabelSession, StaleAnswerError, read_labels
from dedupcrawl.tools.label.pairs import MAX_CHARS, OfferedPage, OfferedPair, StratumPairs
from tests.tools.label.offers import pair, sampler_of

STRATUM = StratumPairs("a run", "near-duplicate", "near", 0.8, 120)


def answers(path: Path) -> dict[str, AnswerKind]:
    return {label.pair.new.url: label.answer for label in read_labels(path)}


def test_labels_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path, clock=lambda: 1.5) as file:
        file.add(pair(1), AnswerKind.SAME, STRATUM)
        file.add(pair(2, relation=""), AnswerKind.DIFFERENT, STRATUM)
    first, second = read_labels(path)
    assert (first.pair, first.answer, first.stratum, first.time) == (pair(1), AnswerKind.SAME, STRATUM, 1.5)
    assert (second.pair, second.answer) == (pair(2, relation=""), AnswerKind.DIFFERENT)


def test_each_label_is_written_at_once_and_a_second_session_continues(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    file = LabelFile(path)
    file.add(pair(1), AnswerKind.SAME, STRATUM)
    assert list(answers(path).values()) == [AnswerKind.SAME]
    file.close()
    with LabelFile(path) as again:
        assert set(again.labels) == {pair(1).id}
        again.add(pair(2), AnswerKind.SKIP, STRATUM)
    assert list(answers(path).values()) == [AnswerKind.SAME, AnswerKind.SKIP]
    assert [each.name for each in tmp_path.iterdir()] == ["labels.jsonl"]


def test_the_last_word_counts(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(pair(1), AnswerKind.SAME, STRATUM)
        file.undo(pair(1))
        assert file.labels == {}
        file.add(pair(2), AnswerKind.SAME, STRATUM)
        file.add(pair(2), AnswerKind.DIFFERENT, STRATUM)
    assert answers(path) == {"https://new.example/2": AnswerKind.DIFFERENT}
    assert len(path.read_bytes().splitlines()) == 4


def test_two_sessions_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        with pytest.raises(DedupError, match="another session"):
            LabelFile(path)
        file.add(pair(1), AnswerKind.SAME, STRATUM)  # the first one does not suffer
    with LabelFile(path) as file:
        assert set(file.labels) == {pair(1).id}


@pytest.mark.parametrize("kept", [1, 50, -1])
def test_a_line_that_was_cut_off_is_forgotten(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(pair(1), AnswerKind.SAME, STRATUM)
        whole = path.read_bytes()
        file.add(pair(2), AnswerKind.SAME, STRATUM)
    second = path.read_bytes()[len(whole) : -1]
    path.write_bytes(whole + second[:kept])
    assert answers(path) == {"https://new.example/1": AnswerKind.SAME}
    with LabelFile(path) as file:
        file.add(pair(3), AnswerKind.DIFFERENT, STRATUM)
    assert list(answers(path)) == ["https://new.example/1", "https://new.example/3"]


def test_a_line_without_its_end_counts_where_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(pair(1), AnswerKind.SAME, STRATUM)
    path.write_bytes(path.read_bytes().rstrip())
    with LabelFile(path) as file:
        file.add(pair(2), AnswerKind.SAME, STRATUM)
    assert len(answers(path)) == 2


@pytest.mark.parametrize("text", ["a note of one line", '{"id": 1, "te', "\n\nit is mine"])
def test_a_foreign_file_is_left_unchanged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(DedupError, match="not a row of a labels file"):
        LabelFile(path)
    with pytest.raises(DedupError, match="not a row of a labels file"):
        read_labels(path)
    assert path.read_text() == text


def test_a_session_without_labels_leaves_no_file(tmp_path: Path) -> None:
    LabelFile(tmp_path / "labels.jsonl").close()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "labels.jsonl").touch()
    LabelFile(tmp_path / "labels.jsonl").close()
    assert [each.name for each in tmp_path.iterdir()] == ["labels.jsonl"]


def test_a_full_disk_behind_a_torn_line_leaves_the_whole_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(pair(1), AnswerKind.SAME, STRATUM)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    with LabelFile(path) as file:
        monkeypatch.setattr(file, "_file", _FullDisk(file._file))
        with pytest.raises(DedupError, match="No space left"):
            file.add(pair(2), AnswerKind.SAME, STRATUM)
    assert path.read_bytes() == whole


def test_a_full_disk_leaves_no_half_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(pair(1), AnswerKind.SAME, STRATUM)
        whole = path.read_bytes()
        monkeypatch.setattr(file, "_file", _FullDisk(file._file))
        with pytest.raises(DedupError, match="No space left"):
            file.add(pair(2), AnswerKind.SAME, STRATUM)
        assert path.read_bytes() == whole
        assert set(file.labels) == {pair(1).id}


class _FullDisk:
    """Accepts ten more bytes."""

    def __init__(self, file: Any) -> None:
        self._file, self._room = file, 10

    def write(self, data: memoryview) -> int:
        if not self._room:
            raise OSError(28, "No space left on device")
        taken = self._file.write(data[: self._room])
        self._room = 0
        return int(taken)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_what_was_labelled_by_other_means_needs_little(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"label": "same", "new": {"text": "a"}, "old": {"text": "b"}}\n\n')
    (label,) = read_labels(path)
    assert (label.pair.new.text, label.pair.old.text, label.stratum) == ("a", "b", None)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2"),
        ("[]", "JSON object"),
        ('{"label": "same", "new": {"text": "a"}}', "old missing"),
        ('{"label": "maybe", "new": {"text": "a"}, "old": {"text": "b"}}', "'same', 'different', 'skip'"),
        ('{"label": "same", "new": {"text": 1}, "old": {"text": "b"}}', "new is an object with a text"),
        ('{"label": "same", "new": {"text": "a"}, "old": {"text": "b"}, "stratum": {"run": "r"}}', "kind"),
        ('{"label": "undone"}', "pair missing"),
        ('{"url": "https://a.example/", "title": "an item of a feed"}', "label, new, old missing"),
    ],
)
def test_what_is_no_label_is_named_and_left_alone(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "labels.jsonl"
    before = f'{{"label": "same", "new": {{"text": "a"}}, "old": {{"text": "b"}}}}\n{line}\n'
    path.write_text(before)
    with pytest.raises(DedupError, match=said):
        read_labels(path)
    with pytest.raises(DedupError, match=said):
        LabelFile(path)
    assert path.read_text() == before


def test_what_cannot_be_read_or_written_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DedupError, match="cannot be read"):
        read_labels(tmp_path / "absent.jsonl")
    with pytest.raises(DedupError, match="cannot be written"):
        LabelFile(tmp_path / "absent" / "labels.jsonl")
    with pytest.raises(DedupError, match="cannot be written"):
        LabelFile(tmp_path)


@settings(deadline=None)
@given(st.text(st.characters(codec=None), max_size=30))
def test_any_text_can_be_written(text: str) -> None:
    side = OfferedPage.of(text, text, text)
    one = OfferedPair(side, OfferedPage.of("", "", "x"), "", 0.5, "minhash", "")
    assert len(one.id) == 32
    assert orjson.loads(orjson.dumps(side.text)) == side.text
    if text.isascii():
        assert side.text == text


def test_long_texts_are_cut_and_say_so() -> None:
    long, short = (OfferedPage.of("u", "t" * 5_000, "x" * (MAX_CHARS + 1)), OfferedPage.of("u", "t", "x" * MAX_CHARS))
    assert (len(long.text), long.is_cut, len(long.title)) == (MAX_CHARS, True, 1_000)
    assert not short.is_cut


# -- session ------------------------------------------------------------------------------------

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


def answer(session: LabelSession, said: AnswerKind = AnswerKind.SAME) -> str:
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
    asked = {answer(first, said) for said in (AnswerKind.SAME, AnswerKind.DIFFERENT, AnswerKind.SKIP, AnswerKind.SAME)}
    assert first.current is None
    assert first.progress.goal == 4
    second = begin()
    assert second.progress.labelled == 3
    rest = {answer(second) for _ in range(6)}
    assert second.current is None
    assert not asked & rest


def test_undo_goes_back_as_often_as_one_likes(begin: Begin, tmp_path: Path) -> None:
    session = begin()
    asked = [answer(session, said) for said in (AnswerKind.SAME, AnswerKind.DIFFERENT)]
    session.undo()
    assert session.current is not None
    assert session.current.id == asked[1]
    assert session.last is not None
    assert session.last[1] is AnswerKind.SAME
    session.undo()
    session.undo()  # there is nothing more to take back
    assert session.current.id == asked[0]
    assert session.progress.done == 0
    assert read_labels(tmp_path / "labels.jsonl") == []
    assert [answer(session, AnswerKind.SKIP) for _ in asked] == asked


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
        session.answer(before, AnswerKind.DIFFERENT)
    assert [label.answer for label in read_labels(tmp_path / "labels.jsonl")] == [AnswerKind.SAME]


def test_one_may_ask_for_more(begin: Begin) -> None:
    session = begin(1)
    answer(session)
    session.extend(50)
    assert session.current is not None
    assert session.progress.goal == len(PAIRS)


def test_progress_counts(begin: Begin) -> None:
    session = begin(6)
    for said in (AnswerKind.SAME, AnswerKind.SAME, AnswerKind.DIFFERENT, AnswerKind.SKIP):
        answer(session, said)
    progress = session.progress
    assert (progress.done, progress.goal, progress.left) == (4, 6, 6)
    assert (progress.same, progress.different, progress.skipped, progress.labelled) == (2, 1, 1, 3)
