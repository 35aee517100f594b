"""Applying suggestions: composing edits, adding imports, and writing files whole."""
