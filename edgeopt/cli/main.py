"""The program: its commands, its version, and one line for every error."""

import io
import os
import re
import signal
import sys
import traceback
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import edgeopt
from edgeopt import plugins, registry
from edgeopt.cli import complete
from edgeopt.cli.bench import bench
from edgeopt.cli.check import check
from edgeopt.cli.collection import collection
from edgeopt.cli.instances import generate, template
from edgeopt.cli.notebooks import explore, tutorial
from edgeopt.cli.search import search
from edgeopt.cli.solve import solve, solvers
from edgeopt.cli.study import study
from edgeopt.cli.train import train
from edgeopt.cli.verify import verify
from edgeopt.errors import EdgeOptError, EdgeOptWarning, OptionError
from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BAD_INPUT, _BUG, _INTERRUPTED = 2, 70, 130

_GROUPS: "dict[str, tuple[str, tuple[Callable[..., Any], ...]]]" = {
    "Start here": ("edgeopt study rescue --out report", (study, explore, tutorial)),
    "Your own": (
        "edgeopt template rescue --out mine && edgeopt study rescue --instance mine",
        (template, generate, solve, train),
    ),
    "Proofs": ("edgeopt check rescue", (check, search, verify)),
    "Speed": ("edgeopt bench --online 'rescue*'", (bench, collection, solvers)),
}
"""Commands by the panel of the help that shows them, with an example of each panel."""


class _Flags:
    """Shows no type for options that take no value."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_Flags, TyperCommand):
    pass


class _Program(_Flags, TyperGroup):
    pass


app = typer.Typer(
    cls=_Program,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Examples: " + "; ".join(example for example, _ in _GROUPS.values()),
)
_COMMANDS = {one.__name__: one for _, commands in _GROUPS.values() for one in commands}
for panel, (_, commands) in _GROUPS.items():
    for command in commands:
        app.command(cls=_Command, rich_help_panel=panel)(command)
for point in registry.offered(registry.COMMANDS):
    try:
        offered: Any = plugins.load(point, object)
        if not callable(offered) or point.name in _COMMANDS:
            raise plugins.refusal(point, "must be a function with the name of no other command")
        panel = f"From {point.dist.name}" if point.dist else "From other packages"
        app.command(point.name, cls=_Command, rich_help_panel=panel)(offered)
    except OptionError as why:
        plugins.leave_out(why)

# typer may carry its own copy of click, so the exception is found from a public class.
_UsageError: Any = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


@app.callback(
    invoke_without_command=True,
    help="Study the scheduling of training and inference on shared edge resources.\n\n"
    "Every number can be checked: solutions come with proven bounds, comparisons with intervals, "
    "claims with verdicts.",
)
def _program(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Print version or help."""
    if version:
        print(f"edgeopt {edgeopt.__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def run(arguments: "Sequence[str]") -> int:
    """Run the program and return its exit code."""
    try:
        _require_sayable(arguments)
        code = app(args=list(arguments), prog_name="edgeopt", standalone_mode=False)
    except _UsageError as error:
        said = _plain(error.format_message().rstrip("."))
        known = {*_COMMANDS, *(one.name for one in app.registered_commands)}
        named = next((one for one in arguments[:1] if one in known), "")
        command = f"edgeopt {named}".rstrip()
        return _complain(f"{said}{'' if said.endswith('?') else ';'} {command} --help lists all")
    except BrokenPipeError:
        return _unread()
    except (EdgeOptError, OSError) as error:
        return _complain(str(error) or type(error).__name__)
    except MemoryError as error:
        said = f" ({error})" if str(error) else ""
        return _complain(
            f"not enough memory{said}; take a smaller instance, fewer runs, or fewer workers"
        )
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    # Anything else is a bug, here or in an installed plugin, which may even try to exit.
    except (Exception, SystemExit) as error:
        if isinstance(error, SystemExit) and complete.asked_for(arguments):
            return error.code if isinstance(error.code, int) else 0
        if isinstance(error.__context__, BrokenPipeError):  # typer leaves by itself
            return _unread()
        where = "; ".join(getattr(error, "__notes__", ()))
        what = f"{type(error).__name__}: {error}" + f" ({where})" * bool(where)
        _complain(f"{what}; this is a bug, please report it with what EDGEOPT_DEBUG=1 shows")
        return _BUG
    # typer itself turns an interrupt within a command into this code.
    if code == _INTERRUPTED:
        print("interrupted", file=sys.stderr)
    return code if isinstance(code, int) else 0


_RULES = {
    r"Input should be a valid integer.*": "must be a whole number",
    r"Input should be a valid number.*": "must be a number",
    r"Input should be greater than or equal to": "must be at least",
    r"Input should be less than or equal to": "must be at most",
}
"""Rules of parameters in plain words."""


def _plain(said: str) -> str:
    for rule, words in _RULES.items():
        said = re.sub(rule, words, said)
    return said


def _unread() -> int:
    """Leave because nobody reads on: ``edgeopt ... | head``."""
    # Keep the interpreter from flushing into the closed pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _require_sayable(arguments: "Sequence[str]") -> None:
    """Refuse an argument that can be neither a file name nor printed, and options without one."""
    for before, argument in zip(("", *arguments), arguments, strict=False):
        option, equals, value = argument.partition("=")
        if before.startswith("--") and not argument:
            raise OptionError(f"{before}: must not be empty")
        if option.startswith("--") and equals and not value:
            raise OptionError(f"{option}: must not be empty")
        try:
            sayable = b"\0" not in os.fsencode(argument)
        except UnicodeEncodeError:
            sayable = False
        if not sayable:
            raise OptionError(
                f"argument {argument!r} contains characters that an argument cannot have"
            )


def _complain(message: str) -> int:
    if os.environ.get("EDGEOPT_DEBUG", "0") not in ("", "0"):
        traceback.print_exc()
    print(f"edgeopt: error: {printable(' '.join(message.split()))}", file=sys.stderr)
    return _BAD_INPUT


class _Warnings:
    """Prints each warning of edgeopt once, in the form of errors; others as Python does."""

    def __init__(self) -> None:
        self._printed: set[str] = set()
        self._otherwise = warnings.showwarning

    def __call__(
        self, message: Warning | str, category: type[Warning], *place: Any, **more: Any
    ) -> None:
        text = printable(" ".join(str(message).split()))
        if not issubclass(category, EdgeOptWarning):
            self._otherwise(message, category, *place, **more)
        elif text not in self._printed:
            self._printed.add(text)
            print(f"edgeopt: warning: {text}", file=sys.stderr)


def main() -> None:
    """Run the program with the arguments of this process, and leave with its exit code."""
    warnings.showwarning = _Warnings()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A label may contain characters that the terminal cannot show.
        sys.stdout.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:])
    # An interrupt from here on would only print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)
