"""``dedupcrawl store``: look into a store, and take things out of it."""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from dedupcrawl.cli.screen import out, print_json
from dedupcrawl.errors import SettingError
from dedupcrawl.filing import without_fragment
from dedupcrawl.stores import list_namespaces, open_existing

if TYPE_CHECKING:
    from dedupcrawl.stores.base import StoreInfo

store = typer.Typer(help="Look into a store, and take things out of it.", no_args_is_help=True)

StoreUrl = Annotated[
    str, typer.Argument(metavar="STORE", help="URL of the store, as in DEDUP_STORE: lmdb://PATH")
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
        "claims": f"{info.open:,} open, {info.scraped:,} scraped",
        "keys": f"{info.keys:,}",
        "bytes": f"{info.bytes:,}" + (f" ({info.bytes / info.pages:,.0f} a page)" if info.pages else ""),
        "oldest": _when(info.oldest),
        "newest": _when(info.newest),
        "filled with": info.scheme,
    }
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _when(moment: float | None) -> str:
    return "-" if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(" ", "seconds")
