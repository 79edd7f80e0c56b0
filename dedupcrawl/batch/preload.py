"""Imported once by the fork server, so that worker processes start with all modules and tables loaded."""

from __future__ import annotations

import gc

import dedupcrawl.batch.fingerprinting
import dedupcrawl.batch.output  # noqa: F401
from dedupcrawl.text.normalize import roles

roles()  # builds the table of all code points
gc.freeze()  # a garbage collection in a worker would write to, and so copy, the memory it shares
