"""The command line in Chinese: every text has a translation, and none is left over."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from dedupcrawl import Deduplicator, Page
from dedupcrawl.cli import app, main
from dedupcrawl.cli.language import CATALOGUES, language_of, table_of
from dedupcrawl.config import Config
from dedupcrawl.decision import UNCHECKED_REASONS, Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.page.options import READER_ACCEPTED
from dedupcrawl.stores.base import ClaimState
from dedupcrawl.text.positions import POSITIONS
from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.crawl import FaultKind
from dedupcrawl.tools.explain import explainer
from dedupcrawl.tools.explain.configuration import ConstantSource
from dedupcrawl.tools.explain.counterfactuals import NEW_STORE, UNSURE
from dedupcrawl.tools.explain.pair_builder import PairKind
from dedupcrawl.utils.messages import ENGLISH, read_chinese, speak
from tests.cli.catalogue import PACKAGE, errors_in, help_texts, literals, messages_in_code, remarks_in, steps
from tests.texts import CHINESE, OTHER_CHINESE
from tests.texts import ENGLISH as ARTICLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_UNITS = {"bytes", "d", "h", "min", "s"}  #: of sizes and durations
_placeholders = re.compile(r"\{(\w+)\}").findall
_word = re.compile("[a-z]{2}").search
_han = re.compile(r"[\u4e00-\u9fff]").search
#: Modules whose errors a user of the commands can cause.
_MODULES = (
    *PACKAGE.glob("cli/*.py"),
    *(
        PACKAGE / each
        for each in (
            "config.py",
            "deduplicator.py",
            "matching.py",
            "page/document.py",
            "page/options.py",
            "page/readers.py",
            "text/lexicon.py",
            "text/words.py",
            "ledger/ledger_appender.py",
            "ledger/ledger_schema.py",
            "tools/demo/crawl.py",
            "tools/label/labels.py",
            "tools/report/html_bundle.py",
            "tools/evaluation/extraction.py",
            "tools/evaluation/runs.py",
            "tools/evaluation/plot.py",
        )
    ),
    *PACKAGE.glob("stores/**/*.py"),
    *PACKAGE.glob("batch/**/*.py"),
    *PACKAGE.glob("detectors/*.py"),
)
#: Beginnings of texts that are made of two literals.
_JOINED = (
    "not in the store; ",
    "{part}: cannot be read",
    "{folder}: the batch there has not come to its end",
    "the parameters {names}, in lower case;",
    '"blocks", "topic", "text" or the dotted name',
)
#: Beginnings of texts that Typer makes.
_OF_TYPER = (
    "No such",
    "Missing",
    "Got unexpected",
    "Option {",
    "Invalid value",
    "Value error",
    "{value} is not",
    "Input",
)


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Let later tests have the language in which they began."""
    yield
    speak(ENGLISH)


def catalogue() -> dict[str, dict[str, str]]:
    own = read_chinese(*CATALOGUES)
    return {"messages": dict(own.messages), "sentences": dict(own.sentences)}


def is_chinese(text: str) -> bool:
    return _han(text) is not None


# -- the catalogue --------------------------------------------------------------------------------


def test_every_message_has_its_chinese_and_no_translation_is_left_over() -> None:
    used = {message for message, _ in messages_in_code()} | help_texts()
    known = catalogue()["messages"].keys()
    assert used - known == set()
    assert known - used - _UNITS == set()


def test_messages_get_the_values_that_they_name() -> None:
    for message, values in messages_in_code():
        assert values is None or values == {*_placeholders(message)}, message


def test_translations_have_the_same_values() -> None:
    for table in catalogue().values():
        for english, chinese in table.items():
            assert sorted(_placeholders(chinese)) == sorted(_placeholders(english)), english
            assert english.count("[/]") == chinese.count("[/]"), english
            assert "文本" not in chinese, english
            assert is_chinese(chinese) or not re.search("[a-z]{3}", re.sub(r"\{\w*\}", "", chinese)), english


def test_a_text_has_one_translation() -> None:
    """Of two entries JSON keeps the last one, without a word."""
    twice: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> dict[str, object]:
        twice.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return dict(pairs)

    for each in CATALOGUES:
        json.loads((PACKAGE / each).read_text("utf-8"), object_pairs_hook=note)
    assert [each for each in twice if each not in {"messages", "sentences"}] == []
    pages = [text for each in CATALOGUES for text in read_chinese(each).messages]
    assert len({*pages}) == len(pages)
    shared = read_chinese("tools/report/web/zh.json", "tools/inspect/web/zh.json").sentences
    assert [each for each in catalogue()["sentences"] if each in shared] == []


def test_no_sentence_is_translated_that_the_package_does_not_make() -> None:
    made = "\n".join([literals(), *(page.kind for page in load_content().pages)])
    others = [each for each in catalogue()["sentences"] if not each.startswith((*_OF_TYPER, *_JOINED))]
    pieces = {sentence: [each.strip(" .,:") for each in re.split(r"\{\w+\}", sentence)] for sentence in others}
    assert [sentence for sentence, parts in pieces.items() if not all(part in made for part in parts)] == []


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_error_has_its_chinese(path: Path) -> None:
    zh = table_of("zh")
    assert [each for each in errors_in(path) if _word(each) and not is_chinese(zh.sentence(each))] == []


def test_every_remark_of_an_explanation_has_its_chinese() -> None:
    zh = table_of("zh")
    found = [each for each in remarks_in(PACKAGE / "tools" / "explain" / "explainer.py") if " " in each]
    assert len(found) >= 10
    found += [explainer._PENDING, explainer._OTHERWISE, NEW_STORE, UNSURE]
    assert [each for each in found if not is_chinese(zh.sentence(each))] == []


def test_every_name_of_an_explanation_and_of_the_demo_has_its_chinese() -> None:
    zh = table_of("zh")
    names = [
        *Status,
        *Relation,
        *UNCHECKED_REASONS,
        *PairKind,
        *FaultKind,
        *POSITIONS,
        *ConstantSource,
        "kept",
        "dropped",
        "unjudged",
    ]
    names += [state.name.lower() for state in ClaimState]
    names += {page.kind for page in load_content().pages}
    assert [each for each in map(str, names) if not is_chinese(zh.sentence(each))] == []


def test_every_step_of_a_progress_bar_has_its_chinese() -> None:
    zh = table_of("zh")
    assert len(steps()) >= 15
    assert [each for each in steps() if not is_chinese(zh.sentence(each))] == []


# -- commands -------------------------------------------------------------------------------------

_CHINESE = {"LANG": "zh_CN.UTF-8", "LC_ALL": None, "LC_MESSAGES": None, "LANGUAGE": None}
_runner = CliRunner()
_URL, _COPY = "https://a.example/1", "https://b.example/2"


def run(*arguments: str, code: int = 0) -> str:
    result = _runner.invoke(app, arguments, env=_CHINESE)
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"lmdb://{tmp_path}/seen"
    with Deduplicator(url, "news", config=Config()) as dedup:
        dedup.add(Page.from_text(ARTICLE, _URL))
    return url


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "en:zh_CN"}, "en"),
        ({"LANG": "C", "LANGUAGE": "zh_CN"}, "en"),
        ({"LANG": "POSIX"}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_environment_chooses_the_language(environment: dict[str, str], language: str) -> None:
    assert language_of(environment) == language


def test_the_option_has_precedence_before_and_behind_the_command(store: str) -> None:
    for arguments in (["--lang", "en", "store", "info", store], ["store", "info", store, "--lang=en"]):
        assert "claims" in run(*arguments)
    for arguments in (["--lang", "zh", "store", "info", store], ["store", "info", "--lang", "zh", store]):
        result = _runner.invoke(app, arguments, env={"LC_ALL": "C"})
        assert "认领" in result.output, result.output
    assert "认领" in run("store", "info", store, "--lang", "auto")
    assert "--lang" in run("store", "info", store, "--lang", "fr", code=2)


def test_an_argument_behind_two_dashes_is_no_option(store: str) -> None:
    assert "已忘掉 0 个网站" in run("store", "forget", store, "--", "--lang", "en", code=1)


def test_help_is_in_chinese() -> None:
    told = run("--help")
    assert "用法：dedupcrawl" in told
    assert "抓取到的每篇文章只保留一份。" in told
    for title in ("选项", "命令", "显示帮助后退出。"):
        assert title in told
    told = run("report", "--help")
    for part in ("参数", "[默认值：report.html]", "要写的文件。"):
        assert part in told
    assert "[必填]" in run("label", "--help")
    english = _runner.invoke(app, ["--help"], env={"LC_ALL": "C"}).output
    assert "Usage: " in english
    assert not is_chinese(english)


def test_errors_of_the_command_line_are_in_chinese(store: str) -> None:
    assert "没有命令" in run("stor", code=2)
    assert "没有这个选项：--nothing" in run("store", "info", "--nothing", code=2)
    assert "缺少参数" in run("label", code=2)
    assert "的值无效" in run("report", "--lang", "x", code=2)
    assert "错误" in run("label", code=2)


def test_an_error_of_the_library_is_in_chinese(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--lang", "zh", "store", "prune", f"lmdb://{tmp_path}/none", "--older-than", "soon"])
    assert caught.value.code == 2
    expected = "错误：不接受 --older-than = 'soon'：数字后加 s、m、h、d 或 w，例如 90d\n"
    assert capsys.readouterr().err == expected


def test_a_store_is_described_in_chinese(store: str, tmp_path: Path) -> None:
    lines = run("store", "info", store).splitlines()
    assert any("网页" in line and " 1 " in line for line in lines)
    ends = {len(line.encode("gb18030")) for line in lines if line.startswith("│")}
    assert len(ends) == 1  # the frame is straight: GB 18030 has two bytes for a character of two columns
    assert "已忘掉 1 条记录" in run("store", "forget", store, _URL)
    assert "已删除 0 条记录" in run("store", "prune", store, "--older-than", "9w")


def test_json_stays_english(store: str) -> None:
    assert json.loads(run("store", "info", store, "--json"))[0]["pages"] == 1


def test_an_explanation_is_in_chinese(store: str, tmp_path: Path) -> None:
    file = tmp_path / "copy.txt"
    file.write_text(ARTICLE, "utf-8")
    told = run("explain", _COPY, "--store", store, "--file", str(file))
    assert "重复，剔除：完全相同，对应 https://a.example/1" in told
    for part in ("所比较的一对网页", "各检测器的结果", "改哪项设置会改变判定", "生效的常数", "取自默认值"):
        assert part in told
    assert english_in(told.replace("text hashes", "")) == []


def english_in(told: str) -> list[str]:
    """Return runs of four English words."""
    return re.findall(r"(?:[A-Za-z]+ ){3,}[A-Za-z]+", told)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two Chinese pages with a common beginning."""
    found = []
    for name, text in (("one", CHINESE), ("two", CHINESE + OTHER_CHINESE)):
        html = f"<html><head><title>{name}</title></head><body><p>{text.replace('。', '。</p><p>')}</p></body></html>"
        (tmp_path / f"{name}.html").write_text(html, "utf-8")
        found.append(str(tmp_path / f"{name}.html"))
    return found[0], found[1]


def test_reading_comparing_and_inspecting_speak_chinese(
    files: tuple[str, str], store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = (
        (run("read", files[0], "--blocks"), "文章页"),
        (run("compare", *files), "仅第一页有"),
        (run("inspect", files[0], "--other", files[1], "--against", store), "已写入 one.inspect.html"),
        (run("report", store, "-o", "report.html"), "剔除 0"),
        (run("lexicon", "info"), "最常见（idf）"),
    )
    for told, part in shown:
        assert part in told
        assert english_in(told) == []


def test_a_batch_speaks_chinese(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = [{"url": f"https://a.example/{number}", "text": ARTICLE} for number in range(3)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n", "utf-8")
    told = run("batch", f"{tmp_path}/in.jsonl", "--out", f"{tmp_path}/out", "--skip-bad", "--workers", "1")
    for part in ("完全相同 2", "略去：", "每页"):
        assert part in told
    assert "无事可做" in run("batch", f"{tmp_path}/in.jsonl", "--out", f"{tmp_path}/out", "--skip-bad")


def test_watching_a_store_speaks_chinese(store: str) -> None:
    told = run("store", "watch", store, "--once")
    for part in ("网页", "认领", "处理中 0，已抓取 0", "内存"):
        assert part in told
    assert english_in(told) == []


def test_evaluations_speak_chinese(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    texts = (CHINESE, CHINESE, OTHER_CHINESE)
    rows = [
        {"id": str(number), "url": f"https://a.example/{number}", "text": text, "cluster": text[:4]}
        for number, text in enumerate(texts)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    told = run("eval", "duplicates", str(file), "--mistakes")
    for part in ("检测器", "精确率", "召回率", "漏掉"):
        assert part in told
    assert english_in(told) == []
    told = run("eval", "duplicates", str(file), "--sweep", "threshold=0.7:0.9:0.1", "--detector", "minhash")
    assert "精确率不低于 0.99 时，找到最多剔除的是 threshold" in told


def command(*arguments: str, folder: Path, **environment: str) -> str:
    """Run the command in a process of its own."""
    inherited = {name: value for name, value in os.environ.items() if name not in _CHINESE}
    done = subprocess.run(
        [sys.executable, "-c", "from dedupcrawl.cli import main; main()", *arguments],
        cwd=folder,
        env={**inherited, **environment},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode(environment.get("PYTHONIOENCODING", "utf-8"))


def test_a_terminal_without_chinese_characters_shows_escapes(store: str, tmp_path: Path) -> None:
    for arguments in (["--help"], ["store", "info", store]):
        told = command(*arguments, folder=tmp_path, LANG="zh_CN.UTF-8", PYTHONIOENCODING="ascii")
        assert "\\u" in told


def test_the_demo_is_in_chinese(tmp_path: Path) -> None:
    told = command("demo", folder=tmp_path, LANG="zh_CN.UTF-8", PYTHONIOENCODING="utf-8")
    assert "保留了什么，剔除了什么，为什么" in told
    assert "116 个网页，62 种不同的内容：保留 62，剔除 54；误剔 0，漏掉 0。" in told
    assert "近似重复" in told
    assert "near-duplicate" not in told


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "store = 'redis://h/0?db=9&x=1' is not accepted: the parameters db, timeout, in lower case",
            "不接受 store = 'redis://h/0?db=9&x=1'：参数 db, timeout，用小写",
        ),
        (
            "a.parquet: no column 'body', named as that of the text; it has html, url",
            "a.parquet：没有列 'body'，而它被指定为 text 的列；有的是 html, url",
        ),
        (
            "a.jsonl.gz: cannot be read from row 7 on: it is cut off: the packed data has no end",
            "a.jsonl.gz：从第 7 行起无法读取：它不完整：压缩数据没有结尾",
        ),
        ("out: no folder of a batch", "out：不是批处理的目录"),
        (
            f"reader = 'x:y' is not accepted: {READER_ACCEPTED}",
            '不接受 reader = \'x:y\'："blocks"、"topic"、"text"，或者函数的带点名称 "package.module:name"',
        ),
        ("The store redis://127.0.0.1:1/0 has been closed.", "指纹库 redis://127.0.0.1:1/0 已关闭。"),
    ],
)
def test_errors_that_are_put_together_are_in_chinese(english: str, chinese: str) -> None:
    assert table_of("zh").sentence(english) == chinese


def test_an_unreachable_server_is_named_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("redis")
    with pytest.raises(SystemExit):
        main(["--lang", "zh", "store", "info", "redis://127.0.0.1:1/0"])
    told = capsys.readouterr().err
    assert told.startswith("错误：指纹库 redis://127.0.0.1:1/0 无法连接：")
