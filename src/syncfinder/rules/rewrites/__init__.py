"""Rewriters: what to write instead of a wait, by the kind of site. They see nodes and facts, and change nothing."""

from __future__ import annotations

from syncfinder.rules.rewrites import builtins, shapes, truth_tests, uploads, value_reads, waits
from syncfinder.rules.rewrites.rewrite import Rewriter

REWRITERS: dict[str, Rewriter] = {
    **uploads.REWRITERS,
    **shapes.REWRITERS,
    **truth_tests.REWRITERS,
    **value_reads.REWRITERS,
    **builtins.REWRITERS,
    **waits.REWRITERS,
}
