"""Fails unless a tag is the version of the package: ``python .ci/version.py v1.2.3``."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def difference(tag: str, root: Path = ROOT) -> str | None:
    """Return what does not fit the tag, and what to do; None if all files have its version."""
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    cited = re.search(r"^version: *[\"']?([^\s\"']+)", (root / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    if tag != f"v{version}":
        return f"the tag is {tag}, and pyproject.toml has version {version}: set that, or push the tag v{version}"
    if cited is None or cited[1] != version:
        return f"pyproject.toml has version {version}, and CITATION.cff {cited and cited[1]}: set it there too"
    return None


if __name__ == "__main__":
    sys.exit(difference(sys.argv[1]))
