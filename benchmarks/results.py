"""Figures of a benchmark in a file: every benchmark takes ``--json FILE``.

A file names the benchmark, its command, the machine, the day, the versions of the packages that it is compared with,
and two groups of figures. ``ratios`` compare things of one run, so that they can be compared between machines;
``figures`` are times, bytes and counts of this machine. ``docs/making/measured.py`` makes the tables in the READMEs
from the files in ``benchmarks/measured``.
"""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from dedupcrawl.text import features

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

PACKAGES = ("datasketch", "gaoya", "rensa", "simhash", "trafilatura", "resiliparse", "lxml", "numpy", "scrapy", "redis")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--json FILE``."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the ratios and figures to this file")


def write_results(
    path: Path | None,
    benchmark: str,
    *,
    ratios: Mapping[str, float] | None = None,
    figures: Mapping[str, Any] | None = None,
    packages: Sequence[str] = (),
) -> None:
    """Write the results of a run; do nothing without a path.

    Args:
        path: the file, or None.
        benchmark: name of the benchmark.
        ratios: comparisons within this run, by what is compared with what.
        figures: other figures, with their units in their names.
        packages: names of packages that took part, beside the usual ones.
    """
    if path is None:
        return
    found = {
        "benchmark": benchmark,
        "command": _command(),
        "day": datetime.now(UTC).date().isoformat(),
        "machine": {
            "cores": os.cpu_count(),
            "processor": processor(),
            "python": platform.python_version(),
            "text kernel": features.kernel_description(),
        },
        "versions": {name: found for name in (*PACKAGES, *packages) if (found := _version(name))},
        "ratios": {name: _rounded(value) for name, value in (ratios or {}).items()},
        "figures": _rounded(dict(figures or {})),
    }
    path.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS) + b"\n")


def processor() -> str:
    """Return the name of the processor, as Linux knows it, or the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _command() -> str:
    """Return the command as it is run from the folder of the project, without paths of this machine."""
    given = [each if "/" not in each else Path(each).name for each in sys.argv[1:]]
    if "--json" in given:
        at = given.index("--json")
        del given[at : at + 2]
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        called = f"python -m benchmarks.{program.parent.name}"
    else:
        called = f"python -m benchmarks.{program.stem}" if program.parent.name == "benchmarks" else f"python {program}"
    return " ".join([called, *given])


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _rounded(value: Any) -> Any:
    """Round to four significant digits: more are noise."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
