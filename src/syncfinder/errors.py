"""What the user can mend."""

from __future__ import annotations


class UserError(Exception):
    """Something is wrong with what the tool was given; the message is one line that names it and says what to do."""
