"""Facts about the source of a module: a hash of its code, and its imports."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OWN: Final = __name__.partition(".")[0]


@dataclass(frozen=True)
class Facts:
    """Facts about the source of one module.

    Parameters
    ----------
    source
        Hash of the source.
    code
        Hash of the source without comments, docstrings and layout.
    uses
        Pairs of a module and a name in it that the source imports, except for type checking; the
        name is empty for the module itself. For a module of edgeopt, only those in edgeopt.
    texts
        Names of modules in string literals, imported when they are used; one that ends in a dot
        means all modules of that package.
    offers
        Names that a package re-exports, each with its module and name there.
    """

    source: str
    code: str
    uses: Sequence[Sequence[str]]
    texts: Sequence[str]
    offers: Mapping[str, Sequence[str]]


def read_facts(source: bytes, module: str, package: bool) -> Facts:
    """Find the facts about a module."""
    tree = ast.parse(source)
    pieces: list[str] = []
    _write(tree, pieces)
    # Dictionaries keep their order, so that facts are the same everywhere.
    uses: dict[tuple[str, str], None] = {}
    texts: dict[str, None] = {}
    offers: dict[str, tuple[str, str]] = {}
    bound: dict[str, str] = {}
    attributes: dict[tuple[str, str], None] = {}
    constants = {"__name__": module, **_constants(tree)}
    inside = [inner for node in tree.body if isinstance(node, ast.If) for inner in node.body]
    lazy = any(
        isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
        for node in [*tree.body, *inside]
    )
    for node in _running(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                uses[alias.name, ""] = None
                bound[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, module, package)
            for alias in node.names:
                name = "" if alias.name == "*" else alias.name
                uses[origin, name] = None
                bound[alias.asname or name] = f"{origin}.{name}"
                if package and name:
                    offers[alias.asname or name] = origin, name
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes[node.value.id, node.attr] = None
        elif lazy and isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if (name := _text(key)) and (home := _text(value)):
                    offers.setdefault(name, (home, name))
        elif not lazy and isinstance(node, ast.Constant | ast.JoinedStr):
            text = _text(node, constants)
            if text.startswith(f"{module.partition('.')[0]}."):
                texts[text.partition(":")[0]] = None
    for name, attribute in attributes:
        if name in bound:
            uses[bound[name], attribute] = None
    hashes = (hash_of(source), hash_of("\n".join(pieces).encode("utf-8", "surrogatepass")))
    # Modules of edgeopt have edgeopt's modules only; others, all that they use.
    own = module.partition(".")[0] == OWN
    kept = tuple(used for used in uses if not own or used[0].partition(".")[0] == OWN)
    return Facts(*hashes, kept, tuple(texts), offers)


def hash_of(content: bytes) -> str:
    """Return the hash of a content."""
    return hashlib.sha256(content).hexdigest()


def _write(node: ast.AST, pieces: list[str]) -> None:
    """Write a tree in the same way for all versions of Python, without docstrings."""
    pieces.append(f"({type(node).__name__}")
    for name in _fields(type(node)):  # type: ignore[arg-type]
        value = getattr(node, name, None)
        if value is None:
            continue
        for item in value if isinstance(value, list) else (value,):
            if not isinstance(item, ast.AST):
                pieces.append(f"{name}={item!r}")
            elif not _is_bare_text(item):
                pieces.append(name)
                _write(item, pieces)
    pieces.append(")")


@lru_cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(sorted(set(kind._fields) - {"ctx", "kind", "type_comment"}))


def _is_bare_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk through code that may run: no docstrings, no imports for type checking."""
    for node in ast.iter_child_nodes(tree):
        if _is_bare_text(node):
            continue
        if isinstance(node, ast.If) and _is_for_types(node.test):
            for other in node.orelse:
                yield other
                yield from _running(other)
            continue
        yield node
        yield from _running(node)


def _is_for_types(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _constants(tree: ast.Module) -> dict[str, str]:
    """Return the string constants of a module."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and (text := _text(node.value)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    found[target.id] = text
    return found


def _origin(node: ast.ImportFrom, module: str, package: bool) -> str:
    if not node.level:
        return str(node.module)
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + package]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _text(node: ast.AST | None, constants: Mapping[str, str] | None = None) -> str:
    """Return the known beginning of a string, empty for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    text = ""
    for part in node.values if isinstance(node, ast.JoinedStr) else ():
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        known = (constants or {}).get(inner.id, "") if isinstance(inner, ast.Name) else _text(inner)
        if not known:
            break
        text += known
    return text
