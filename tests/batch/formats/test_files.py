from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch.formats import distinct_names, find_parts, format_of
from dedupcrawl.errors import DedupError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    names = (
        "b/x.jsonl", "b/sub/y.warc.gz", "b/notes.txt", "b/.hidden.jsonl", "b/_temporary/z.jsonl",
        "b/_done.jsonl", "a/x.jsonl", "a/x.parquet", "c.ndjson.zst", "d[1].jl", "c.txt",
    )  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(*inputs: str | Path, out: Path | None = None) -> list[str]:
    parts = find_parts(inputs, out=out)
    assert [part.number for part in parts] == list(range(len(parts)))
    return [part.name for part in parts]


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl", "jsonlines"),
        ("a.JL.GZ", "jsonlines"),
        ("a.ndjson.zst", "jsonlines"),
        ("a.warc.gz", "warc"),
        ("CC-MAIN-1.warc.wet.gz", "warc"),
        ("part-0.snappy.parquet", "parquet"),
        ("a.parquet.gz", None),
        ("a.warc.wat.gz", None),
        ("a.json", None),
        ("jsonl", None),
        (".jsonl", None),
        ("a.gz", None),
    ],
)
def test_names_tell_the_format(name: str, format: str | None) -> None:
    assert format_of(Path(name)) == format


def test_a_folder_is_searched_in_the_order_of_its_names(folder: Path) -> None:
    assert found("b") == ["sub/y.warc.gz", "x.jsonl"]
    assert found("b/../b/") == ["sub/y.warc.gz", "x.jsonl"]
    assert [part.format for part in find_parts(["a"])] == ["jsonlines", "parquet"]


def test_inputs_come_in_their_order_and_names_are_distinguished(folder: Path) -> None:
    assert found("c.ndjson.zst", "b", "a/x.parquet") == ["c.ndjson.zst", "sub/y.warc.gz", "x.jsonl", "x.parquet"]
    assert found("b", "a") == ["sub/y.warc.gz", "b/x.jsonl", "a/x.jsonl", "x.parquet"]
    assert found(folder / "b" / "x.jsonl", "a/x.jsonl") == ["b/x.jsonl", "a/x.jsonl"]


def test_a_file_that_is_named_like_a_folder_of_others_gets_another_name(folder: Path) -> None:
    for name in ("p/t.parquet/part-0.parquet", "q/t.parquet"):
        Path(name).parent.mkdir(parents=True)
        Path(name).touch()
    assert found("p", "q") == ["t.parquet/part-0.parquet", "q/t.parquet"]


def test_patterns_keep_the_folders_that_they_match(folder: Path) -> None:
    assert found("*/x.jsonl") == ["a/x.jsonl", "b/x.jsonl"]
    assert found("**/*.jsonl") == ["a/x.jsonl", "b/x.jsonl"]
    assert found("[ab]") == ["a/x.jsonl", "a/x.parquet", "b/sub/y.warc.gz", "b/x.jsonl"]
    assert found(f"{folder}/b/*") == ["sub/y.warc.gz", "x.jsonl"]
    assert found("b/_*") == ["_done.jsonl", "_temporary/z.jsonl"]
    assert found("d[1].jl") == ["d[1].jl"]
    assert found("a/../b/*.jsonl") == ["x.jsonl"]


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ([], "no input; accepted are files that end in .jsonl"),
        (["none.jsonl"], "none.jsonl: no such file or folder"),
        (["c.txt"], "c.txt: no file of a corpus; accepted are"),
        (["b/_temporary/z*.txt"], "no file of a corpus"),
        (["b", "b/x.jsonl"], "x.jsonl: the file is among the inputs twice"),
        (["b/x.jsonl", "b/../b/x.jsonl"], "twice"),
        (["a/link.jsonl", "b/x.jsonl"], "twice"),
    ],
)
def test_what_is_wrong_is_reported(folder: Path, inputs: list[str], why: str) -> None:
    Path("a/link.jsonl").symlink_to(folder / "b" / "x.jsonl")
    with pytest.raises(DedupError, match=why):
        find_parts(inputs)


def test_an_empty_folder_is_an_error(folder: Path) -> None:
    Path("empty").mkdir()
    with pytest.raises(DedupError, match="empty: no file of a corpus"):
        find_parts(["empty"])


def test_results_are_no_input(folder: Path) -> None:
    assert found(".", out=Path("b")) == ["a/x.jsonl", "a/x.parquet", "c.ndjson.zst", "d[1].jl"]
    assert found("*/*.jsonl", out=folder / "b") == ["a/x.jsonl"]
    with pytest.raises(DedupError, match="the input lies in b, where the results are to be written"):
        find_parts(["b/x.jsonl"], out=Path("b"))


def test_the_list_of_an_earlier_batch_is_no_input(folder: Path) -> None:
    Path("b/superseded.jsonl").touch()
    assert found("b") == ["sub/y.warc.gz", "superseded.jsonl", "x.jsonl"]
    Path("b/_dedupcrawl").mkdir()
    for where in ("b", "b*", "b/*", "**/b/**"):
        assert all("superseded" not in name for name in found(where))


def test_a_name_that_is_not_utf_8_is_refused_in_a_sentence(folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9.jsonl")
    try:
        Path("a", name).touch()
    except OSError:
        pytest.skip("this file system takes no such names")
    with pytest.raises(DedupError, match=r"a/caf\\xe9.jsonl: the name is not UTF-8"):
        find_parts(["a"])
    with pytest.raises(DedupError, match=r"caf\\xe9: the name is not UTF-8"):
        find_parts(["b"], out=Path(os.fsdecode(b"caf\xe9")))


@settings(max_examples=60, deadline=None)
@given(st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda path: "/" + "/".join(path))))
def test_each_file_has_a_name_of_its_own(paths: set[str]) -> None:
    files = [Path(path) for path in paths]
    names = distinct_names([(path, path.name) for path in files])
    assert len(set(names)) == len(names)
    assert all(PurePosixPath(path).match(name) for path, name in zip(files, names, strict=True))
