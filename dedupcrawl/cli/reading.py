"""``dedupcrawl read``: what is left of a page when the noise is gone."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.fetching import fetch_page
from dedupcrawl.cli.screen import out, print_json
from dedupcrawl.page import ReadOptions
from dedupcrawl.page.options import READER_ACCEPTED

if TYPE_CHECKING:
    from dedupcrawl.page import Page

ReaderName = Annotated[
    str, typer.Option("--reader", metavar="NAME", help=f"What finds the main text: {READER_ACCEPTED}.")
]


def read(
    where: Annotated[
        str, typer.Argument(metavar="URL|FILE", help="An http(s) URL, or a file (.gz is unpacked).")
    ],
    blocks: Annotated[
        bool, typer.Option(help="Show every block with the reason why it was kept or cut.")
    ] = False,
    reader: ReaderName = "blocks",
    as_json: Annotated[bool, typer.Option("--json", help="Write everything that was read as JSON.")] = False,
) -> None:
    """Print the main text of a page."""
    page = fetch_page(where, ReadOptions(reader=reader))
    if as_json:
        print_json(asdict(page) | {"blocks": [block._asdict() for block in page.blocks]})
    elif blocks:
        out().print(_table(page))
    else:
        out().print(
            Text(page.text) if page.text else Text(f"(no main text: {page.kind} page)", style="yellow")
        )


def _table(page: Page) -> Table:
    kept = sum(block.kept for block in page.blocks)
    title = Text(f"{page.title or page.url} · {page.kind} · {kept} of {len(page.blocks)} blocks kept")
    table = Table(title=title, expand=True)
    for name in ("bytes", "R", "links", "run"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("tag", "why"):
        table.add_column(name, no_wrap=True)
    table.add_column("text", ratio=1)
    for block in page.blocks:
        numbers = (str(block.length), f"{block.link_density:.2f}", str(block.links), str(block.longest_run))
        style = "green" if block.kept else "dim"
        table.add_row(*numbers, block.tag, block.reason, Text(_short(block.text)), style=style)
    return table


def _short(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
