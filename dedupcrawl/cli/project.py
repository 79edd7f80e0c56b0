"""The Scrapy project that the working directory is in, as a source of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from dedupcrawl.config import Config


def project_here() -> tuple[Config, str | None]:
    """Return the configuration of the project, and the namespace that it names.

    Raises :class:`~dedupcrawl.errors.SettingError` where there is none, or a setting of it is not accepted.
    """
    from scrapy.utils.project import get_project_settings, inside_project  # noqa: PLC0415  # takes half a second

    from dedupcrawl.crawl.settings import config_in, namespace_in  # noqa: PLC0415

    if not inside_project():
        raise SettingError("--project", True, "a working directory with a scrapy.cfg, in it or above it")
    settings = get_project_settings()
    return config_in(settings), namespace_in(settings)
