"""The table of slow tests names tests that exist, and leaves the others to ``make test``."""

from __future__ import annotations

import pytest

from tests.data import ROOT
from tests.slow import COLLECTED, FIXTURES, MARK, PARTS, Part, is_slow


def test_a_part_names_tests_of_some_files() -> None:
    part = Part("stores/test_*.py", "clusters", r"\[cluster")
    assert part.has("tests/stores/test_contract.py::test_a[cluster-1]")
    assert not part.has("tests/stores/test_contract.py::test_a[lmdb]")
    assert not part.has("tests/crawl/test_contract.py::test_a[cluster]")
    assert Part("crawl/test_a.py", "all").has("tests/crawl/test_a.py::test_b")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.files)
def test_every_row_names_tests_with_a_reason(part: Part, request: pytest.FixtureRequest) -> None:
    """Tests are renamed and moved: a row that names nothing would let the tests of another name run every day."""
    assert part.reason
    assert [*(ROOT / "tests").glob(part.files)]
    collected = [nodeid for nodeid in request.config.stash[COLLECTED] if part.is_of(nodeid.partition("::")[0])]
    assert not collected or any(map(part.has, collected))


@pytest.mark.parametrize("fixture", FIXTURES)
def test_every_fixture_is_one(fixture: str) -> None:
    assert any(f"def {fixture}(" in path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert is_slow("tests/new/test_new.py::test_new", ["tmp_path", fixture])


def test_other_tests_are_not_slow(request: pytest.FixtureRequest) -> None:
    assert not is_slow("tests/new/test_new.py::test_new", ["tmp_path"])
    assert request.node.get_closest_marker(MARK) is None
