"""Where a source can be changed, how, and which tests run what is changed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in",
    "not in": "in", "is": "is not", "is not": "is", "+": "-", "-": "+", "*": "/", "/": "*",
    "//": "/", "%": "*", "**": "*", "&": "|", "|": "&", "and": "or", "or": "and",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=",
}  # fmt: skip
OPERATOR = re.compile(r"not\s+in\b|is\s+not\b|\b(?:in|is|and|or)\b|[-+*/%&|<>=!@^]+")
DEPTH = 6
"""How far the users of a kernel, and theirs, are looked for."""

TINY = 1e-3
"""Below this a number is a tolerance, which is changed a thousandfold; others are doubled."""


@dataclass(frozen=True)
class Mutant:
    """A change of the bytes from `begin` to `end` of a file, named by what does not move."""

    path: str
    line: int
    begin: int
    end: int
    text: str
    key: str

    @property
    def layer(self) -> str:
        """Return the subpackage."""
        return self.path.split("/")[1]

    def apply(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.begin] + self.text.encode() + source[self.end :]


class _Sites(ast.NodeVisitor):
    """Collects (line, begin, end, text, function) of all changes of a module."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        lengths = [len(line) for line in source.splitlines(keepends=True)]
        self.starts = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
        self.inside: list[str] = []
        self.found: list[tuple[int, int, int, str, str]] = []

    def begin(self, node: ast.AST) -> int:
        return self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def put(self, node: ast.AST, begin: int, end: int, text: str) -> None:
        line: int = node.lineno  # type: ignore[attr-defined]
        self.found.append((line, begin, end, text, ".".join(self.inside)))

    def swap(self, node: ast.AST, before: ast.AST, after: ast.AST) -> None:
        """Exchange the operator that stands between two nodes."""
        low, high = self.end(before), self.begin(after)
        between = self.source[low:high].decode()
        code = re.sub(r"#.*", lambda m: " " * len(m[0].encode()), between)
        sign = OPERATOR.search(code)
        other = SWAPS.get(re.sub(r"\s+", " ", sign[0])) if sign else None
        if sign and other:
            self.put(node, low + sign.start(), low + sign.end(), other)

    def visit_Compare(self, node: ast.Compare) -> None:
        parts = [node.left, *node.comparators]
        for before, after in pairwise(parts):
            self.swap(node, before, after)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        # What joins texts or types is no arithmetic.
        if not any(isinstance(n, ast.JoinedStr) for n in (node.left, node.right)):
            self.swap(node, node.left, node.right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for before, after in pairwise(node.values):
            self.swap(node, before, after)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            self.put(node, self.begin(node), self.begin(node.operand), "")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.swap(node, node.target, node.value)
        self.put(node, self.begin(node), self.end(node), "pass")
        self.generic_visit(node)

    def negate(self, test: ast.expr) -> None:
        text = self.source[self.begin(test) : self.end(test)].decode()
        self.put(test, self.begin(test), self.end(test), f"(not ({text}))")

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self.negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.negate(node.test)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            text = str(not value)
        elif isinstance(value, int):
            text = str(value + 1)
        elif isinstance(value, float):
            text = repr(1.0 if value == 0 else value * (1000 if value < TINY else 2))
        else:
            return
        self.put(node, self.begin(node), self.end(node), text)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value and not isinstance(node.value, ast.Constant):
            self.put(node, self.begin(node), self.end(node), "return None")
        self.generic_visit(node)

    def delete(self, node: ast.stmt) -> None:
        self.put(node, self.begin(node), self.end(node), "pass")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.delete(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            return
        if any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self.delete(node)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.delete(node)  # what it says is no arithmetic

    def visit_Continue(self, node: ast.Continue) -> None:
        self.delete(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.delete(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts stay as they are."""

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "stacklevel":
            self.generic_visit(node)

    def _define(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self.inside.append(node.name)
        if isinstance(node, ast.FunctionDef):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default:
                    self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.inside.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._define(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._define(node)


def mutants_of(root: Path, path: Path) -> list[Mutant]:
    """Return all changes of a file; those that look the same within a function are numbered."""
    source = path.read_bytes()
    sites = _Sites(source)
    sites.visit(ast.parse(source))
    name = path.relative_to(root).as_posix()
    seen: Counter[str] = Counter()
    mutants = []
    for line, begin, end, text, function in sites.found:
        if source[begin:end].decode() == text:
            continue
        first = source.rfind(b"\n", 0, begin) + 1
        last = source.find(b"\n", end)
        last = len(source) if last < 0 else last
        before, old, after = source[first:begin], source[begin:end], source[end:last]
        shown = f"{before.decode()}[{_short(old.decode())} -> {_short(text)}]{after.decode()}"
        key = f"{name}::{function}: {' '.join(shown.split())}"
        seen[key] += 1
        if seen[key] > 1:
            key += f" #{seen[key]}"
        mutants.append(Mutant(name, line, begin, end, text, key))
    return mutants


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:40]} ... {flat[-15:]}"


class Coverage:
    """Which tests run which lines, as a run of the suite under pytest-cov has left it.

    Lines of compiled kernels and of constants are run by no test that could be seen: theirs are the
    tests of the lines where their names stand, and those of modules that name them.

    Parameters
    ----------
    tree
        The root of the sources.
    measured
        File of the data, whose contexts are the names of tests.
    """

    def __init__(self, tree: Path, measured: Path) -> None:
        from coverage import CoverageData

        self.tree = tree
        self.data = CoverageData(str(measured))
        self.data.read()
        self.sources = {
            path.relative_to(tree).as_posix(): path.read_text()
            for path in sorted((tree / "edgeopt").rglob("*.py"))
        }
        self.modules: dict[str, set[str]] = {}
        for name in self.data.measured_contexts():
            test = name.rpartition("|")[0]
            self.modules.setdefault(test.partition("::")[0], set()).add(test)
        self.tests_said = {
            path: (tree / path).read_text()
            for path in self.modules
            if path.startswith("tests/") and (tree / path).exists()
        }

    # There is one object of this class, for as long as the driver runs: what is kept leaks nothing.
    @cache  # noqa: B019
    def _lines(self, path: str) -> dict[int, set[str]]:
        found = self.data.contexts_by_lineno(str(self.tree / path))
        return {
            line: {one.rpartition("|")[0] for one in names if one} for line, names in found.items()
        }

    @cache  # noqa: B019
    def _names(self, path: str) -> dict[int, str]:
        """Return, for each line, what it helps to define: the innermost function or constant."""
        named: dict[int, str] = {}
        for node in ast.walk(ast.parse(self.sources[path])):  # outer ones come first
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                name = node.name
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno not in named:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                name = target.id if isinstance(target, ast.Name) else ""
            else:
                continue
            if name:
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
                named.update(dict.fromkeys(range(first, (node.end_lineno or first) + 1), name))
        return named

    def tests(self, path: str, line: int) -> set[str]:
        """Return the tests that run a line, or else the lines that use what it helps to define."""
        seen, waiting = {(path, line)}, [(path, line)]
        naming: set[str] = set()
        for _ in range(DEPTH):
            if found := set().union(*(self._lines(at).get(n, set()) for at, n in waiting), naming):
                return found
            names = {(name, at) for at, n in waiting if (name := self._names(at).get(n))}
            if not names:
                break
            # What begins with a line below is named in its own file alone.
            open_words = _word({name for name, _ in names if not name.startswith("_")})
            naming = set().union(
                *(self.modules[at] for at, said in self.tests_said.items() if open_words(said))
            )
            waiting = []
            for at, text in self.sources.items():
                own = _word({n for n, home in names if home == at or not n.startswith("_")})
                lines = enumerate(text.splitlines(), 1)
                waiting += [(at, n) for n, code in lines if own(code) and (at, n) not in seen]
            seen.update(waiting)
        return set().union(*self._lines(path).values())


def _word(names: set[str]) -> Callable[[str], object]:
    """Return what finds one of some names in a text."""
    return re.compile(rf"\b(?:{'|'.join(sorted(names))})\b").search if names else (lambda _: None)


def kinship(source: str, test: str) -> int:
    """Count the words of a source's path, below the package, that a test's path has as well."""
    words = set(re.findall(r"[a-z0-9]+", source.removeprefix("edgeopt/").removesuffix(".py")))
    return len(words & set(re.findall(r"[a-z0-9]+", test.partition("::")[0].removesuffix(".py"))))
