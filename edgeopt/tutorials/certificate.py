"""Write a guarded policy of RESCUE, and hand a bound to somebody who checks it alone."""

# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(app_title="A bound that a colleague can check")

with app.setup:
    import json
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    import marimo as mo
    import numpy as np
    import pandas as pd

    import edgeopt
    from edgeopt import collection
    from edgeopt.models.idn import solve_cooperative
    from edgeopt.models.rescue import solve_p1_lp
    from edgeopt.online.rescue import Guard, Placement
    from edgeopt.testing import check_policy


@app.cell(hide_code=True)
def begin():
    mo.md("""
    # A bound that a colleague can check

    "My policy is within so many percent of the optimum" is a claim about two numbers: what the
    policy earns, and what no policy can surpass. Others can simulate the first one again. This
    tutorial makes the second one checkable, too: by somebody who has Python, but neither edgeopt
    nor a solver, and no reason to trust either.

    ## A policy that keeps its promise

    In RESCUE, a run that is accepted can use capacity that a reserved task needs later. `Guard`
    tells which runs are safe whatever happens. This policy takes the best safe run; with the
    attribute `guarded` it promises that no reserved task fails.
    """)
    return


@app.class_definition
class BestSafe:
    name = "best safe run"
    guarded = True

    def start(self, instance):
        return instance, Guard.of(instance)

    def decide(self, state, arrival, rng):
        instance, guard = state
        profit = instance.expected_profit[arrival.slot, arrival.device]  # [server, profile]
        rate = np.where(arrival.idle[:, None], profit / instance.mean_duration, 0.0)
        for place in np.argsort(-rate, axis=None, kind="stable"):
            server, profile = (int(index) for index in np.unravel_index(place, rate.shape))
            if rate[server, profile] <= 0:
                break
            if guard.safe(server, profile, arrival.slot, arrival.remaining):
                return Placement(server, profile), state
        return None, state

    def learn(self, state, arrival, decision, finished):
        return state


@app.cell
def check():
    report = check_policy(BestSafe(), "rescue", raises=False)
    report
    return (report,)


@app.cell(hide_code=True)
def read_check(report):
    _outcome = report["promises"].outcome
    mo.md(f"""
    {len(report.of("passed"))} of {len(report.results)} checks passed and {len(report.failed)}
    failed. The one of promises ({_outcome}) ran the policy on drawn instances and counted reserved
    tasks that failed. Now on the small instances of the collection, beside two policies of edgeopt:
    """)
    return


@app.cell
def bench():
    runs = 50
    competitors = ["__main__:BestSafe", "offers", "rescue+guard"]
    named = collection.names("rescue", size="s")
    found = edgeopt.bench(named, online=competitors, runs=runs, progress=False)
    found.results[["instance", "competitor", "value", "se", "bound", "violated"]].round(3)
    return found, runs


@app.cell(hide_code=True)
def read_bench(found, runs):
    _mine = found.results[found.results["competitor"] == "__main__:BestSafe"]
    mo.md(f"""
    On {len(_mine)} instances, {_mine["violated"].sum():g} reserved tasks of your policy failed.
    Each value is a mean over {runs} scenarios with its standard error `se`. The bounds are computed
    by edgeopt; why believe them?

    ## A certificate

    Take the most general one, the LP bound, which bounds all policies that meet all reserved tasks.
    `certificate` returns its proof, and `save` writes it to a file; `checker=True` puts the program
    that checks it beside.
    """)
    return


@app.cell
def save():
    scratch = tempfile.TemporaryDirectory()
    folder = Path(scratch.name)
    name = "rescue-paper-k2-t30"
    plan = solve_p1_lp(collection.load(name))
    certificate = plan.certificate(name=name)
    certificate.save(folder / "rescue.json", checker=True)

    content = json.loads((folder / "rescue.json").read_text())
    pd.Series({part: str(content[part])[:60] for part in content}, name="begins with").to_frame()
    return content, folder, name, plan, scratch


@app.cell(hide_code=True)
def read_file(content, name, plan):
    _prices = len(content["dual"]["occupancy"])
    mo.md(f"""
    The file holds the data of the program, the plan, {_prices} prices of occupied slots, and the
    claim: no plan for `{name}` earns more than {float(content["claim"]["bound"]):.6f}; edgeopt had
    computed {plan.bound:.6f}. All numbers are decimals that count as exactly what they say.
    Whatever the prices are, they prove a bound by weak duality; the solver may have been wrong.

    ## The colleague

    All that the colleague has is a folder with the two files, and Python. `-I -S` leaves out the
    environment and all installed packages, so that nothing of edgeopt, NumPy or a solver can be
    imported.
    """)
    return


@app.cell
def checker(folder):
    def checked(file):
        """Run the checker alone; return its exit code and what it prints."""
        done = subprocess.run(
            [sys.executable, "-I", "-S", "checker.py", file],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).strip()

    sound = checked("rescue.json")
    pd.DataFrame([sound], columns=["exit code", "printed"], index=["rescue.json"])
    return checked, sound


@app.cell(hide_code=True)
def about_idn():
    mo.md("""
    The same checker proves bounds of other systems, such as the one on placements of models in an
    inference delivery network:
    """)
    return


@app.cell
def idn(checked, folder):
    placement = solve_cooperative(collection.load("idn-paper-v5-r6"))
    placement.certificate(name="idn-paper-v5-r6").save(folder / "idn.json")
    sound_idn = checked("idn.json")
    pd.DataFrame([sound_idn], columns=["exit code", "printed"], index=["idn.json"])
    return (sound_idn,)


@app.cell(hide_code=True)
def about_damage():
    mo.md("""
    ## Damaged

    A check that accepts everything is none. So claim a bound that is one percent better; halve the
    prices, from which the bound follows; cut the file off in the middle.
    """)
    return


@app.cell
def damage(checked, content, folder):
    better = {**content["claim"], "bound": str(0.99 * float(content["claim"]["bound"]))}
    halved = {slot: str(float(price) / 2) for slot, price in content["dual"]["occupancy"].items()}
    texts = {
        "better.json": json.dumps({**content, "claim": better}),
        "halved.json": json.dumps({**content, "dual": {"occupancy": halved}}),
        "cut.json": json.dumps(content)[:1000],
    }
    for file, text in texts.items():
        (folder / file).write_text(text)
    refused = {file: checked(file) for file in texts}
    pd.DataFrame.from_dict(refused, orient="index", columns=["exit code", "printed"])
    return (refused,)


@app.cell(hide_code=True)
def read_damage():
    mo.md("""
    Exit code 0 says proven, 1 refused, 2 unreadable. Halved prices are prices, too, and prove a
    bound; but not the one that is claimed. That is why the prices may come from anywhere: damage
    makes them prove less, never something false.

    ## What is proven, and what is not

    Proven is that no point of the program *in the file* is better. That this program is the one of
    your instance is a second question, for which one needs edgeopt: `edgeopt verify rescue.json
    --instance rescue-paper-k2-t30` builds the program anew and compares. And the value of the
    policy remains an estimate with an interval. Where a bound has no certificate,
    `certificate()` says why.
    """)
    return


@app.cell(hide_code=True)
def last(refused, sound, sound_idn):
    print(f"rescue.json: {sound[0]}, idn.json: {sound_idn[0]} (0 is proven)")
    print(*(f"{file}: {code}" for file, (code, _) in refused.items()), sep=", ")
    return


if __name__ == "__main__":
    app.run()
