"""What every process of a batch needs, loaded once: those that are forked after it have it from the start."""

from __future__ import annotations

import gc

import dedupcrawl.batch.fingerprinting
import dedupcrawl.batch.output  # noqa: F401  # both are loaded for the processes that are forked
from dedupcrawl.text.normalize import roles

roles()  # with it the table of all code points is made
gc.freeze()  # a collection would touch, and so copy, all that is shared with the process that was forked
