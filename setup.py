"""The compiled parts of the package, and its description on PyPI.

Where the compiled parts cannot be built, Python and numpy do the same work, with equal results.

With ``DEDUPCRAWL_REQUIRE_EXTENSIONS`` set, a failure to build them is an error: for those who build wheels.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup

SOURCES = Path("dedupcrawl/text/kernel_src")
PAGE_MODULES = ("_blocks", "_choice", "_features", "_trees", "_walk")
STORE_MODULES = (("stores/redis", "_packing"), ("stores/redis/sharded", "_commands"))
IS_OPTIONAL = not os.environ.get("DEDUPCRAWL_REQUIRE_EXTENSIONS")
#: Multiplication and addition are rounded one by one, as by numpy: fused, their results differ between machines.
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-fvisibility=hidden", "-ffp-contract=off"]


def kernel() -> Extension:
    """Return the text kernel, in C."""
    return Extension(
        "dedupcrawl.text._kernel",
        sources=sorted(map(str, SOURCES.glob("*.c"))),
        depends=sorted(map(str, SOURCES.glob("*.h"))),
        extra_compile_args=FLAGS,
        optional=IS_OPTIONAL,
    )


def cython_modules() -> list[Extension]:
    """Return the modules in Cython; none without Cython, and those that read pages only with lxml, for its headers."""
    try:
        from Cython.Build import cythonize  # noqa: PLC0415 - it may be missing
    except ImportError:
        if IS_OPTIONAL:
            return []
        raise
    modules = [_cython_module(folder, name) for folder, name in STORE_MODULES]
    includes = []
    try:
        import lxml  # noqa: PLC0415 - it may be missing
    except ImportError:
        if not IS_OPTIONAL:
            raise
    else:
        includes = lxml.get_include()
        modules += [_cython_module("page", name, includes) for name in PAGE_MODULES]
    found: list[Extension] = cythonize(modules, include_path=includes, build_dir="build/cython")
    for module in found:
        module.optional = IS_OPTIONAL  # cythonize makes other objects, and does not copy this
    return found


def _cython_module(folder: str, name: str, includes: list[str] | None = None) -> Extension:
    return Extension(
        f"dedupcrawl.{folder.replace('/', '.')}.{name}",
        sources=[f"dedupcrawl/{folder}/{name}.pyx"],
        include_dirs=includes,
        extra_compile_args=FLAGS,
        optional=IS_OPTIONAL,
    )


def description() -> str:
    """Return ``README.md`` with absolute links: on PyPI there are no other files of the repository."""
    source = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]
    text = Path("README.md").read_text("utf-8")
    text = re.sub(r"((?:src|srcset)=\")(?!https?:)", rf"\g<1>{source}/raw/main/", text)
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:|#)", rf"\g<1>{source}/raw/main/", text)
    text = re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", rf"\g<1>{source}/blob/main/", text)
    return re.sub(r"(\[[^]]*\]\()(?=#)", rf"\g<1>{source}/blob/main/README.md", text)  # headings have none on PyPI


# Metadata need no compiled part: pip asks for them first, and Cython takes its time.
extensions = [] if "dist_info" in sys.argv else [kernel(), *cython_modules()]
setup(
    ext_modules=extensions,
    long_description=description(),
    long_description_content_type="text/markdown",
    options={"build_ext": {"parallel": sys.platform != "win32"}},
)
