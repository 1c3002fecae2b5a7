"""Compiled kernels, kept on disk by the digest of their code.

Numba identifies a kept kernel by its own file. Here the digest of its module identifies it, which
covers the kernels and constants that it imports: none is used after the code that it calls changed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, overload

from numba.core import config, sigutils, types
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    NullCache,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
    _CacheLocator,
)
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from edgeopt.cache import PACKAGE, cache_folder
from edgeopt.digests import changed, closure, digest, modules_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ReturnedT = TypeVar("ReturnedT", covariant=True)

_OPTIONS: Final = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True}
"""As in `numba.njit`, but without the form for callers in C, of which there are none."""

_INNER: Final = {"no_cpython_wrapper": True}
"""For kernels that only kernels call: without it a study compiles for a sixth longer."""

_CONFIG: Final[Any] = config
"""Numba's settings, whose names type checkers cannot see."""

_LEVEL: Final = _CONFIG.OPT if "NUMBA_OPT" in os.environ else type(_CONFIG.OPT)(1)
"""Level of LLVM: above the first one, compiling takes a third longer for no faster kernels."""

_ALONE: Final = frozenset({__name__})
"""This module counts for every kernel, its imports do not: they compile nothing."""


class Kernel(Protocol[ReturnedT]):
    """A compiled function."""

    @property
    def py_func(self) -> Callable[..., ReturnedT]:
        """The function that it was compiled from."""

    def __call__(self, *args: Any, **named: Any) -> ReturnedT:
        """Call it, compiled for the types of the arguments."""


@overload
def compiled(function: Callable[..., ReturnedT], /) -> Kernel[ReturnedT]: ...
@overload
def compiled(
    *, writes: str = "", both: bool = False, **options: Any
) -> Callable[[Callable[..., ReturnedT]], Kernel[ReturnedT]]: ...
def compiled(
    function: Any = None, /, *, writes: str = "", both: bool = False, **options: Any
) -> Any:
    """Compile a function by numba when it is first called, and keep what is compiled.

    `writes` names the array parameters that it changes or returns, separated by blanks. All others
    are taken as read-only, so that frozen arrays and others share what is compiled; numba refuses
    to compile a function that writes to one of them. A function that another kernel calls first is
    compiled for kernels alone, and again if Python ever calls it; `both` compiles for both at once.
    Other options are those of `numba.njit`.
    """
    if function is None:
        return lambda given: _made(given, writes.split(), options, both)
    return _made(function, [], {})


def _made(
    function: Callable[..., Any], writes: list[str], options: dict[str, Any], both: bool = False
) -> Any:
    if _CONFIG.DISABLE_JIT:
        return function
    made: Any = _Kernel(function, {}, {**_OPTIONS, **options})
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    if unknown := set(writes) - set(names):
        raise TypeError(f"{function.__qualname__}: has no parameters {sorted(unknown)} to write to")
    made.read = frozenset(at for at, name in enumerate(names) if name not in writes)
    made.both, made.inserted = both, set()
    made._cache = _KernelCache(made)
    return made


class _Kernel(CPUDispatcher):
    """A dispatcher that compiles once for frozen arrays and others, constants and others."""

    read: frozenset[int] = frozenset()
    """Positions of the parameters that are only read."""

    both = False
    """Whether it is compiled for callers in Python even when another kernel asks first."""

    within = False
    """Whether another kernel is asking, which needs no form for callers in Python."""

    inserted: set[tuple[Any, ...]]
    """Types of arguments that lead to what was compiled for others."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        if self.both:
            return super().get_call_template(args, kws)
        compiler: Any = self._compiler  # type: ignore[attr-defined]
        before, self.within = self.within, True
        options, compiler.targetoptions = compiler.targetoptions, compiler.targetoptions | _INNER
        try:
            return super().get_call_template(args, kws)
        finally:
            self.within, compiler.targetoptions = before, options

    def add_overload(self, cres: Any) -> None:
        if _is_callable(cres):
            super().add_overload(cres)
        else:
            self.overloads[tuple(cres.signature.args)] = cres

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock:
            # Numba reads the level whenever it compiles; other packages keep their own. Looking
            # for garbage among all that a compiler makes takes an eighth of its time.
            before, _CONFIG.OPT = _CONFIG.OPT, _LEVEL
            collects = gc.isenabled()
            gc.disable()
            try:
                return self._compiled(sig)
            finally:
                _CONFIG.OPT = before
                if collects:
                    gc.enable()

    def _compiled(self, sig: Any) -> Any:
        given, _ = sigutils.normalize_signature(sig)  # type: ignore[no-untyped-call]
        wanted = tuple(
            one.copy(readonly=True)
            if at in self.read and _is_writable(one)
            else types.unliteral(one)  # type: ignore[no-untyped-call]
            for at, one in enumerate(given)
        )
        known: Any = self.overloads.get(wanted)
        if known is not None and not self.within and not _is_callable(known):
            del self.overloads[wanted]
        same = wanted == tuple(given)
        entry = super().compile(sig if same else wanted)
        if not (same or self.within or given in self.inserted):
            # Calls from Python find it by the types of their arguments, without a conversion.
            # Inserted twice it would be ambiguous: every call would end here.
            self.inserted.add(given)
            found: Any = self.overloads[wanted]
            insert: Any = self._insert  # type: ignore[attr-defined]
            insert([one._code for one in given], found.entry_point, found.objectmode)
        return entry


def _is_callable(found: Any) -> bool:
    """Whether what was compiled has a form for callers in Python."""
    name = found.fndesc.llvm_cpython_wrapper_name
    return bool(found.library.get_pointer_to_function(name))


def _is_writable(kind: Any) -> bool:
    return type(kind) is types.Array and kind.mutable


class _KernelCache(NullCache):
    """What is kept of one kernel; nothing is looked up before it is first called."""

    def __init__(self, kernel: Any) -> None:
        self._kernel, self._function = kernel, kernel.py_func

    @cached_property
    def _kept(self) -> Any:
        known = kernel_folder(self._function.__module__) is not None
        return _OnDisk(self._function) if known else NullCache()  # type: ignore[no-untyped-call]

    @property
    def cache_path(self) -> Any:
        return self._kept.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._kept.load_overload(sig, target_context)
        return found if found and (self._kernel.within or _is_callable(found)) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        # A full disk, or a folder that another process just removed, must not stop a computation.
        with contextlib.suppress(OSError):
            self._kept.save_overload(sig, data)
            if (folder := self._kept.cache_path) is not None:
                _remove_old(Path(folder))

    def flush(self) -> None:
        self._kept.flush()


@cache
def kernel_folder(module: str) -> Path | None:
    """Return the folder for the kernels of a module, whether it exists or not.

    None if they are not to be kept: it is a script, or its files have been touched since this
    process began, so that what is in memory may be older than they.
    """
    modules = closure(frozenset({module}), alone=_ALONE)
    if module == "__main__" or module not in modules or changed(modules):
        return None
    return cache_folder() / f"{module}-{digest(frozenset({module}), alone=_ALONE)[:16]}"


class _Locator(_CacheLocator):
    """Tells numba where kernels are kept: in a folder named by the digest of their code."""

    def __init__(self, folder: Path, file: str) -> None:
        self._folder = folder
        self._py_file = file

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator | None:
        folder = kernel_folder(py_func.__module__)
        return None if folder is None else cls(folder, py_file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        # The key that numba makes does not contain the level.
        return f"O{int(_LEVEL)}"


class _Parts(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 - numba's own list


class _OnDisk(FunctionCache):
    _impl_class = _Parts


@cache
def _remove_old(folder: Path) -> None:
    """Remove kernels of older code of a module."""
    _remove_strays(folder.parent)
    for other in folder.parent.glob(f"{folder.name.rpartition('-')[0]}-*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


@cache
def _remove_strays(root: Path) -> None:
    """Remove kernels of modules that no longer exist, and those that numba kept by itself."""
    modules = set(modules_within(PACKAGE.name))
    for folder in root.glob(f"{PACKAGE.name}.*-*"):
        if folder.name.rpartition("-")[0] not in modules:
            shutil.rmtree(folder, ignore_errors=True)
    chosen = [UserProvidedCacheLocator] if _CONFIG.CACHE_DIR else []
    locators: list[Any] = [*chosen, UserWideCacheLocator]
    for source in {path.parent for path in PACKAGE.rglob("*.py")}:
        for file in (source / "__pycache__").glob("*.nb[ci]"):
            file.unlink(missing_ok=True)
        for locator in locators:
            elsewhere = Path(locator(_is_writable, str(source / "_.py")).get_cache_path())
            for file in elsewhere.glob("*.nb[ci]"):
                file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                elsewhere.rmdir()


@compiled(writes="out")
def put(source: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy one axis; assigning a slice would compile error messages for seconds."""
    for i in range(source.shape[0]):
        out[i] = source[i]
