"""Tables of commands, sliders, solvers, public programs, the scoreboard and tutorials."""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Any

from fill.markdown import DOCS, FULL, caption, code, fence, plain, sentence, table

if TYPE_CHECKING:
    from fill.markdown import Asked

SHOWN = {"passed": "yes", "not offered": "-"}


def known() -> dict[str, Any]:
    """The commands of the program by name."""
    import typer

    from edgeopt.cli.main import app

    return dict(typer.main.get_command(app).commands)


def commands(asked: Asked) -> str:
    """All commands, each with its first sentence and a link to its section."""
    rows = [
        [f"[`edgeopt {name}`](#edgeopt-{name})", plain(inspect.cleandoc(one.help).split("\n")[0])]
        for name, one in known().items()
    ]
    return table(["command", "what it does"], rows, left=2)


def command(asked: Asked) -> str:
    """Usage, text and options of one command."""
    [name] = asked.arguments
    told = known()[name]
    usage = " ".join(["edgeopt", name, *(shown(one) for one in told.params if one.required)])
    rows = [
        [code(shown(one)), inline(getattr(one, "help", "") or ""), default(one)]
        for one in told.params
        if "--help" not in one.opts
    ]
    text = [inline(" ".join(part.split())) for part in inspect.cleandoc(told.help).split("\n\n")]
    options = table(["option", "meaning", "default"], rows, left=3)
    return "\n\n".join([fence(f"{usage} [options]", "text"), *text, options])


def inline(text: str) -> str:
    """A help text, with options as code."""
    return sentence(re.sub(r"(?<!\S)(--[a-z]+)", r"`\1`", text))


def shown(parameter: Any) -> str:
    """How a parameter is written: ``SYSTEM``, ``--out PATH``, ``--json``."""
    if parameter.param_type_name == "argument":
        name = (parameter.metavar or parameter.name).upper()
        return f"{name} ..." if parameter.nargs == -1 else name
    names = ", ".join(parameter.opts)
    if parameter.is_flag:
        return names
    return f"{names} {parameter.metavar or parameter.name.upper()}"


def default(parameter: Any) -> str:
    value = parameter.default
    if parameter.param_type_name == "argument" or value is None or value is False or value == ():
        return ""
    return code(str(value))


def sliders(asked: Asked) -> str:
    """What can be moved on the live page of a system."""
    from edgeopt.explore.controls import sliders
    from edgeopt.studies import find_system
    from edgeopt.studies.live import live_of

    record = find_system(asked.arguments[0])
    rows = [
        [plain(one.title), f"{one.low:g} to {one.high:g}", f"{one.start:g}"]
        for one in sliders(record, live_of(record).source)
    ]
    return table(["slider", "range", "at first"], rows)


def tutorials(asked: Asked) -> str:
    """All tutorials, each with a link to its page."""
    from edgeopt.tutorials import tutorials

    rows = [
        [one.number, f"[{plain(one.title)}](tutorial-{one.path.stem}.md)", sentence(one.text)]
        for one in tutorials()
    ]
    return table(["", "tutorial", "what you do"], rows, left=3)


def solvers(asked: Asked) -> str:
    """What each installed backend of `edgeopt.solvers` does, as measured."""
    from edgeopt.solvers import backends
    from fill.solver_features import features

    measured = [(one, features(one.name)) for one in backends(installed=True)]
    columns = list(measured[0][1])
    rows = [
        [code(one.name), f"{one.distribution} {one.version}"]
        + [SHOWN.get(found[column], plain(found[column])) for column in columns]
        for one, found in measured
    ]
    absent = ", ".join(one.name for one in backends(installed=False))
    said = "Measured on small problems with known answers."
    if absent:
        said += f" Not installed where it was measured: {absent}."
    made = table(["solver", "package", *columns], rows, left=len(columns) + 2)
    return f"{made}\n\n{caption(said)}"


def programs(asked: Asked) -> str:
    """What solvers make of public programs, as `make programs` has stored it."""
    folder = DOCS / "_static" / "programs"
    reports = {path: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    parts = []
    # What has less time for the same programs comes after them.
    for path, report in sorted(reports.items(), key=lambda item: -item[1]["time_limit"]):
        rows = [list(row.values()) for row in report["table"]]
        versions = ", ".join(f"{name} {said}" for name, said in report["versions"].items())
        said = f"Up to {report['time_limit']:g} s for each program; "
        said += f"edgeopt {report['edgeopt']}, {versions}."
        parts += [
            table(list(report["table"][0]), rows, left=2),
            f"{caption(said)} Every program: [{path.name}](_static/programs/{path.name}).",
        ]
    return "\n\n".join(parts)


def releases(asked: Asked) -> str:
    """What `make learners` makes, from how many seeds, and what it takes."""
    from edgeopt_papers.releases import times

    from edgeopt.studies.wording import duration

    known = times().values()
    rows = [
        [code(one.name), one.seeds, f"{'' if one.whole else 'about '}{duration(one.seconds)}"]
        for one in known
    ]
    whole = sum(one.seconds for one in known)
    said = (
        f"Processor time: {duration(whole)} in all, at best {duration(whole / 2)} by two "
        "processes. About: measured on parts of it. Seeds are of trainings, or of instances where "
        "nothing is trained."
    )
    return f"{table(['name', 'seeds', 'processor time'], rows, left=1)}\n\n{caption(said)}"


def full(asked: Asked) -> str:
    """Figures of a paper that were computed once at full size, as their run has stored them."""
    from edgeopt_papers import cases
    from edgeopt_papers.figures.report import in_words
    from edgeopt_papers.figures.verdicts import in_a_sentence

    [system] = asked.arguments
    stored = json.loads((FULL / f"{system}.json").read_text())
    whys = {one.what: one.why for figure in cases.figures(system) for one in figure.published}
    several = any(line.get("setting") for figure in stored["figures"] for line in figure["lines"])
    parts = []
    if several:
        every = [
            line | {"paper_figure": f"{figure['kind']}-{figure['number']}"}
            for figure in stored["figures"]
            for line in figure["lines"]
        ]
        parts = [plain(in_a_sentence(every, quick=False)), farthest(every)]
    for figure in stored["figures"]:
        heading = f"{figure.get('kind', 'figure').capitalize()} {figure['number']}"
        parts.append(f"**{heading}: {figure['title']}.**")
        if several:
            parts.append(by_setting(figure["lines"]))
        else:
            rows = [
                [plain(str(one)) for one in (line["what"], *in_words(line), line["verdict"])]
                + [plain(line.get("why", whys[line["what"]]))]
                for line in figure["lines"]
            ]
            parts.append(table(["what", "published", "computed", "verdict", "why"], rows, left=5))
        draws = f" on the draws {stored['draws']}," if "draws" in stored else ""
        said = f"{figure['jobs']} jobs{draws} at commit {stored['commit']}."
        name = heading.lower().replace(" ", "-")
        parts += [
            f"![{heading}](_static/full/{system}-{name}.svg)",
            caption(f"{figure['size']} {said}".strip()),
        ]
    return "\n\n".join(parts)


def by_setting(lines: list[dict[str, Any]]) -> str:
    """What is published, and beside it what is computed in each setting, with the verdict."""
    from edgeopt_papers.figures.report import in_words

    settings = list(dict.fromkeys(line["setting"] for line in lines))
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        published, computed = in_words(line)
        row = rows.setdefault(line["what"], {"published": plain(published)})
        row[line["setting"]] = f"{plain(computed.partition(' (')[0])}, {line['verdict']}"
    columns = ["published", *settings]
    cells = [[plain(what), *(row.get(one, "") for one in columns)] for what, row in rows.items()]
    return table(["what", "published", *(one or "everywhere" for one in settings)], cells, left=9)


def farthest(lines: list[dict[str, Any]]) -> str:
    """Say of each setting which of the numbers that differ is farthest from the published one."""
    from edgeopt_papers.figures.report import in_words

    by: dict[str, dict[str, Any]] = {line["setting"]: {"away": 0.0} for line in lines}
    for line in lines:
        both = line["published"], line["computed"]
        if line["verdict"] == "differs" and not any(isinstance(one, str) for one in both):
            away = abs(both[1] / both[0] - 1.0)
            if away > by[line["setting"]]["away"]:
                by[line["setting"]] = {**line, "away": away}
    said = []
    for setting, line in by.items():
        if line["away"]:
            published, computed = in_words(line)
            at = f"{line['what']} ({line['paper_figure'].replace('-', ' ')})"
            said.append(f"{setting}: {at}, {computed.partition(' (')[0]} for {published}")
    return plain(f"Farthest from a published number: {'; '.join(said)}.")


def scoreboard(asked: Asked) -> str:
    """Offline values of a system, the first policies on every instance, and the front."""
    [system] = asked.arguments
    return "\n\n".join([_values(system), _policies(system, 3), _front(system)])


def _values(system: str) -> str:
    from edgeopt.collection import entry, names

    rows = []
    for name in names(system):
        one = entry(name).offline
        rows.append([
            code(name), one.status, one.method, one.certificate.get("kind", "none"),
            code(f"edgeopt bench --offline auto --instances {name} --out board"),
            f"{one.best:.8g}", f"{one.bound:.8g}", f"{one.gap:.1e}",
        ])  # fmt: skip
    headings = ["instance", "status", "by", "certificate", "command", "best", "bound", "gap"]
    label = entry(names(system)[0]).offline.problem
    said = f"{label}: the best value known and the proven bound."
    return f"{table(headings, rows, left=5)}\n\n{caption(said)}"


def _policies(system: str, first: int) -> str:
    from edgeopt.collection import entry, names
    from edgeopt.collection.make import SCOREBOARD

    scores = json.loads(SCOREBOARD.read_text(encoding="utf-8"))["policies"]
    rows = []
    for name in names(system):
        one = entry(name)
        sign = -1.0 if one.goal == "max" else 1.0
        mine = [score for score in scores if score["instance"] == name and "failed" not in score]
        mine.sort(key=lambda score: (bool(score["violated"]), sign * score["mean"]))
        for score in mine[:first]:
            command = f"edgeopt bench --online {score['policy']} --instances {name} "
            command += f"--runs {one.online.scenarios} --out board"
            rows.append([
                code(name), code(score["policy"]), code(command),
                f"{score['mean']:.6g}", f"{score['se']:.2g}",
                "none" if score["gap"] is None else f"{score['gap']:.3f}",
                f"{score['violated']:.3g}",
            ])  # fmt: skip
    headings = ["instance", "policy", "command", "mean", "error", "gap", "violations"]
    said = (
        f"The first {first} of the published policies and the recommended one on every instance; "
        "those that violate a constraint come after those that do not. The error is the standard "
        "error of the mean over scenarios; the gap is to the bound that is valid for the policy."
    )
    return f"{table(headings, rows, left=3)}\n\n{caption(said)}"


def _front(system: str) -> str:
    from edgeopt.collection.fronts import FRONTS

    every = json.loads(FRONTS.read_text(encoding="utf-8"))
    rows = [
        [
            code(one["policy"]), ", ".join(one["information"]) or "nothing",
            ", ".join(one["replaced_by"]) or "on the front",
            f"{one['gap']:.3g}", f"{one['violated']:.3g}", f"{one['microseconds']:.2g}",
        ]
        for one in sorted(every, key=lambda one: float(one["gap"]))
        if one["system"] == system
    ]  # fmt: skip
    headings = ["policy", "must know", "replaced by", "gap", "violations", "microseconds"]
    said = (
        "All policies on held-out instances: mean gap to the reference bound, violations of a run, "
        "and processor time per decision. A policy is replaced by one that must know no more, is "
        "as good in everything, and better than noise in gap or time."
    )
    return f"{table(headings, rows, left=3)}\n\n{caption(said)}"
