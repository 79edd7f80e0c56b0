"""Classes by name, each loaded when it is first asked for."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.detectors.base import Detector


@dataclass(frozen=True, eq=False)
class Catalogue(Mapping[str, "type[Detector]"]):
    """Detectors by name, in a fixed order; a crawl loads the modules of those that it uses, and no others."""

    package: str
    places: Mapping[str, str]  #: name → "module:Class" below the package

    def __getitem__(self, name: str) -> type[Detector]:
        return cast("type[Detector]", pkgutil.resolve_name(f"{self.package}.{self.places[name]}"))

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)
