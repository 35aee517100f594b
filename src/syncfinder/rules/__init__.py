"""From sites to findings: the catalogue (data) and the libcst visitors that word what the interpreter saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncfinder.finding import Finding
    from syncfinder.sites.site import Site
    from syncfinder.source.file import SourceFile

__all__ = ["word"]


def word(file: SourceFile, sites: list[Site]) -> list[Finding]:
    """Return one finding per site, in the order of the sites. libcst is imported only where there are sites."""
    if not sites:
        return []
    from syncfinder.rules.engine import word_sites

    return word_sites(file, sites)
