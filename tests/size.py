"""How large the code is, printed: ``python -m tests.size [FOLDER]``, of this checkout by default.

Code lines are those that are neither blank, nor comments, nor docstrings, nor imports. A name that
several packages export is counted once.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

GOALS: Final = {
    "code lines of the toolkit": 54_000,
    "files of the toolkit": 430,
    "exported names of the toolkit": 500,
    "code lines of the papers": 16_000,
    "code lines of both": 68_000,
    "modules that a RESCUE study loads": 140,
}
"""What each figure should be at most."""

_STUDY: Final = """
import sys
from edgeopt.cli.main import main
try:
    main()
except SystemExit:
    pass
print(sum(name.partition(".")[0] == "edgeopt" for name in sys.modules))
"""


@dataclass(frozen=True)
class Size:
    """Files, code lines, comments and exported names below a folder."""

    files: int
    code: int
    comments: int
    exported: frozenset[str]


def size_of(folder: Path) -> Size:
    """Count what the Python files of a folder hold."""
    files = sorted(folder.rglob("*.py"))
    code = comments = 0
    trees = {}
    for file in files:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        left_out = {line for node in ast.walk(tree) if _apart(node) for line in _span(node)}
        for number, line in enumerate(text.splitlines(), 1):
            if number not in left_out and (bare := line.strip()):
                comments += bare.startswith("#")
                code += not bare.startswith("#")
        if file.name == "__init__.py":
            trees[".".join(file.parent.relative_to(folder.parent).parts)] = tree
    return Size(len(files), code, comments, exported(trees))


def exported(packages: dict[str, ast.Module]) -> frozenset[str]:
    """Return where the names that packages export are defined, each once."""
    origins = {
        package: {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for package, tree in packages.items()
    }

    def origin(package: str, name: str) -> str:
        module, original = origins.get(package, {}).get(name, (package, name))
        known = (module, original) != (package, name) and original in origins.get(module, {})
        return origin(module, original) if known else f"{module}.{original}"

    return frozenset(
        origin(package, name) for package, tree in packages.items() for name in _exported(tree)
    )


def _apart(node: ast.AST) -> bool:
    """Tell whether a node is an import or a string that stands alone."""
    alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        alone and isinstance(node.value.value, str)
    )


def _span(node: ast.AST) -> range:
    return range(node.lineno, node.end_lineno + 1)


def _exported(tree: ast.Module) -> set[str]:
    """Return the names in `__all__`."""
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return {
        one.value
        for value in values
        for one in ast.walk(value)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    }


def loaded(root: Path = ROOT) -> int:
    """Return how many modules of the toolkit a small study of RESCUE loads."""
    words = ["study", "rescue", "--runs", "2", "--draws", "1", "--no-claims"]
    done = subprocess.run(
        [sys.executable, "-c", _STUDY, *words], capture_output=True, text=True, check=True, cwd=root
    )
    return int(done.stdout.split()[-1])


def figures(root: Path = ROOT) -> dict[str, int]:
    """Return the figures that have goals."""
    toolkit, papers = size_of(root / "edgeopt"), size_of(root / "papers")
    values = (
        toolkit.code,
        toolkit.files,
        len(toolkit.exported),
        papers.code,
        toolkit.code + papers.code,
        loaded(root),
    )
    return dict(zip(GOALS, values, strict=True))


def main() -> int:
    """Print the figures beside their goals, and the rooms of the toolkit."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    for name, value in figures(root).items():
        print(f"{name:36}{value:8,}   at most {GOALS[name]:,}")
    for room in sorted(one for one in (root / "edgeopt").iterdir() if one.is_dir()):
        if (room / "__init__.py").exists():
            inside = size_of(room)
            share = f"{100 * inside.comments / max(inside.code, 1):.1f} % comments"
            print(f"  {room.name:16}{inside.files:4} files{inside.code:8,} code lines, {share}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
