"""Put a printed claim of EDR to the test, and a claim of your own: check, search, make smaller."""

# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(app_title="A printed claim put to the test")

with app.setup:
    from functools import partial

    import marimo as mo
    import numpy as np
    import pandas as pd

    import edgeopt
    from edgeopt.bounds import claims
    from edgeopt.bounds.claim import Claim, Measurement
    from edgeopt.bounds.search import Parameter, ParameterSpace, search, smallest, spaces
    from edgeopt.bounds.verdict import Relation, Source
    from edgeopt.instances import rescue
    from edgeopt.instances.edr import small as small_edr
    from edgeopt.models.rescue import solve_p1_lp
    from edgeopt.online.rescue import PickConfigs, policy_value


@app.cell(hide_code=True)
def begin():
    mo.md("""
    # A printed claim put to the test

    Papers claim: a bound holds, a constraint is kept, a ratio is never worse than one half. In
    edgeopt such a statement is an object. It can be checked on any instance, and searched for a
    counterexample. Those of five papers come with the package `edgeopt-papers`.

    ## Two statements

    In EDR the grid caps the energy of all sites in every frame, and an algorithm decides in steps
    how much to train. Here is a statement as it follows from the printed algorithm, and the
    corrected one:
    """)
    return


@app.cell
def both():
    printed = claims("edr.cap.published")["edr.cap.published"]
    corrected = claims("edr.cap")["edr.cap"]
    return corrected, printed


@app.cell(hide_code=True)
def read_both(corrected, printed):
    mo.md(f"""
    - `{printed.id}` ({printed.source.number}): {printed.statement}
    - `{corrected.id}` ({corrected.source.number}): {corrected.statement}

    $x^t$ are the rounds of training of frame $t$, $e^t$ the energy of a round, $R^t$ the cap.

    ## Check

    Drawn instances are the obvious test. A verdict compares the measured number, here the energy of
    a frame, with the guaranteed one, its cap.
    """)
    return


@app.cell
def check_drawn(printed):
    drawn = {f"seed {seed}": edgeopt.check([printed], small_edr(seed))[0] for seed in range(6)}
    pd.DataFrame(
        [(str(v.verdict), v.measured, v.guaranteed) for v in drawn.values()],
        columns=["verdict", "measured", "guaranteed"],
        index=list(drawn),
    ).round(4)
    return (drawn,)


@app.cell(hide_code=True)
def read_drawn(drawn):
    _holds = sum(str(verdict.verdict) == "holds" for verdict in drawn.values())
    mo.md(f"""
    The printed claim holds on {_holds} of {len(drawn)} drawn instances. That proves nothing: what
    violates a claim may be rare where instances are drawn like this. (`vacuous` says that there is
    nothing to train.)

    ## Search

    `search` looks through families of small instances for the one that leaves the claim the least
    room.
    """)
    return


@app.cell
def hunt(printed):
    found = search(printed, rng=0)
    found.verdict
    return (found,)


@app.cell(hide_code=True)
def read_found(found):
    _caps = ", ".join(f"{cap:g}" for cap in found.instance.cap)
    mo.md(f"""
    After {found.evaluations} instances: the claim is **{found.verdict.verdict}**. The frames have
    the caps {_caps}. In one of them the algorithm uses {found.verdict.measured:.3g} of energy,
    where {found.verdict.guaranteed:g} may be used: it planned with the cap of the frame before.

    ## Smallest

    A counterexample convinces if nothing in it is beside the point. `search` ends with instances
    that no single change makes smaller. You can ask for that with an instance of your own: say that
    you have met the violation on this evening, which has many numbers.
    """)
    return


@app.cell
def evening():
    space = spaces("edr")["few_frames"]
    large = {parameter.name: 1.0 for parameter in space.parameters} | {
        "frames": 3, "slots": 2, "rounds": 9, "arrival": 0, "deadline": 2,
        "cap_0": 4.2, "cap_1": 2.8, "cap_2": 0.1,
        "price_0": 2.5, "price_1": 1.1, "price_2": 0.7,
        "work_0": 0.5, "work_1": 0.7, "energy_0": 1.1, "energy_1": 1.3,
        "capacity_0": 8.5, "capacity_1": 6.2, "travel": 0.1,
        "requests_0": 0.3, "requests_1": 0.1, "requests_2": 0.1, "requests_3": 0.2,
    }  # fmt: skip
    small = smallest("edr.cap.published", large, space)
    points = pd.DataFrame({"this evening": large, "smallest": small.parameters})
    points[points["this evening"] != points["smallest"]]
    return points, small, space


@app.cell(hide_code=True)
def read_small(points, small, space):
    _before, _after = (points[column].nunique() for column in points)
    mo.md(f"""
    Each move drops something or makes a number simpler; a move is taken if the claim is still
    violated; the last pass over all moves shows that none is left. Of {len(space.parameters)}
    numbers {int((points["this evening"] != points["smallest"]).sum())} have changed, and these have
    {_after} different values instead of {_before}. What is left is the reason. The caps are
    {", ".join(f"{cap:g}" for cap in small.instance.cap)} (`inf` is none): the last one falls while
    a round is still to be trained.

    ## The corrected claim

    If a step keeps the cap of the frame that it is for, which is announced before, the statement
    holds, on this instance too:
    """)
    return


@app.cell
def check_corrected(corrected, found, printed, small):
    on = {"found": found.instance, "smallest": small.instance}
    verdicts = {
        (name, claim.id): edgeopt.check([claim], instance)[0]
        for name, instance in on.items()
        for claim in (printed, corrected)
    }
    pd.DataFrame(
        {
            key: {"verdict": str(v.verdict), "energy": v.measured, "cap": v.guaranteed}
            for key, v in verdicts.items()
        }
    ).T.rename_axis(["instance", "claim"])
    return (verdicts,)


@app.cell(hide_code=True)
def about_own():
    mo.md("""
    Both stay in edgeopt, side by side. The page of every system lists what its paper claims, what
    fails, and what holds instead.

    ## A claim of your own

    A claim has a function that measures a number and says what is guaranteed. Does PickConfigs, a
    greedy policy for RESCUE, always earn a third of the offline optimum? The value of the policy is
    exact here, not simulated. The family of instances has one server and two tasks: one that earns
    1 and perhaps one that earns more in the next slot.
    """)
    return


@app.function
def earned(instance):
    value, optimum = policy_value(instance, PickConfigs()), solve_p1_lp(instance).bound
    return Measurement(value, optimum / 3)


@app.function
def two_tasks(point):
    profit = np.zeros((2, 2, 1, 1, 1))  # [slot, device, server, profile, duration]
    profit[:, :, 0, 0, 0] = np.diag([1.0, point["profit"]])
    return rescue.RescueInstance(
        arrival=np.diag([1.0, point["chance"]]),
        duration=np.eye(2)[[point["slots"] - 1]],
        capacity=np.ones((1, 2)),
        reserved=rescue.ReservedTasks.none(),
        profit=profit,
    )


@app.cell
def own():
    third = Claim(
        id="mine.third",
        statement="PickConfigs earns a third of the offline optimum.",
        source=Source("this tutorial", "a claim of your own"),
        measure=earned,
        relation=Relation.AT_LEAST,
        instance_type=rescue.RescueInstance,
        test_instances={f"drawn {n}": partial(rescue.small, n, reserved=False) for n in range(9)},
    )
    [on_drawn] = edgeopt.check([third])
    family = ParameterSpace(
        "two_tasks",
        (
            Parameter("profit", 0.0, 100.0),
            Parameter("chance", 0.0, 1.0, simple=1.0),
            Parameter("slots", 1, 2, whole=True),
        ),
        two_tasks,
    )
    refuted = search(third, family, budget=60, rng=7)
    refuted.verdict
    return on_drawn, refuted


@app.cell(hide_code=True)
def read_own(on_drawn, refuted):
    _point = refuted.parameters
    mo.md(f"""
    On {on_drawn.instance}, the tightest of the instances that the claim names, PickConfigs earns
    {on_drawn.measured:.3f} where {on_drawn.guaranteed:.3f} are claimed: it {on_drawn.verdict}. The
    search finds an instance on which it is **{refuted.verdict.verdict}**. The second task earns
    {_point["profit"]:g} and comes with probability {_point["chance"]:g}; a run takes
    {_point["slots"]} slots. PickConfigs takes the first task and misses the second: it earns
    {refuted.verdict.measured:g}, and {refuted.verdict.guaranteed:.3f} are claimed. The larger the
    profit, the smaller its share: no constant will do.

    ## Go on

    `edgeopt check rescue --published` lists the printed claims of a system that fail, and
    `edgeopt search CLAIM` searches one. A package can declare claims and families of its own, which
    both commands then find.
    """)
    return


@app.cell(hide_code=True)
def last(corrected, printed, refuted, verdicts):
    for _claim in (printed, corrected):
        print(f"{_claim.id}: {verdicts['smallest', _claim.id].verdict}")
    print(f"mine.third: {refuted.verdict.verdict} on {refuted.name}")
    return


if __name__ == "__main__":
    app.run()
