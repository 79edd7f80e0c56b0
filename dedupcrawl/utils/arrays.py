"""Types of numpy arrays with one axis."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]  #: integers or floats
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
