"""Compare policies of RESCUE, and read a gap, an interval and a violated constraint."""

# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(app_title="First certified comparison")

with app.setup:
    import marimo as mo

    import edgeopt
    from edgeopt.instances.rescue import generate
    from edgeopt.models.rescue import solve_p1_lp
    from edgeopt.studies.pages.instance import view_of


@app.cell(hide_code=True)
def begin():
    mo.md("""
    # First certified comparison

    In RESCUE, edge servers keep capacity for reserved tasks, each of which must be done within a
    window of time. Retraining of models runs on what is left over. Devices ask for it at random;
    nobody knows beforehand how long a run takes; one that ends earns a profit. Which requests
    should be accepted, and on which server?

    This tutorial compares policies for that question and shows how to read what comes out: a proven
    bound, a gap, an interval, and a violated constraint.

    ## An instance and its optimum

    An instance holds all data: capacities, reserved tasks, probabilities of arrivals and durations,
    profits. It is checked when it is made and never changes. `rng` is the seed of what is drawn.
    """)
    return


@app.cell
def instance_and_plan():
    instance = generate(servers=4, devices=14, horizon=100, rng=7)
    plan = solve_p1_lp(instance)
    plan.objective, plan.bound
    return instance, plan


@app.cell(hide_code=True)
def read_plan(plan):
    mo.md(f"""
    `solve_p1_lp` solves the linear program P1-LP of the paper. Its optimum, the LP bound, is
    **{plan.objective:.3f}**: an upper bound on the expected profit of every policy that meets all
    reserved tasks. You need not trust the solver for that. The bound is computed from prices of
    occupied slots, and it is valid whatever these prices are. Plan and bound differ by a share of
    {plan.gap:.0e}, the *relative gap* of the solution: up to rounding, the plan is optimal.

    ## Policies on the same scenarios

    A study simulates policies on the same random arrivals and durations. `rescue` is the policy of
    the paper. `rescue+guard` is the same policy with a guard, which declines each run that could
    make a reserved task fail; `random+guard` is a guarded choice at random; and `offers` is the
    policy that edgeopt recommends.
    """)
    return


@app.cell
def compare(instance):
    study = edgeopt.study(
        instance, ["offers", "rescue+guard", "random+guard", "rescue"], runs=200, claims=False
    )
    study.table[["policy", "value", "value_se", "bound_value", "gap", "violated"]].round(3)
    return (study,)


@app.cell(hide_code=True)
def read_rows(plan, study):
    row = study.table.set_index("policy")
    best = row["gap"].drop("rescue").idxmin()
    first, printed = row.loc[best], row.loc["rescue"]
    mo.md(f"""
    How to read the row of `{best}`:

    - **value** is its profit per run, {first["value"]:.3f} on average over
      {study.settings.runs} scenarios. Other scenarios would give another mean; `value_se`, the
      standard error, says how far apart such means typically are: {first["value_se"]:.3f}.
    - **bound_value** is a proven bound, {first["bound_value"]:.3f}: in expectation, no policy earns
      more that never lets a reserved task fail and does not know the future. It is smaller than
      the LP bound, {plan.bound:.3f}, which bounds more policies. A study takes the tightest bound
      that is valid for a policy.
    - **gap** is what the value lacks to the bound, as a share of the bound: {first["gap"]:.1%}.
      0 is best, for costs too, where bounds lie below. No policy of this kind can do better by more
      than that. The true optimum may lie anywhere between value and bound.
    - **violated** is the number of reserved tasks per run that were not done in their window:
      {first["violated"]:g}, since the policy is guarded.

    Now the row of `rescue`. It lets {printed["violated"]:.2f} reserved tasks per run fail, and uses
    their capacity. So the bound above does not apply to it, and the study compares it with a larger
    one, {printed["bound_value"]:.3f}, which holds whether or not reserved tasks are met. Values of
    policies that violate a constraint are not comparable with those that keep it; so no study calls
    such a policy the best.

    ## The interval of a gap

    A mean over scenarios is an estimate, and with it the gap. The bound is not: it is proven for
    the expectation.
    """)
    return best, first, printed


@app.cell
def intervals(study):
    study.table[["policy", "gap_low", "gap", "gap_high", "value_exact"]].round(3)
    return


@app.cell(hide_code=True)
def read_intervals(best, first, printed, study):
    _half = (first["gap_high"] - first["gap_low"]) / 2
    _runs = study.settings.runs
    mo.md(f"""
    The gap of `{best}` lies between {first["gap_low"]:.1%} and {first["gap_high"]:.1%}, at
    {study.settings.confidence:.0%} confidence. That is {_half:.1%} to each side; {4 * _runs}
    scenarios instead of {_runs} would halve it. By chance a mean may exceed the expectation that is
    bounded; the interval ends at the bound all the same, which is proven. If no chance explains
    it, a study warns, since then policy or bound is wrong. The interval is over scenarios on this
    one instance, and says nothing about other instances. `rescue` needs no interval: its
    expected profit can be computed exactly, {printed["value_exact"]:.3f}, and its gap is that of
    the exact value.

    Do not compare two policies by their intervals. They met the same scenarios, and the difference
    in each scenario tells more. The first sentence of a study says which policy is best only if a
    test of their mean, corrected for all pairs of the table, says so:
    """)
    return


@app.cell
def picture(study):
    shown = view_of(study.cases[0])
    shown
    return (shown,)


@app.cell(hide_code=True)
def go_on():
    mo.md("""
    ## Go on

    `study.page("report")` writes text, tables and pictures to one page, and
    `edgeopt explore rescue` shows the same with sliders. Tutorial 2 starts from tables of your own,
    tutorial 3 from a policy of your own.
    """)
    return


@app.cell(hide_code=True)
def last(best, first, plan):
    print(f"{best}: value {first['value']:.3f}, gap {first['gap']:.1%}; LP bound {plan.bound:.3f}")
    return


if __name__ == "__main__":
    app.run()
