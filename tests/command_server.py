"""The commands ``dedupcrawl`` and ``scrapy``, loaded once: each call is a fork of this process.

Loading them takes longer than most examples of the documentation.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from tests import garbage
from tests.forked_commands import serve

COMMANDS = ("dedupcrawl", "scrapy")
SPARK = "dedupcrawl.batch.spark"  #: its commands start a Java, and import more
#: What other packages import when they need it.
ON_DEMAND = (
    "datasketch",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "pandas",
    "requests",
    "scipy.integrate",
    "scipy.optimize",
    "typer.rich_utils",
)


def load() -> None:
    """Import what the commands import, also what they import when they need it."""
    import jieba
    import scrapy.cmdline  # noqa: F401

    import dedupcrawl
    import tests.preloaded  # noqa: F401

    jieba.setLogLevel("WARNING")
    jieba.initialize()
    for module in walk_packages(dedupcrawl.__path__, "dedupcrawl."):
        if not module.name.startswith(SPARK):
            import_module(module.name)
    for name in ON_DEMAND:
        import_module(name)
    garbage.freeze()
    assert "twisted.internet.reactor" not in sys.modules  # each crawl chooses its own


def run(name: str) -> int:
    """Run a command; return its exit status."""
    import scrapy.cmdline

    import dedupcrawl.cli

    try:
        if name == "scrapy":
            scrapy.cmdline.execute()
        else:
            dedupcrawl.cli.main()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001  # as Python does with uncaught exceptions
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    load()
    serve(Path(sys.argv[1]), run)
