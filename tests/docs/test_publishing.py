"""The description on PyPI, and what the files say about where the project is and how it is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from email import message_from_string
from typing import TYPE_CHECKING

import pytest

from docs.making.publishing import WORDINGS, pages, renewed, repository
from tests.data import ROOT

if TYPE_CHECKING:
    from pathlib import Path

METADATA = """
import sys
from setuptools import build_meta
print(sys.argv[1] + "/" + build_meta.prepare_metadata_for_build_wheel(sys.argv[1]), file=sys.stderr)
"""
TARGET = re.compile(r"\]\(([^)\s]+)|(?:src|srcset|href)=[\"']([^\"']+)")


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What PyPI shows: the description in the built METADATA."""
    folder: Path = tmp_path_factory.mktemp("metadata")
    run = [sys.executable, "-c", METADATA, str(folder)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    (metadata,) = folder.glob("*.dist-info/METADATA")
    message = message_from_string(metadata.read_text("utf-8"))
    assert message["Description-Content-Type"] == "text/markdown"
    return str(message.get_payload())


def test_the_description_has_no_relative_link(description: str) -> None:
    targets = ["".join(found) for found in TARGET.findall(description)]
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []


def test_each_link_to_the_repository_is_to_one_of_its_files(description: str) -> None:
    own = [t for found in TARGET.findall(description) if (t := "".join(found)).startswith(repository())]
    paths = [re.sub(rf"^{re.escape(repository())}/(?:blob|raw)/main/", "", target).partition("#")[0] for target in own]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize(("page", "text"), [*pages()])
def test_a_page_says_where_the_project_is_and_how_it_is_installed(page: str, text: str) -> None:
    assert renewed(page, text) == text  # else: python docs/making/publishing.py


@pytest.mark.parametrize("page", WORDINGS)
def test_publishing_changes_the_command_and_back(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    published = renewed(page, text, is_published=True)
    assert "\npip install dedupcrawl\n" in published
    assert "\npip install .\n" not in published
    assert renewed(page, published, is_published=False) == renewed(page, text, is_published=False)


def test_every_page_installs_extras_by_the_name_of_the_package() -> None:
    wrong = [path.name for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if "'.[" in path.read_text("utf-8")]
    assert wrong == []
