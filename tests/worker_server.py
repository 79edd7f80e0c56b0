"""The workers of pytest-xdist, as forks of a process that has collected the tests.

Each worker collects all tests. Imports are most of that work, and on a clean machine compiling them; this process does
it once, and starts what all workers share: the fork server, and the commands, if tests use them.
"""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import command_server, forked_commands, forking, garbage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PYTHON = "python"  #: the command that execnet calls as the Python of a worker
FOLDER_OF_COMMANDS = "TESTS_COMMANDS"  #: variable with the folder of the commands that workers share


class _Fixtures:
    """Plugin of pytest that collects the names of all fixtures."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self.names.update(getattr(item, "fixturenames", ()))


def main(folder: Path, arguments: Sequence[str]) -> None:
    """Collect the tests, then serve workers until standard input is closed."""
    fixtures, variables = _Fixtures(), {}
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        pytest.main([*arguments, "-n0", "--collect-only"], plugins=[fixtures])  # errors are reported by the workers
    if "commands" in fixtures.names:
        shared = folder / "c"
        shared.mkdir()
        running = forked_commands.start(shared, command_server.COMMANDS, command_server.__name__)
        variables[FOLDER_OF_COMMANDS] = str(shared)
        assert running.stdin is not None  # it stays open, and the process running, until the last worker ends
    garbage.freeze()
    forked_commands.serve(folder, partial(work, variables))


def work(variables: Mapping[str, str], _: str) -> int:
    """Run what execnet passes to Python: ``-u -c CODE``."""
    os.environ.update(variables)
    forking.inherit()
    code = sys.argv[-1]
    sys.argv = ["-c"]
    try:
        exec(code, {"__name__": "__main__"})
    finally:
        atexit._run_exitfuncs()
    return 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
