"""``dedupcrawl store``: look into a store, and take things out of it."""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from dedupcrawl.cli.console import Bars, out, print_json
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.fingerprinting import without_fragment
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import BUCKET_CAP
from dedupcrawl.stores.opening import MEMORY
from dedupcrawl.stores.transfer import export_records, import_records, read_header
from dedupcrawl.utils.formatting import hide_password

if TYPE_CHECKING:
    from dedupcrawl.stores.base import StoreInfo

store = typer.Typer(help="Look into a store, and take things out of it.", no_args_is_help=True)

StoreUrl = Annotated[
    str,
    typer.Argument(
        metavar="STORE", help="URL of the store, as in DEDUP_STORE: lmdb://PATH or redis://HOST/DB"
    ),
]
Namespace = Annotated[str | None, typer.Option(help="Only this namespace (default: all).")]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@store.command()
def info(
    where: StoreUrl, namespace: Namespace = None, as_json: Annotated[bool, typer.Option("--json")] = False
) -> None:
    """Count pages, claims, keys and bytes."""
    infos = []
    for name in _namespaces(where, namespace):
        with open_existing(where, name) as opened:
            infos.append(opened.info())
    if as_json:
        print_json([asdict(each) for each in infos])
        return
    for each in infos:
        out().print(_table(each))


@store.command()
def forget(
    where: StoreUrl, urls: Annotated[list[str], typer.Argument(metavar="URL...")], namespace: Namespace = None
) -> None:
    """Remove these URLs, so that their content may be stored again."""
    removed = 0
    for name in _namespaces(where, namespace):
        with open_existing(where, name) as opened:
            removed += sum(opened.forget(without_fragment(url)) for url in urls)
    out().print(f"{removed} records forgotten")
    if not removed:
        raise typer.Exit(1)


@store.command()
def prune(
    where: StoreUrl,
    older_than: Annotated[str, typer.Option(help="Age: a number with s, m, h, d or w, e.g. 90d.")],
    namespace: Namespace = None,
) -> None:
    """Remove what was seen longer ago than this, and all that dead processes left."""
    before = time.time() - _seconds(older_than)
    removed = 0
    for name in _namespaces(where, namespace):
        with open_existing(where, name) as opened:
            removed += opened.prune(before)
    out().print(f"{removed} records removed")


@store.command("export")
def export_(
    where: StoreUrl,
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    namespace: Annotated[
        str | None, typer.Option(help="Which one (default: the only one that is there).")
    ] = None,
) -> None:
    """Write what is committed in a namespace to a file."""
    with open_existing(where, namespace if namespace is not None else only_namespace(where)) as opened:
        about = opened.info()
        with Bars("records") as bars:
            bars.begin("exporting", about.pages)
            count = export_records(opened, file, lambda: bars.advance(1, 1))
        name = about.namespace
    out().print(f"{count} records of {name} exported to {file}", markup=False)


@store.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    where: StoreUrl,
    namespace: Annotated[str | None, typer.Option(help="Into this one (default: as in the file).")] = None,
) -> None:
    """File what was exported, in a store of any kind; what is there already stays as it is."""
    if where == MEMORY:
        raise SettingError("store", where, "a store that outlives this command")
    with Bars("records") as bars:
        bars.begin("checking", None)
        header = read_header(file, lambda: bars.advance(1, 1))
        name = header.namespace if namespace is None else namespace
        with open_store(where, namespace=name, scheme=json.loads(header.scheme)) as opened:
            done = import_records(
                file, opened, lambda records: bars.track("importing", records, header.records)
            )
    out().print(f"{done.new} records imported into {name}, {done.known} were there", markup=False)


def only_namespace(where: str) -> str:
    """Return the namespace of a store that has one.

    Raises:
        SettingError: it has several.
        DedupError: it has none.
    """
    there = list_namespaces(where)
    if not there:
        raise DedupError(f"The store {hide_password(where)} is empty: nothing was ever filed there.")
    if len(there) > 1:
        raise SettingError("--namespace", None, f"one of {', '.join(map(repr, there))}")
    return there[0]


def _namespaces(where: str, namespace: str | None) -> list[str]:
    return [namespace] if namespace is not None else list_namespaces(where)


def _seconds(age: str) -> float:
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", age.strip())
    if matched is None:
        raise SettingError("--older-than", age, "a number with s, m, h, d or w behind it, e.g. 90d")
    return float(matched[1]) * _UNITS[matched[2]]


def _table(info: StoreInfo) -> Table:
    table = Table(title=f"{info.url} · {info.namespace}", show_header=False)
    rows = {
        "pages": f"{info.pages:,}",
        "claims": claims_of(info),
        "keys": f"{info.keys:,}",
        "bytes": f"{info.bytes:,}" + (f" ({info.bytes / info.pages:,.0f} a page)" if info.pages else ""),
        "oldest": _when(info.oldest),
        "newest": _when(info.newest),
        "filled with": info.scheme,
    }
    if info.layout:
        rows["layout"] = info.layout
    if info.hot is not None:
        rows["hot buckets"] = _hot(info)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def claims_of(info: StoreInfo) -> str:
    """Say how many claims there are, and how many of them nobody holds any more."""
    ended = f", {info.ended:,} of them past their lease" if info.ended else ""
    return f"{info.open:,} open, {info.scraped:,} scraped{ended}"


def _hot(info: StoreInfo) -> str:
    """Say which buckets are so full that not all of their records are read."""
    fullest = ", ".join(f"{each.key} ({BUCKET_CAP + each.beyond:,} filed)" for each in info.hottest)
    return f"{info.hot:,}" + (
        f": {fullest}" + ", …" * (len(info.hottest) < (info.hot or 0)) if fullest else ""
    )


def _when(moment: float | None) -> str:
    return "-" if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(" ", "seconds")
