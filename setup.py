"""The compiled part of the package. Where it cannot be built, numpy does the same work with the same results."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import Extension, setup

SOURCES = Path("dedupcrawl/text/kernel_src")
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-fno-strict-aliasing"]

setup(
    ext_modules=[
        Extension(
            "dedupcrawl.text._kernel",
            sources=sorted(map(str, SOURCES.glob("*.c"))),
            depends=sorted(map(str, SOURCES.glob("*.h"))),
            extra_compile_args=FLAGS,
            optional=True,  # without a compiler the package is installed all the same
        )
    ]
)
