"""The words that a store holds: those in the sketches of the detector ``keywords``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dedupcrawl.detectors.keywords import Keywords
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.errors import DedupError
from dedupcrawl.stores import list_namespaces, open_existing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.stores.base import Store


def is_store(where: str) -> bool:
    """Whether a user means a store, not a file."""
    return "://" in where


def stored_words(url: str, segmenter: str, *, fold_chinese: bool) -> Iterator[tuple[str, ...]]:
    """Yield for each page of a store, in all its namespaces, the keywords that its sketch holds.

    Raises :class:`~dedupcrawl.errors.DedupError` for a namespace whose sketches hold no words, or other words
    than are asked for.
    """
    for namespace in list_namespaces(url):
        with open_existing(url, namespace) as store:
            detector, place = _detector(store, segmenter, fold_chinese)
            for candidate in store.records():
                sketch = candidate.record.sketches[place]
                if sketch:
                    yield detector.words_in(sketch)


def _detector(store: Store, segmenter: str, fold_chinese: bool) -> tuple[Keywords, int]:
    """Return the detector that filled a namespace, and the place of its sketches."""
    about = store.info()
    scheme: dict[str, Any] = json.loads(about.scheme)
    said = f"{about.url} (namespace {about.namespace!r})"
    constants = scheme.get(Keywords.name)
    if constants is None or constants["variant"] == 1:
        raise DedupError(
            f"{said}: the sketches of {', '.join(sorted(scheme))} hold no words; those of the detector "
            "keywords do (variants 2 to 5). Count the feed that the crawl wrote instead, or its pages"
        )
    folded = bool(scheme.get("text", {}).get("fold_chinese"))
    if (constants["segmenter"], folded) != (segmenter, fold_chinese):
        wanted = f"--segmenter {constants['segmenter']}" + " --fold-chinese" * folded
        raise DedupError(f"{said}: its words were cut otherwise; give {wanted}")
    names = [name for name in DETECTORS if name in scheme]
    return Keywords(variant=constants["variant"], count=constants["count"]), names.index(Keywords.name)
