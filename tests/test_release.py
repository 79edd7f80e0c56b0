"""What the release workflow checks before anything is published."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))


def checked(tag: str, folder: Path, version: str = "1.2.0", cited: str = "1.2.0") -> subprocess.CompletedProcess[str]:
    """Run the check in a project of its own."""
    (folder / ".ci").mkdir()
    (folder / ".ci" / "version.py").write_bytes((ROOT / ".ci" / "version.py").read_bytes())
    (folder / "pyproject.toml").write_text(f'[project]\nname = "x"\nversion = "{version}"\n', "utf-8")
    (folder / "CITATION.cff").write_text(f"cff-version: 1.2.0\nversion: {cited}\n", "utf-8")
    command = [sys.executable, str(folder / ".ci" / "version.py"), tag]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_tag_that_is_the_version_passes(tmp_path: Path) -> None:
    assert checked("v1.2.0", tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("tag", "cited", "why"),
    [
        ("v1.2.1", "1.2.0", "the tag is v1.2.1, and pyproject.toml has version 1.2.0"),
        ("1.2.0", "1.2.0", "push the tag v1.2.0"),
        ("v1.2.0", "1.1.0", "pyproject.toml has version 1.2.0, and CITATION.cff 1.1.0"),
    ],
)
def test_another_tag_is_refused(tag: str, cited: str, why: str, tmp_path: Path) -> None:
    found = checked(tag, tmp_path, cited=cited)
    assert found.returncode == 1
    assert why in found.stderr


def test_every_job_of_a_release_waits_for_the_check() -> None:
    jobs = WORKFLOW["jobs"]
    assert any(".ci/version.py" in step.get("run", "") for step in jobs["version"]["steps"])
    assert all("version" in jobs[name]["needs"] for name in jobs if name != "version")
