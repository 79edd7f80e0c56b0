"""``dedupcrawl store``: inspect a store, remove records, export and import it."""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dedupcrawl.cli.console import ConsoleProgress, facts_table, output_console, print_error, print_json, print_line
from dedupcrawl.cli.options import AsJson, OneNamespace, chosen_store
from dedupcrawl.config import Config, recovered
from dedupcrawl.detectors.registry import DETECTORS, build_detectors
from dedupcrawl.errors import DedupError, MissingPackageError, SettingError
from dedupcrawl.fingerprinting import sketch_count, without_fragment
from dedupcrawl.matching import Matcher, check_sketch_count
from dedupcrawl.stores import MEMORY, list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import BUCKET_CAP, MAX_DAMAGED
from dedupcrawl.stores.transfer import accept_any, export_records, import_records, read_header
from dedupcrawl.stores.workers import printable
from dedupcrawl.utils.messages import tr, tr_sentence
from dedupcrawl.utils.redaction import hide_password

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dedupcrawl.errors import DamageError
    from dedupcrawl.stores.base import Record, Store, StoreInfo
    from dedupcrawl.stores.transfer import ExportHeader
    from dedupcrawl.utils.redaction import SecretSeed

store = typer.Typer(help="Inspect a store, remove records, export and import it.", no_args_is_help=True)

OF_PROJECT = "In a Scrapy project, by default that of its crawls."
STORE_HELP = "URL of the store, as in DEDUP_STORE: lmdb://PATH or redis://HOST/DB."
StoreUrl = Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)]
StoreOrProject = Annotated[str | None, typer.Argument(metavar="[STORE]", help=f"{STORE_HELP} {OF_PROJECT}")]
Namespace = Annotated[str | None, typer.Option(help="Only this namespace (default: all).")]

Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first damaged record.")]

DAMAGED = 3  #: exit code of a command that is done, except for damaged records
_AGE_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}  #: seconds


@dataclass
class DamageReport:
    """Prints and counts the damaged records that a command skips; ``strict`` raises the first."""

    strict: bool
    count: int = 0

    def __call__(self, error: DamageError) -> None:
        """Print that a record is skipped."""
        if self.strict:
            raise error
        self.count += 1
        print_error(tr("{error} It is skipped", error=tr_sentence(str(error))))

    def finish(self) -> None:
        """Exit with the code that says so if records were skipped."""
        if self.count:
            print_error(tr("damaged records skipped: {n}", n=f"{self.count:,}"))
            raise typer.Exit(DAMAGED)


@store.command()
def info(where: StoreOrProject = None, namespace: Namespace = None, as_json: AsJson = False) -> None:
    """Count pages, claims, keys and bytes."""
    infos = [opened.info() for opened in _opened(chosen_store(where), namespace)]
    if as_json:
        print_json([asdict(each) for each in infos])
        return
    for each in infos:
        output_console().print(facts_table(_info_rows(each), f"{each.url} · {each.namespace}"))


@store.command()
def forget(
    where: StoreUrl,
    urls: Annotated[
        list[str], typer.Argument(metavar="URL...", help="URLs of the pages to remove, or sites such as example.com.")
    ],
    namespace: Namespace = None,
    strict: Strict = False,
) -> None:
    """Remove the records of these URLs, so that a crawl keeps their content again.

    Of a site, only what it repeats (see DEDUP_SITE_MEMORY) and the notes on its URLs are forgotten: a crawl learns
    them again.

    Damaged records are skipped: each is named on standard error, and the exit code is 3.
    """
    damage = DamageReport(strict)
    stores = _opened(where, namespace)
    sites = [each for each in urls if "://" not in each]
    pages = [without_fragment(each) for each in urls if "://" in each]
    removed = forgotten = 0
    for opened in stores:
        removed += sum(opened.forget(url, damage) for url in pages)
        forgotten += sum(bool(opened.forget_sites([site])) | bool(opened.notes.forget([site])) for site in sites)
    if pages:
        print_line(tr("{n} records forgotten", n=removed))
    if sites:
        print_line(tr("{n} sites forgotten", n=forgotten))
    damage.finish()
    if not removed + forgotten:
        raise typer.Exit(1)


@store.command()
def prune(
    where: StoreUrl,
    older_than: Annotated[str, typer.Option(help="Age: a number with s, m, h, d or w, e.g. 90d.")],
    namespace: Namespace = None,
    strict: Strict = False,
) -> None:
    """Remove records that are older than an age, and claims of dead processes.

    Damaged records are skipped: each is named on standard error, and the exit code is 3.
    """
    before, damage = time.time() - _seconds(older_than), DamageReport(strict)
    removed = sum(opened.prune(before, damage) for opened in _opened(where, namespace))
    print_line(tr("{n} records removed", n=removed))
    damage.finish()


@store.command("export")
def export_(
    where: StoreUrl,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")],
    namespace: OneNamespace = None,
    strict: Strict = False,
) -> None:
    """Write the committed records of a namespace to a file.

    Damaged records are skipped: each is named on standard error, and the exit code is 3. With `--strict` no file is
    written then.
    """
    damage = DamageReport(strict)
    with open_existing(where, namespace if namespace is not None else only_namespace(where)) as opened:
        about = opened.info()
        with ConsoleProgress("records") as bars:
            bars.begin("exporting", about.pages)
            check = _export_check(about.scheme, opened.secret)
            count = export_records(opened, file, lambda: bars.advance(1, 1), damage, check)
    name = printable(about.namespace)
    print_line(tr("{n} records of {namespace} exported to {file}", n=count, namespace=name, file=file))
    damage.finish()


@store.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that dedupcrawl store export wrote.")],
    where: StoreUrl,
    namespace: Annotated[str | None, typer.Option(help="Namespace to fill (default: as in the file).")] = None,
) -> None:
    """Add exported records to a store of any kind; records that it has already stay unchanged.

    What a site repeats (see DEDUP_SITE_MEMORY) is added if the store knows nothing of the site.

    The whole file is checked before the first record is added.
    """
    if where == MEMORY:
        raise SettingError("store", where, "a store that outlives this command")
    with ConsoleProgress("records") as bars:
        bars.begin("checking", None)
        header = read_header(file, lambda: bars.advance(1, 1), partial(_import_check, file))
        name = header.namespace if namespace is None else namespace
        with open_store(where, namespace=name, scheme=json.loads(header.scheme), secret=header.secret) as opened:
            done = import_records(file, opened, lambda them: bars.track("importing", them, header.records), header)
    sites = tr("; {n} sites", n=done.sites) if done.sites else ""
    told = tr(
        "{n} records imported into {namespace}, {known} were there",
        n=done.new,
        known=done.known,
        namespace=printable(name),
    )
    print_line(told + sites)


def _record_check(scheme: str, secret: SecretSeed | None) -> Callable[[Record], None]:
    """Return a function that raises ``DamageError`` if a record has no sketches of this configuration.

    Without the optional package of a detector, sketches are counted only.

    Raises:
        DedupError: the configuration is none of this version.
    """
    described = json.loads(scheme)
    config = recovered(described, Config() if secret is None else Config(seed=secret)).config
    try:
        return Matcher(build_detectors(config)).check_sketches
    except MissingPackageError:
        count = sketch_count([name for name in DETECTORS if name in described])
        return lambda record: check_sketch_count(record, count)


def _import_check(file: Path, header: ExportHeader) -> Callable[[Record], None]:
    """Return the check of an imported file's records; an error names the file."""
    try:
        return _record_check(header.scheme, header.secret)
    except DedupError as error:
        raise DedupError(f"The file {file} cannot be imported: {error}") from error


def _export_check(scheme: str, secret: SecretSeed | None) -> Callable[[Record], None]:
    """Return the check of exported records; those of a store of another version are not checked."""
    try:
        return _record_check(scheme, secret)
    except DedupError:
        return accept_any


def only_namespace(where: str) -> str:
    """Return the namespace of a store that has exactly one.

    Raises:
        SettingError: it has several.
        DedupError: it has none.
    """
    names = list_namespaces(where)
    if not names:
        raise DedupError(f"The store {hide_password(where)} is empty: nothing was ever filed there.")
    if len(names) > 1:
        raise SettingError("--namespace", None, f"one of {', '.join(map(repr, names))}")
    return names[0]


def claims_text(info: StoreInfo) -> str:
    """Return the number of claims, and of those whose lease has ended, and the ids of those that are damaged."""
    ended = tr(", {n} of them past their lease", n=f"{info.ended:,}") if info.ended else ""
    damaged = ""
    if info.damaged_claims:
        more = ", …" if len(info.damaged_claims) == MAX_DAMAGED else ""
        damaged = tr("; not readable: {ids}", ids=printable(", ".join(info.damaged_claims)) + more)
    return tr("{n} open, {m} scraped", n=f"{info.open:,}", m=f"{info.scraped:,}") + ended + damaged


def _opened(where: str, namespace: str | None) -> Iterator[Store]:
    """Open the namespaces, one after the other."""
    for name in [namespace] if namespace is not None else list_namespaces(where):
        with open_existing(where, name) as opened:
            yield opened


def _seconds(age: str) -> float:
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", age.strip())
    if matched is None:
        raise SettingError("--older-than", age, "a number with s, m, h, d or w behind it, e.g. 90d")
    return float(matched[1]) * _AGE_UNITS[matched[2]]


def _info_rows(info: StoreInfo) -> Iterator[tuple[str, str]]:
    yield tr("pages"), f"{info.pages:,}"
    yield tr("claims"), claims_text(info)
    yield tr("keys"), f"{info.keys:,}"
    share = tr(" ({n} a page)", n=f"{info.bytes / info.pages:,.0f}") if info.pages else ""
    yield tr("bytes"), f"{info.bytes:,}{share}"
    if info.sites:
        values = {"n": f"{info.sites:,}", "size": f"{info.site_bytes:,}"}
        yield tr("sites"), tr("{n} with what they repeat, {size} bytes", **values)
    if info.notes:
        values = {"n": f"{info.notes:,}", "size": f"{info.note_bytes:,}"}
        yield tr("notes"), tr("{n} on URLs of sites, {size} bytes", **values)
    yield tr("oldest"), _timestamp(info.oldest)
    yield tr("newest"), _timestamp(info.newest)
    yield tr("filled with"), info.scheme
    if info.layout:
        yield tr("layout"), info.layout
    if info.hot is not None:
        fullest = ", ".join(
            tr("{key} ({n} filed)", key=each.key, n=f"{BUCKET_CAP + each.beyond:,}") for each in info.hottest
        )
        more = ", …" * (len(info.hottest) < info.hot)
        yield tr("hot buckets"), f"{info.hot:,}: {fullest}{more}" if fullest else f"{info.hot:,}"


def _timestamp(time: float | None) -> str:
    return "-" if time is None else datetime.fromtimestamp(time, UTC).isoformat(" ", "seconds")
