"""The compiled part of the package. Where it cannot be built, Python does the same work with the same results."""

from __future__ import annotations

import sys

from setuptools import Extension, setup

FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-ffp-contract=off"]


def cython_extensions() -> list[Extension]:
    """Return the extensions in Cython; none without Cython or the headers that lxml brings."""
    try:
        import lxml  # noqa: PLC0415 - it may be missing
        from Cython.Build import cythonize  # noqa: PLC0415
    except ImportError:
        return []
    includes = lxml.get_include()
    extensions = [
        Extension(
            f"dedupcrawl.page.{name}",
            sources=[f"dedupcrawl/page/{name}.pyx"],
            include_dirs=includes,
            extra_compile_args=FLAGS,
            optional=True,  # without a compiler the package is installed all the same
        )
        for name in ("_blocks", "_walk")
    ]
    return cythonize(extensions, include_path=includes, build_dir="build/cython")


setup(ext_modules=cython_extensions())
