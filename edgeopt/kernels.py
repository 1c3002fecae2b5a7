"""Compiled kernels, kept on disk by a hash of all that is compiled into them.

Numba identifies a kept kernel by its own file. Here its code identifies it, the kernels that it
calls and the constants that it names, as they are in memory: none is used after any of them changed
in whatever file, and none is compiled again after other changes.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import re
import shutil
import sys
from functools import cache, cached_property, partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, overload

import numpy as np
from numba.core import config, sigutils, types
from numba.core.caching import IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from edgeopt import archive
from edgeopt.cache import PACKAGE, cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

ReturnedT = TypeVar("ReturnedT", covariant=True)

_OPTIONS: Final = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True}
"""As in `numba.njit`, but without the form for callers in C, of which there are none."""

_INNER: Final = {"no_cpython_wrapper": True}
"""For kernels that only kernels call: without it a study compiles for a sixth longer."""

_ANNOTATION: Final = 6
"""Place of a listing with inferred types in what numba keeps: a quarter of it, and never read."""

_CONFIG: Final[Any] = config
"""Numba's settings, whose names type checkers cannot see."""

_LEVEL: Final = _CONFIG.OPT if "NUMBA_OPT" in os.environ else type(_CONFIG.OPT)(1)
"""Level of LLVM: above the first one, compiling takes a third longer for no faster kernels."""


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
        self._kernel = kernel

    @cached_property
    def _file(self) -> Any:
        """The index of its variants by types of arguments; None if it is part of a script."""
        function = self._kernel.py_func
        if function.__module__ in (None, "__main__"):
            return None
        made: Any = IndexDataCacheFile  # without types
        digest = self._digest
        name = f"{re.sub('[<>]', '', function.__qualname__)}.{sys.implementation.cache_tag}"
        return made(str(kernel_folder(function.__module__)), f"{name}-{digest[:16]}", digest)

    @cached_property
    def _digest(self) -> str:
        return kernel_digest(self._kernel)

    @property
    def cache_path(self) -> Any:
        return self._file and self._file._cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        rebuild: Any = CompileResult._rebuild
        for kept in self._kept(sig, target_context.codegen().magic_tuple()):
            found = rebuild(target_context, *kept)
            if self._kernel.within or _is_callable(found):
                return found
        return None

    def _kept(self, sig: Any, host: archive.Target) -> Iterator[Any]:
        """Yield what is kept of a variant: by this processor, then what came with the package."""
        if self._file is None:
            return
        own = partial(self._file.load, _key(sig, host))
        module = self._kernel.py_func.__module__
        file, version, digest = self._file._index_name, self._file._version, self._digest
        packed = [
            partial(archive.read, module, file, version, digest, _key(sig, target))
            for target in archive.targets(host)
        ]
        for read in (own, *packed):
            kept = None
            # What is kept may be damaged, or name a module that a kernel it calls has left.
            with contextlib.suppress(Exception):
                kept = read()
            if kept is not None:
                yield kept

    def save_overload(self, sig: Any, data: Any) -> None:
        key = _key(sig, data.codegen.magic_tuple())
        # Addresses are of this process alone.
        if self._file is None or data.library.has_dynamic_globals or " at 0x" in key:
            return
        folder = Path(self._file._cache_path)
        # A full disk, or a folder that another process just removed, must not stop a computation.
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            kept = list(data._reduce())
            kept[_ANNOTATION] = ""
            self._file.save(key, kept)
            _remove_old(folder, self._file._index_name)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()


def kernel_folder(module: str) -> Path:
    """Return the folder for the kernels of a module, whether it exists or not."""
    return cache_folder() / module


def _key(sig: Any, target: archive.Target) -> str:
    """Say what identifies a variant of a kernel: types of arguments, and the processor."""
    given, _ = sigutils.normalize_signature(sig)  # type: ignore[no-untyped-call]
    return repr((given, target, [_fields(one) for one in given]))


def _fields(kind: Any) -> list[Any]:
    """Return what the names of types leave out of named tuples: their classes and fields."""
    inner: Any = kind if isinstance(kind, types.BaseTuple) else ()
    named = isinstance(kind, types.BaseNamedTuple)
    known = (kind.instance_class, kind.fields) if named else None
    return [known, *(_fields(one) for one in inner)]


def kernel_digest(kernel: Any) -> str:
    """Hash all that is compiled into a kernel, however far down: code, options and constants."""
    parts = (str(int(_LEVEL)), *_contents(kernel, set()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _contents(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield what a value brings into a kernel that names it."""
    if isinstance(value, _Kernel):
        function: Any = value.py_func
        yield function.__qualname__
        if id(value) not in seen:
            seen.add(id(value))
            yield from _contents((*sorted(value.targetoptions.items()), value.read), seen)
            code, cells = function.__code__, function.__closure__ or ()
            inner = zip(code.co_freevars, (one.cell_contents for one in cells), strict=True)
            yield from _code(code, function.__globals__ | dict(inner), seen, function.__doc__)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, set | frozenset):
        yield repr(sorted(value, key=repr))
    elif isinstance(value, tuple):
        yield repr((type(value).__qualname__, getattr(value, "_fields", ()), len(value)))
        for one in value:
            yield from _contents(one, seen)
    elif isinstance(value, type):
        fields = getattr(value, "_fields", None) or getattr(value, "__members__", None)
        yield f"{value.__module__}.{value.__qualname__} {fields}"
    elif callable(value):
        yield f"{getattr(value, '__module__', None)}.{getattr(value, '__name__', value)}"
    elif not isinstance(value, ModuleType):
        yield repr(value)


def _code(
    code: CodeType, known: Mapping[str, Any], seen: set[int], docstring: str | None = None
) -> Iterator[str]:
    """Yield what code says, and what is known by the names in it."""
    names = (*code.co_names, *code.co_freevars)
    yield repr((code.co_code, code.co_exceptiontable, code.co_varnames, names))
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _code(one, known, seen)
        else:
            yield from _contents(None if one is docstring else one, seen)
    for name, value in _named(names, known, set()):
        yield name
        yield from _contents(value, seen)


def _named(
    names: Iterable[str], known: Mapping[str, Any], modules: set[ModuleType]
) -> Iterator[tuple[str, Any]]:
    """Yield what names may stand for, in code or in the modules that it names."""
    for name in names:
        if name in known:
            value = known[name]
            yield name, value
            if isinstance(value, ModuleType) and value not in modules:
                modules.add(value)
                yield from _named(names, vars(value), modules)


@cache
def _remove_old(folder: Path, index: str) -> None:
    """Remove a kernel as it was before its code changed, and those of modules that are gone."""
    present = index.removesuffix(".nbi")
    for other in folder.glob(f"{present.rpartition('-')[0]}-*"):
        if not other.name.startswith(present):
            other.unlink(missing_ok=True)
    for other in folder.parent.glob(f"{PACKAGE.name}.*"):
        module = PACKAGE.parent.joinpath(*other.name.split("."))
        if not (module.is_dir() or module.with_name(f"{module.name}.py").exists()):
            shutil.rmtree(other, ignore_errors=True)


@compiled(writes="out")
def put(source: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy one axis; assigning a slice would compile error messages for seconds."""
    for i in range(source.shape[0]):
        out[i] = source[i]
