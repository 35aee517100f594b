"""Signatures that only a docstring tells. Used by the generator only."""

from __future__ import annotations

import ast
import re

ARGUMENT = re.compile(r"^\s+\*{0,2}(\w+)\s*\(([^\n]*?)\)\s*:", re.MULTILINE)
# numbers are left out: only annotated ones are read by torch's argument parser
TYPES = {
    "Tensor": "T",
    "LongTensor": "T",
    "ByteTensor": "T",
    "BoolTensor": "T",
    "FloatTensor": "T",
    "float or Tensor": "T",
    "Number or Tensor": "T",
    "Number, Tensor": "T",
    "list[Tensor]": "T*",
    "List[Tensor]": "T*",
    "list of Tensors": "T*",
    "sequence of Tensors": "T*",
    "sequence of Tensor": "T*",
    "Tuple[Tensor, ...]": "T*",
    "Iterable[Tensor]": "T*",
    "Iterable[Tensor] or Tensor": "T*",
    "str": "s",
    "string": "s",
    "torch.dtype": "y",
    "torch.device": "d",
    "torch.device or int": "d",
}


def letters(text: str | None) -> dict[str, str]:
    """Return the letters of the parameters that a docstring's list of arguments gives a type that is known here."""
    found: dict[str, str] = {}
    for name, kind in ARGUMENT.findall(text or ""):
        kind = kind.replace(":class:", "").replace("`", "").replace("~", "").strip()
        optional = bool(re.search(r",\s*optional\b", kind))
        kind = re.sub(r",\s*optional\b.*|,\s*default\b.*", "", kind).replace("torch.Tensor", "Tensor").strip()
        letter = TYPES.get(kind)
        if letter is not None:
            found.setdefault(name, letter + ("?" if optional and letter != "T*" else ""))
    return found


def typed(params: list[str], told: dict[str, str]) -> list[str]:
    """Return parameters with the letters that a docstring tells for those of unknown type."""
    found = []
    for param in params:
        name, colon, rest = param.partition(":")
        known = rest[:1] == "o" and rest[1:2] in ("", "=") and name in told
        found.append(f"{name}:{told[name]}{rest[1:]}" if colon and known else param)
    return found


def definition(text: str | None, name: str) -> ast.FunctionDef | None:
    """Return the signature that a docstring begins with, as those of compiled functions do, or None."""
    line = next((t.strip() for t in (text or "").splitlines() if t.strip()), "")
    line = re.sub(r"^\d+\.\s*", "", line)
    line = re.sub(rf"^(?:\w+\.)+(?={re.escape(name)}\()", "", line)
    if not line.startswith(f"{name}("):
        return None
    line = re.sub(r"<[^>]*>", "...", line)
    try:
        node = ast.parse(f"def {line}: ...").body[0]
    except SyntaxError:
        return None
    return node if isinstance(node, ast.FunctionDef) else None
