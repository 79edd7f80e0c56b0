"""Options that several commands share, and the configurations that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from dedupcrawl.cli.console import print_note
from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError
from dedupcrawl.page.options import READER_ACCEPTED
from dedupcrawl.stores import MEMORY
from dedupcrawl.tools.report.html_bundle import LanguageCode
from dedupcrawl.utils.messages import tr
from dedupcrawl.utils.redaction import hide_password

if TYPE_CHECKING:
    from scrapy.settings import Settings

AsJson = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
OpenInBrowser = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]
Language = Annotated[
    LanguageCode,
    typer.Option(
        "--lang", help="Language of the page and the messages; auto: what the browser asks for, and the environment."
    ),
]
PageSource = Annotated[str, typer.Argument(metavar="URL|FILE", help="An http(s) URL, or a file (.gz is decompressed).")]
OneNamespace = Annotated[str | None, typer.Option(help="Namespace of the store (default: the only one).")]
READER = typer.Option("--reader", metavar="NAME", help=f"Reader of the main text: {READER_ACCEPTED}.")
DetectorNames = Annotated[
    list[str] | None,
    typer.Option("--detector", metavar="NAME", help="Use this detector instead of the defaults; repeatable."),
]
UseProject = Annotated[
    bool, typer.Option("--project", help="Read DEDUP_* from the Scrapy project of the working directory.")
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a constant: threshold=0.7, or minhash.slots=256 for one detector; repeatable.",
    ),
]


def default_config(detectors: list[str] | None) -> Config:
    """Return the default configuration, with these detectors if there are any."""
    return Config(detectors=tuple(detectors)) if detectors else Config()


def parse_assignments(texts: list[str] | None, option: str = "", value: str | None = None) -> dict[str, Any]:
    """Parse the values of ``--set``, ``NAME=VALUE`` each; a value is JSON, or else a string.

    ``option`` is another option that sets the constant of its name, and ``value`` is its value.
    """
    assigned: dict[str, Any] = {}
    for text in texts or ():
        name, equals, assigned_value = text.partition("=")
        name = name.strip()
        if not name or not equals:
            raise SettingError("--set", text, "NAME=VALUE, e.g. threshold=0.7 or minhash.slots=256")
        if name in assigned:
            raise SettingError("--set", text, f"{name} once")
        assigned[name] = _parse_value(assigned_value.strip())
    if value is not None and assigned.setdefault(option, value) != value:
        accepted = f"the same as --set {option}={assigned[option]}, or one of both"
        raise SettingError(f"--{option}", value, accepted)
    return assigned


def _parse_value(text: str) -> object:
    constants = {"True": True, "False": False, "None": None}
    if text in constants:
        return constants[text]
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def project_config() -> tuple[Config, str | None]:
    """Return the configuration of the Scrapy project, and its namespace if it sets one.

    Raises:
        SettingError: there is no project, or one of its settings is not accepted.
    """
    from dedupcrawl.crawl.settings import config_in, namespace_in  # noqa: PLC0415

    settings = _project_settings("--project", True, "a working directory with a scrapy.cfg, in it or above it")
    return config_in(settings), namespace_in(settings)


def chosen_store(where: str | None, name: str = "STORE") -> str:
    """Return the URL of a store: ``where``, or if that is None, the store of the project's crawls without ``JOBDIR``.

    Raises:
        SettingError: it is not given, and there is no project; or a setting of the project is not accepted.
    """
    if where is not None:
        return where
    from dedupcrawl.crawl.settings import store_in  # noqa: PLC0415

    url = store_in(_project_settings(name, None, "the URL of a store; it may be left out in a Scrapy project"))
    if url == MEMORY:
        raise SettingError(name, None, f"the URL of a store: that of this project is {MEMORY}, which ends with a crawl")
    print_note(tr("the store of this project: {url}", url=hide_password(url)))
    return url


def _project_settings(name: str, value: object, accepted: str) -> Settings:
    from scrapy.utils.project import get_project_settings, inside_project  # noqa: PLC0415  # takes half a second

    if not inside_project():
        raise SettingError(name, value, accepted)
    return get_project_settings()
