"""From a store to a report of what it holds. It remembers kept pages alone, and no text of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.formatting import counted, hide_password
from dedupcrawl.judging import Judge
from dedupcrawl.progress import NoProgress
from dedupcrawl.report.choosing import choose_rows
from dedupcrawl.report.composing import Most, compose
from dedupcrawl.report.figures import Figures
from dedupcrawl.report.material import Material, no_pairs
from dedupcrawl.report.neighbours import Neighbours
from dedupcrawl.report.storewalk import Walk
from dedupcrawl.settings_text import settings_shown
from dedupcrawl.store_config import recovered
from dedupcrawl.stores import list_namespaces, open_existing
from dedupcrawl.version import our_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.progress import Progress
    from dedupcrawl.report.facts import Report
    from dedupcrawl.stores.base import Store, StoreInfo

_UNKNOWN = (
    "A store remembers the pages that were kept: which ones were dropped, and whom they repeat, it does not.",
    "It has no texts, titles or sizes either: pairs are shown by what their fingerprints have in common.",
    "How alike copies must be is not in it: what is marked as a threshold is the usual one.",
)
_KNOWN = ("DEDUP_DETECTORS", "DEDUP_READER", "DEDUP_FOLD_CHINESE")  #: settings that a store remembers


def report_of_store(
    url: str, namespace: str | None = None, *, most: Most | None = None, teller: Progress | None = None
) -> Report:
    """Make a report of a namespace of a store; None is the only one that is there.

    Raises:
        SettingError: there is none of this name, or several to choose from.
        StoreError: the store cannot be read.
    """
    most, teller = most or Most(), teller or NoProgress()
    with open_existing(url, _namespace(url, namespace)) as store:
        return compose(_material(store, most, teller), most, teller)


def _namespace(url: str, namespace: str | None) -> str:
    there = list_namespaces(url)
    if namespace is None and len(there) == 1:
        return there[0]
    if namespace not in there:
        raise SettingError(
            "--namespace", namespace, f"one of {', '.join(map(repr, there)) or 'none: it is empty'}"
        )
    return namespace


def _material(store: Store, most: Most, teller: Progress) -> Material:
    about = store.info()
    teller.begin("pages", about.pages)
    walk = Walk(teller)
    rows = choose_rows(walk.rows(store), most.pages, ())
    notes = [*_UNKNOWN, *_notes(walk)]
    neighbours, config = None, None
    try:
        config = recovered(json.loads(about.scheme), Config()).config
        judge = Judge(build_detectors(config))
        neighbours = Neighbours.found(store, walk.looked_at, judge, most.misses, teller)
    except DedupError as error:  # a detector of another version, or a lexicon that is not here
        notes.append(f"Pages were not compared: {error}")
    if neighbours:
        notes += neighbours.notes(walk.pages)
    return Material(
        about=_about(about, config),
        figures=_figures(walk.pages),
        rows=iter(rows),
        clusters=walk.clusters(most.clusters),
        misses=neighbours.keys if neighbours else (),
        pairs=neighbours.pairs if neighbours else no_pairs,
        notes=tuple(notes),
        slices=walk.slices(),
        hosts=walk.hosts(),
        histograms=neighbours.histograms() if neighbours else (),
    )


def _about(about: StoreInfo, config: Config | None) -> dict[str, Any]:
    url = hide_password(about.url)
    settings = {"DEDUP_STORE": url, "DEDUP_NAMESPACE": about.namespace}
    if config is None:
        settings["filled with"] = about.scheme
    else:
        settings |= {name: value for name, value in settings_shown(config).items() if name in _KNOWN}
    return {
        "title": f"Store {url}, {about.namespace}",
        "kind": "store",
        "version": our_version(),
        "settings": settings,
        "began": about.oldest,
        "ended": about.newest,
    }


def _figures(pages: int) -> Figures:
    return Figures(pages, checked=pages, kept=pages, dropped=0, duplicates={}, related={}, unchecked={})


def _notes(walk: Walk) -> Iterator[str]:
    if walk.claimed:
        are = "is" if walk.claimed == 1 else "are"
        yield f"{counted(walk.claimed, 'page')} {are} claimed, and not committed yet."
    if walk.level:
        yield f"Clusters are those of one in {2**walk.level:,}, chosen by hash."
