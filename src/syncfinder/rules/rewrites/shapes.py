"""Rewrites of results whose size depends on values."""

from __future__ import annotations

from collections.abc import Mapping

from syncfinder.rules.rewrites.rewrite import Rewriter

REWRITERS: Mapping[str, Rewriter] = {}
