"""Load the compiled modules of the package, which may be missing: Python then does the same work."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType

#: Environment variable: any value but "" turns compiled code off.
NO_EXTENSIONS: Final = "DEDUPCRAWL_NO_EXTENSIONS"


def load_extension(name: str, version: int | None = None) -> tuple[ModuleType | None, str]:
    """Import a compiled module.

    Args:
        name: its full name.
        version: what ``VERSION`` of the module must be; None: it has none. Files of another version may be left over.

    Returns:
        The module, or None with the reason why it is not in use.
    """
    if os.environ.get(NO_EXTENSIONS):
        return None, f"{NO_EXTENSIONS} is set"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        return None, "the extension is not built"
    except ImportError as error:
        return None, f"the extension cannot be loaded: {error}"
    if version is not None and getattr(module, "VERSION", None) != version:
        return None, "the extension was built for another version"
    return module, ""
