"""Write your tables over a template, and get a schedule with its gap, or a refusal by name."""

# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(app_title="Your tables to a schedule")

with app.setup:
    import tempfile
    from pathlib import Path

    import marimo as mo
    import pandas as pd

    import edgeopt
    from edgeopt.errors import InstanceError
    from edgeopt.instances.tapfinger import TapFingerInstance, generate
    from edgeopt.models.tapfinger import optimal_schedule, scheduling_problem
    from edgeopt.studies.pages.instance import view_of


@app.cell(hide_code=True)
def begin():
    mo.md("""
    # Your tables to a schedule

    Two machines retrain models overnight. You know the tasks, and you have measured how many
    minutes each kind of task takes with some CPU cores, with and without a GPU. When should each
    task run, where, and with what? This is the problem of TapFinger. Here you go from tables to a
    plan whose distance to the best one is known.

    ## A template

    Tables are easiest to write over a template. On the command line, `edgeopt template tapfinger
    --out mine` writes one; in Python any instance writes its tables. Labels are yours to choose.
    """)
    return


@app.cell
def template():
    scratch = tempfile.TemporaryDirectory()
    folder = Path(scratch.name, "mine")
    small = generate(rng=1, clusters=2, tasks=3, noise=0.0)
    small.with_labels({"cluster": ["lab", "attic"], "task": ["a", "b", "c"]}).to_folder(folder)
    pd.read_csv(folder / "capacity.csv")
    return folder, scratch


@app.cell(hide_code=True)
def read_template(folder):
    _files = ", ".join(f"`{path.name}`" for path in sorted(folder.glob("*.csv")))
    mo.md(f"""
    Every file holds one field, an entry per line: labels of its axes, then the value. Here are
    {_files}; `README.txt` beside them says what each one means and which rules it has to keep.

    ## Your numbers

    The measurements are minutes, by kind of task, CPU cores and GPUs:
    """)
    return


@app.cell
def measured():
    minutes = pd.DataFrame(
        {
            ("vision", 0): [120, 64, 46, 36],
            ("vision", 1): [30, 24, 22, 21],
            ("language", 0): [200, 104, 72, 56],
            ("language", 1): [90, 60, 50, 45],
        },
        index=pd.Index([1, 2, 3, 4], name="cpu"),
    ).rename_axis(columns=["kind", "gpu"])
    minutes
    return (minutes,)


@app.cell(hide_code=True)
def about_speed():
    mo.md("""
    The file of a field needs these numbers in long form, one per line. pandas writes it that way
    where rows and columns have names. An instance wants the progress that a task makes in a slot,
    the inverse of its duration in slots; a slot is five minutes here. Zero cores are below what a
    task needs at least, and entries there mean nothing. The lines are shuffled to show that their
    order does not matter.
    """)
    return


@app.cell
def write_speed(folder, minutes):
    slot = 5  # minutes
    speed = (slot / minutes).reindex(range(5), fill_value=0.0)
    speed = speed.stack(["kind", "gpu"], future_stack=True).rename("value")
    speed.sample(frac=1, random_state=1).to_csv(folder / "speed.csv")
    pd.read_csv(folder / "speed.csv").head(3)
    return (slot,)


@app.cell(hide_code=True)
def about_tasks():
    mo.md("""
    The tasks, with the slot of their arrival, their kind and their weight; what the machines
    have; what a kind of task needs at least; and which task may run where, here all of them
    anywhere. `settings.csv` says how long a slot is and where the numbers come from. Fields of the
    template that are not needed go.
    """)
    return


@app.cell
def write_rest(folder, slot):
    tasks = pd.DataFrame(
        {
            "arrival": [0, 0, 2, 3, 6],
            "kind": ["vision", "vision", "vision", "language", "language"],
            "weight": [1, 1, 1, 1, 3],
        },
        index=pd.Index(["doors", "cars", "birds", "notes", "mail"], name="task"),
    )
    for name in tasks:
        tasks[name].rename("value").to_csv(folder / f"{name}.csv")

    machines = pd.DataFrame({"cpu": [4, 2], "gpu": [1, 0]}, pd.Index(["lab", "attic"]))
    least = pd.DataFrame({"cpu": [1, 1], "gpu": [0, 0]}, pd.Index(["vision", "language"]))
    anywhere = pd.DataFrame(1, tasks.index, ["lab", "attic"])
    for name, table, axes in (
        ("capacity", machines, ["cluster", "resource"]),
        ("minimum", least, ["kind", "resource"]),
        ("eligible", anywhere, ["task", "cluster"]),
    ):
        table.stack().rename_axis(axes).rename("value").to_csv(folder / f"{name}.csv")

    settings = pd.read_csv(folder / "settings.csv", index_col="name")
    settings.loc[["slot_seconds", "origin"], "value"] = [str(60 * slot), "Measured in our lab."]
    settings.to_csv(folder / "settings.csv")
    for other in ("kinds", "slowing"):
        (folder / f"{other}.csv").unlink()
    tasks
    return (tasks,)


@app.cell(hide_code=True)
def about_loading():
    mo.md("""
    ## The instance

    `from_folder` reads the tables and checks them. Entries go where their labels say.
    """)
    return


@app.cell
def load(folder, tasks):
    instance = TapFingerInstance.from_folder(folder)
    dict(instance.labels)
    return (instance,)


@app.cell(hide_code=True)
def read_instance(instance, minutes, slot):
    _kind, _cores = "language", 4
    _place = instance.labels["kind"].index(_kind)
    mo.md(f"""
    With {_cores} cores and no GPU, a task of the kind `{_kind}` takes
    {instance.duration[0, _place, _cores, 0]} slots of {slot} minutes:
    {minutes.loc[_cores, (_kind, 0)]} minutes were measured, and only whole slots count.

    ## The plan

    If all tasks are known beforehand, the plan with the least weighted sum of flow times can be
    computed. The flow time of a task is the time from its arrival to its completion.
    """)
    return


@app.cell
def plan(instance):
    problem = scheduling_problem(instance)
    best = optimal_schedule(problem)
    schedule = best.schedule
    planned = pd.DataFrame(
        {
            "cluster": [instance.labels["cluster"][place] for place in schedule.cluster],
            "cores": schedule.bundle[:, 0],
            "GPUs": schedule.bundle[:, 1],
            "arrival": instance.arrival,
            "start": schedule.start,
            "completion": schedule.completion(problem),
        },
        index=pd.Index(instance.labels["task"], name="task"),
    )
    planned
    return best, planned


@app.cell(hide_code=True)
def read_plan(best):
    mo.md(f"""
    The sum is {best.objective:g} slots, and the solver proved that no plan has less than
    {best.bound:g}: a gap of {best.gap:.1%}. The search is over plans that give a task one bundle
    and never change it.

    ## Policies that do not know what comes

    At night nobody knows which task arrives next. How much does that cost? A study simulates
    policies and compares each with a bound that is valid for it. `reservation` plans ahead with
    the tasks that it knows and reserves what ends first; `min` gives every task the least that it
    needs, on a machine with room.
    """)
    return


@app.cell
def study_policies(instance):
    study = edgeopt.study(instance, ["reservation", "min"], runs=2, claims=False)
    study.table[["policy", "value", "bound_value", "gap"]].round(3)
    return (study,)


@app.cell
def picture(study):
    shown = view_of(study.cases[0])
    shown
    return (shown,)


@app.cell(hide_code=True)
def about_refusals():
    mo.md("""
    ## What is refused

    A table that does not fit is never read by position, nor guessed. The error names the file or
    the field, the entry, what was found and what to do. Each of these changes was made to a copy of
    the folder:
    """)
    return


@app.cell
def refuse(folder, instance):
    def refusal(file, old, new):
        path = folder / file
        kept = path.read_text()
        path.write_text(kept.replace(old, new))
        try:
            TapFingerInstance.from_folder(folder)
        except InstanceError as error:
            return str(error).replace(f"{folder}/", "")
        finally:
            path.write_text(kept)

    changes = {
        "a label with a typing error": ("kind.csv", "mail,language", "mail,langauge"),
        "a task without a weight": ("weight.csv", "mail,3\n", ""),
        "half a core": ("capacity.csv", "attic,cpu,2", "attic,cpu,2.5"),
        "an axis of another name": ("capacity.csv", "cluster,", "machine,"),
        "a unit of another kind": ("arrival.csv", "task,value", "task,value [GB]"),
    }
    refused = pd.Series({what: refusal(*how) for what, how in changes.items()}, name="refusal")
    refused.rename_axis("change").to_frame()
    return (refused,)


@app.cell(hide_code=True)
def go_on():
    mo.md("""
    ## Go on

    Any command reads such a folder: `edgeopt study tapfinger --instance mine --out report` writes
    a page. Tables may also come as `pandas` or `xarray` objects in memory, or as a graph. Tutorial
    3 adds a policy of your own.
    """)
    return


@app.cell(hide_code=True)
def last(best, refused, study):
    gaps = study.table.set_index("policy")["gap"]
    print(f"plan {best.objective:g} slots, bound {best.bound:g}; {gaps.idxmin()}: {gaps.min():.1%}")
    print(f"{refused.notna().sum()} of {len(refused)} changes refused")
    return (gaps,)


if __name__ == "__main__":
    app.run()
