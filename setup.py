"""The compiled part of the package. Where it cannot be built, numpy does the same work with the same results.

With ``DEDUPCRAWL_REQUIRE_EXTENSIONS`` set, a failure to build it is an error: for those who build wheels.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

SOURCES = Path("dedupcrawl/text/kernel_src")
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-fvisibility=hidden"]

setup(
    ext_modules=[
        Extension(
            "dedupcrawl.text._kernel",
            sources=sorted(map(str, SOURCES.glob("*.c"))),
            depends=sorted(map(str, SOURCES.glob("*.h"))),
            extra_compile_args=FLAGS,
            optional=not os.environ.get("DEDUPCRAWL_REQUIRE_EXTENSIONS"),
        )
    ]
)
