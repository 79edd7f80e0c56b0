"""From a crawl to a better threshold: a ledger, labels given on the real page, a suggestion that is right."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

from dedupcrawl import Config, Page
from dedupcrawl.cli import app
from dedupcrawl.tools.evaluation.dataset import judge_pairs, score_pairs, weighted_pairs
from dedupcrawl.tools.label.labels import AnswerKind, LabelFile, LabelSession, read_labels
from dedupcrawl.tools.label.pairs import load_ledgers
from dedupcrawl.tools.label.server import LabelPage, LabelServer
from tests.batch.corpus import story
from tests.browser import PATIENCE, browsing
from tests.tools.evaluation.labelled import label
from tests.tools.label.runs import WORDS
from tests.tools.label.serving import serving
from tests.tools.report.judged_ledgers import changed, write

WANTED = 0.9
COPIES, OTHERS = 48, 24


def crawl(path: Path) -> None:
    """A crawl in which a threshold of 0.8 drops known stories that are no copies."""
    pages = []
    for number in range(COPIES + OTHERS):
        kind, words = ("copy", 1 + number % 3) if number < COPIES else ("own", 9 + number % 3)
        text = story(number, words=WORDS)
        pages.append(Page(text=text, url=f"https://first.example/{number}", title=f"Story {number}"))
        pages.append(Page(text=changed(text, words), url=f"https://{kind}.example/{number}", title="After it"))
    write(path, pages)


def answer_by_keyboard(ledger: Path, labels: Path) -> int:
    """Answer all questions by the truth; return their number."""
    with LabelFile(labels) as file:
        session = LabelSession(load_ledgers([ledger]).sampler, file, 100)
        with serving(LabelServer(session, LabelPage.of("a crawl", str(labels)))) as server, browsing() as tab:
            page = tab.page
            tab.open(server.url)
            newer = page.locator(".source a").last
            for done in range(1, 101):
                expect(newer).to_be_visible(timeout=PATIENCE)
                page.keyboard.press("s" if "//copy." in (newer.get_attribute("href") or "") else "d")
                counter = page.locator("#count")
                expect(counter).to_have_text(re.compile(rf"^{done} of"), timeout=PATIENCE)
                if counter.inner_text() == f"{done} of {done}":
                    break
            expect(page.locator("#over-head")).to_have_text("Done", timeout=PATIENCE)
            assert tab.errors == []
            return done


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    crawl(folder / "run.ledger")
    asked = answer_by_keyboard(folder / "run.ledger", folder / "labels.jsonl")
    assert COPIES < asked <= COPIES + OTHERS
    return folder / "labels.jsonl"


def test_what_was_answered_is_the_truth(labels: Path) -> None:
    said = {each.pair.new.url: each.answer for each in read_labels(labels)}
    assert {url for url, answer in said.items() if answer is AnswerKind.SAME} == {
        f"https://copy.example/{number}" for number in range(COPIES)
    }
    assert AnswerKind.SKIP not in said.values()


def test_the_suggestion_keeps_precision_on_these_pairs_and_on_others(labels: Path) -> None:
    args = ["eval", "pairs", str(labels), "--suggest", "--precision", str(WANTED), "--json"]
    told = orjson.loads(CliRunner().invoke(app, args, catch_exceptions=False).stdout)
    assert told["in_force"]["precision"]["low"] < WANTED
    assert told["suggested"]["precision"]["low"] >= WANTED
    threshold = told["values"]["threshold"]
    assert told["settings"] == [f"DEDUP_THRESHOLD = {threshold}"]
    config = Config(threshold=threshold)
    assert score_pairs(judge_pairs(weighted_pairs(read_labels(labels)), config)).precision.low >= WANTED
    fresh = [
        label(5_000 + number, words, AnswerKind.SAME if words < 9 else AnswerKind.DIFFERENT)
        for number, words in enumerate([1, 2, 3, 9, 10, 11] * 20)
    ]
    before, after = (score_pairs(judge_pairs(weighted_pairs(fresh), each)) for each in (Config(), config))
    assert before.precision.value is not None
    assert after.precision.value is not None
    assert before.precision.value < WANTED <= after.precision.value
