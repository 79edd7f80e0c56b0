"""``dedupcrawl lexicon``: from a corpus to a file that detectors use."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import orjson
import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.cli import main
from dedupcrawl.text.lexicon import open_lexicon
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

HERE = __name__


def characters(run: str) -> list[str]:
    return list(run)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["dedupcrawl", *map(str, arguments)])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    data = b"".join(orjson.dumps(row) + b"\n" for row in rows)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def html(text: str) -> str:
    noise = '<nav><a href="/a">imprint</a> <a href="/b">masthead</a></nav>'
    return f"<html><body>{noise}<article><p>{text}</p></article></body></html>"


def opened(path: Path, **wanted: Any) -> dict[str, int]:
    found = open_lexicon(str(path), **{"segmenter": "jieba", **wanted})
    return {word: round(found.documents * math.exp(-(found.idf(word) or 0.0))) for word in found}


@pytest.mark.parametrize("name", ["feed.jsonl", "feed.jl", "feed.jsonl.gz"])
def test_lines_of_pages_and_of_texts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = lines(
        tmp_path / name,
        {"html": html(ENGLISH)},
        {"text": OTHER_ENGLISH, "url": "https://a.example/"},
        {"html": None, "text": "The harbour, the Harbour."},
    )
    file = tmp_path / "en.lexicon"
    assert run(monkeypatch, "lexicon", "build", corpus, "-o", file, "--min-documents", 1, "--language", "en-GB") == 0
    counts = opened(file, language="en")
    assert (counts["the"], counts["harbour"], counts["committee"]) == (3, 2, 1)
    assert "imprint" not in counts
    assert f"{len(counts)} words of 3 documents" in capsys.readouterr().out
    assert opened(file, segmenter="any.thing:else") == counts  # the segmenter was not used


def test_text_files_pages_and_folders_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "corpus" / "deeper"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text(CHINESE, "gb18030")
    (folder / "b.txt.gz").write_bytes(gzip.compress(OTHER_CHINESE.encode()))
    (folder / "empty.txt").write_text(" \n")
    (tmp_path / "corpus" / "c.html").write_text(html(CHINESE), "utf-8")
    (tmp_path / "corpus" / "notes.md").write_text("not counted")
    file = tmp_path / "zh.lexicon"
    assert run(monkeypatch, "lexicon", "build", tmp_path / "corpus", "-o", file, "--language", "zh") == 0
    counts = opened(file, language="zh")
    assert (counts["的"], counts["港口"]) == (3, 2)
    assert "委员会" not in counts  # only one document contains it
    assert opened(file, segmenter="rjieba") == counts


def test_fields_of_a_users_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = lines(tmp_path / "feed.jsonl", {"title": "Harbour", "body": ["ice", "ferries"], "text": "left out"})
    file = tmp_path / "lexicon"
    code = run(
        monkeypatch, "lexicon", "build", corpus, "-o", file, "--field", "title", "--field", "body", "--min-documents", 1
    )
    assert code == 0
    assert opened(file) == {"harbour": 1, "ice": 1, "ferries": 1}


def test_traditional_texts_are_counted_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = lines(tmp_path / "feed.jsonl", {"text": "臺灣大學"}, {"text": "台湾大学"})
    file = tmp_path / "lexicon"
    assert run(monkeypatch, "lexicon", "build", corpus, "-o", file, "--fold-chinese") == 0
    assert opened(file) == {"台湾大学": 2}


def test_a_custom_segmenter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = lines(tmp_path / "feed.jsonl", {"text": "ไทย 北京"}, {"text": "ไทย"})
    file = tmp_path / "lexicon"
    assert run(monkeypatch, "lexicon", "build", corpus, "-o", file, "--segmenter", f"{HERE}:characters") == 0
    assert opened(file, segmenter=f"{HERE}:characters") == {"ไ": 2, "ท": 2, "ย": 2}


def test_a_store_that_holds_keywords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = ("Ferry bridge harbour lantern orchard", "Harbour lantern museum ferry printer")
    for namespace, text in zip("ab", texts, strict=True):
        detectors = {"exact": {}, "keywords": {"count": 5, "variant": 5}, "simhash": {}}
        with Deduplicator("lmdb://seen", namespace, detectors=detectors, min_chars=4) as dedup:
            dedup.add(text=text, url=f"https://a.example/{namespace}")
            dedup.add(text="one two", url=f"https://a.example/{namespace}/short")
    lines(tmp_path / "feed.jsonl", {"text": "the ferry"})
    assert run(monkeypatch, "lexicon", "build", "feed.jsonl", "lmdb://seen", "-o", "lexicon") == 0
    assert opened(tmp_path / "lexicon") == {"ferry": 3, "harbour": 2, "lantern": 2}


@pytest.mark.parametrize(
    ("detectors", "arguments", "said"),
    [
        (["exact", "minhash"], [], "the sketches of exact, minhash hold no words"),
        ({"keywords": {"variant": 1}}, [], "hold no words; those of the detector keywords do"),
        (["keywords"], ["--segmenter", "rjieba"], "its texts were segmented in another way; give --segmenter jieba"),
        (["keywords"], ["--fold-chinese"], "its texts were segmented in another way; give --segmenter jieba"),
    ],
)
def test_a_store_without_these_words_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    detectors: Any,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with Deduplicator("lmdb://seen", detectors=detectors) as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
    assert run(monkeypatch, "lexicon", "build", "lmdb://seen", *arguments, "-o", "lexicon") == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lmdb://nowhere"], "There is no store in the folder nowhere"),
        (["redis-ish://x"], "store = 'redis-ish://x' is not accepted"),
        (["memory://"], """store = 'memory://' is not accepted: "lmdb://relative"""),
        (["nowhere"], "nowhere: no such file or folder"),
        (["picture.png"], "no document; accepted are files that end in .jsonl"),
        (["broken.jsonl"], "broken.jsonl, line 2: no JSON"),
        (["list.jsonl"], "list.jsonl, line 1: a line is a JSON object, not list"),
        (["other.jsonl"], "other.jsonl, line 1: no field html or text; it has url (see --field)"),
        (["good.jsonl", "--field", "body"], "good.jsonl, line 1: no field body; it has text"),
        (["cut.jsonl.gz"], "cut.jsonl.gz: cannot be read"),
        (["good.jsonl"], "no word occurs in 2 or more of the 1 documents that have text"),
        (["good.jsonl", "--language", "English, please"], "a code of BCP 47"),
        (["good.jsonl", "--segmenter", "nope"], "--segmenter = 'nope' is not accepted"),
    ],
)
def test_an_error_is_one_sentence(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("picture.png").write_bytes(b"\x89PNG")
    Path("broken.jsonl").write_text('{"text": "fine"}\n{"text": \n')
    Path("list.jsonl").write_text("[1]\n")
    Path("other.jsonl").write_text('{"url": "https://a.example/"}\n')
    Path("cut.jsonl.gz").write_bytes(gzip.compress(b'{"text": "fine"}\n' * 100)[:-12])
    Path("good.jsonl").write_text('{"text": "once upon a time"}\n')
    assert run(monkeypatch, "lexicon", "build", *arguments, "-o", "out.lexicon") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1
    assert not Path("out.lexicon").exists()


def test_a_missing_folder_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = lines(tmp_path / "feed.jsonl", {"text": "a"}, {"text": "a"})
    assert run(monkeypatch, "lexicon", "build", corpus, "-o", tmp_path / "no" / "out") == 2
    assert "cannot be written" in capsys.readouterr().err


def test_info_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = lines(tmp_path / "feed.jsonl", {"text": "a b"}, {"text": "a b"}, {"text": "a"})
    file = tmp_path / "lexicon"
    run(monkeypatch, "lexicon", "build", corpus, "-o", file, "--language", "en")
    capsys.readouterr()
    assert run(monkeypatch, "lexicon", "info", file, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["language"], shown["documents"], shown["words"], shown["segmenter"]) == ("en", 3, 2, "")
    assert list(shown["commonest"]) == ["a", "b"]
    assert shown["rarest"]["b"] == pytest.approx(math.log(3 / 2))
    assert run(monkeypatch, "lexicon", "info", file) == 0
    assert "commonest" in capsys.readouterr().out


def test_info_of_the_built_in_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "lexicon", "info", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["language"], shown["words"]) == ("zh, en", 300_132)


def test_info_of_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "lexicon", "info", tmp_path / "nowhere") == 2
    assert "No such file" in capsys.readouterr().err


def test_a_lexicon_that_was_built_decides_what_copies_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = lines(
        tmp_path / "feed.jsonl", *({"text": text} for text in (ENGLISH, OTHER_ENGLISH, ENGLISH + OTHER_ENGLISH))
    )
    file = tmp_path / "lexicon"
    assert run(monkeypatch, "lexicon", "build", corpus, "-o", file, "--min-documents", 1) == 0
    detectors = {"imatch": {"lowest": 0.0, "highest": 1.0, "least_terms": 1}}
    with Deduplicator(detectors=detectors, lexicon=str(file)) as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        assert dedup.check(text=ENGLISH + " Zyzzyva.", url="https://b.example/1").of == "https://a.example/1"
        assert dedup.check(text=OTHER_ENGLISH, url="https://b.example/2").of is None
