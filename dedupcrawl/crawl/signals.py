"""Scrapy signals of dedupcrawl, for extensions: ``crawler.signals.connect(handler, dedup_verdict)``.

Handlers are called in the reactor's thread, without being awaited. Their errors are logged, and change no verdict.
"""

from __future__ import annotations

#: A page was judged. Arguments: ``verdict`` (:class:`~dedupcrawl.Verdict`), ``size`` (bytes of the body),
#: ``canonical`` (the URL that the page calls its canonical one, or ""), ``spider``.
dedup_verdict = object()

#: What became of a page that was not dropped. Arguments: ``verdict``, ``outcome`` ("kept": all pipelines passed an item
#: of it; "released": nothing was stored), and ``spider``.
dedup_outcome = object()
