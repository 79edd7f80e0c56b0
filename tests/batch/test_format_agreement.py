"""The same pages get the same verdicts in every format: those of a crawl."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dedupcrawl.batch.verdicts import read_annotations
from dedupcrawl.batch.workdir import Workdir
from dedupcrawl.config import Config
from tests.batch.corpus import (
    Batch,
    Rows,
    annotated_verdicts,
    crawled,
    reprinted_texts,
    reprints,
    verdict_tuples,
    without_cluster,
)
from tests.batch.formats.warcs import INFO, record

if TYPE_CHECKING:
    from collections.abc import Callable


def parquet(folder: Path, rows: Rows) -> Path:
    table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    pq.write_table(table, folder / "a.parquet", row_group_size=40)
    return folder / "a.parquet"


def warc(folder: Path, rows: Rows) -> Path:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    kind = "application/http;msgtype=response"
    records = [
        record("response", head + row["html"].encode(), str(n), type=kind, url=row["url"]) for n, row in enumerate(rows)
    ]
    return written(folder / "a.warc.gz", records)


def wet(folder: Path, rows: Rows) -> Path:
    records = [
        record("conversion", row["text"].encode(), str(n), type="text/plain", url=row["url"])
        for n, row in enumerate(rows)
    ]
    return written(folder / "a.wet.gz", records)


def written(path: Path, records: list[bytes]) -> Path:
    path.write_bytes(b"".join(map(gzip.compress, (INFO, *records))))
    return path


def html_pages() -> Rows:
    return [dict(row) for row in reprints()[:50]]


def text_pages() -> Rows:
    return reprinted_texts(150)


@pytest.mark.parametrize(
    ("write", "pages"), [(parquet, text_pages), (wet, text_pages), (warc, html_pages), (parquet, html_pages)]
)
def test_the_verdicts_are_those_of_a_crawl(
    tmp_path: Path, write: Callable[[Path, Rows], Path], pages: Callable[[], Rows]
) -> None:
    rows, config = pages(), Config()
    batch = Batch(tmp_path, config)
    path = write(tmp_path, rows)
    summary = batch.run(path)
    verdicts = crawled(config, rows)
    told = read_annotations(Workdir(tmp_path / "out").verdicts(path.name)).to_pylist()
    assert without_cluster(annotated_verdicts(told)) == without_cluster(verdict_tuples(verdicts))
    assert summary["kept"] == sum(each.keep for each in verdicts) < len(rows)
    again = batch.run(tmp_path / "out", out="again", against=())
    assert again["pages"] == again["kept"] == summary["kept"]
