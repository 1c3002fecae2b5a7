"""Write a policy of IDN, let a check find that it knows the future, repair it and compare it."""

# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(app_title="Your own policy")

with app.setup:
    import marimo as mo
    import numpy as np

    import edgeopt
    from edgeopt import collection
    from edgeopt.testing import check_policy


@app.cell(hide_code=True)
def begin():
    mo.md("""
    # Your own policy

    In an inference delivery network, IDN, nodes between users and cloud host models, as many as
    their memory can hold. A request that meets a model on its way is answered there, which saves
    time. In each slot a policy decides which node hosts which model; what was asked for is known
    when the slot is over.

    Here is a policy of twenty lines, written as one might. It contains a mistake that is easily
    made, and its results look all the better for it.

    ## First version

    Given the demand of a slot, by type of request, a node takes the models that serve most requests
    accurately for their size, until the demand is served or its memory is full:
    """)
    return


@app.function
def fitted(instance, demand):
    by_task = np.bincount(instance.request_task, demand, instance.task.max() + 1)
    hosted = instance.repository.copy()
    for node in np.flatnonzero(~instance.pinned):
        room, unserved = instance.budget[node], by_task.copy()
        served = np.minimum(by_task[instance.task], instance.capacity[node])
        for model in np.argsort(-served * instance.accuracy / instance.size[node], kind="stable"):
            task, size = instance.task[model], instance.size[node, model]
            if size <= room and unserved[task] > 0:
                hosted[node, model] = True
                room -= size
                unserved[task] -= instance.capacity[node, model]
    return hosted


@app.cell(hide_code=True)
def about_first():
    mo.md("""
    The demand is what a slot of the recorded requests has on average:
    """)
    return


@app.class_definition
class Average:
    name = "average"

    def __init__(self, requests):
        self.demand = requests.mean(axis=0)

    def start(self, instance):
        return instance

    def decide(self, instance, slot, rng):
        return fitted(instance, self.demand), instance

    def learn(self, instance, slot, decision, outcome):
        return instance


@app.cell(hide_code=True)
def about_protocol():
    mo.md("""
    A policy has a name and three methods. `start` gets the instance and returns the first state.
    `decide` gets the state and the slot, and returns a decision and a state. `learn` gets what came
    to light, and returns the next state. This policy learns nothing: its state is the instance.

    `load` takes a named instance of the collection. How good is the policy there, beside OLAG, an
    online policy of the paper?
    """)
    return


@app.cell
def compare():
    network = collection.load("idn-paper-v5-r6")
    first = edgeopt.study(network, [Average(network.requests), "olag"], runs=2, claims=False)
    first.table[["policy", "value", "gap", "violated"]].round(4)
    return first, network


@app.cell(hide_code=True)
def read_first(first):
    gap = first.table.set_index("policy")["gap"]
    mo.md(f"""
    A gap of {gap["average"]:.1%}, where that of OLAG is {gap["olag"]:.1%}: almost no policy can be
    better. A result like that should raise suspicion.

    ## The check

    `check_policy` runs the checks that simulations and comparisons rely on. It is given a function
    that makes the policy for an instance, as the study above was:
    """)
    return (gap,)


@app.cell
def check_first():
    def average(instance, bounds):
        return Average(instance.requests)

    report = check_policy(average, "idn", raises=False)
    report
    return (report,)


@app.cell(hide_code=True)
def read_report(report):
    [_failed] = report.failed
    mo.md(f"""
    Of {len(report.results)} checks one fails, `{_failed}`: *{report[_failed].message}*. The check
    draws pairs of scenarios that agree up to a slot and differ later, and compares the decisions up
    to there. They must be equal, since what differs has not happened yet.

    The mistake: the average is over all slots, those to come among them. In an evaluation on
    recorded data this is a leak; in operation the policy could not even be made. Only because the
    check gets a function, not the finished policy, can it notice: numbers that are in an object
    from the beginning could be anything that you know.

    ## Repaired

    Count what came to light so far. The state is now a pair of the instance and the demand; `learn`
    returns a new one.
    """)
    return


@app.class_definition
class SoFar:
    name = "so far"

    def start(self, instance):
        return instance, np.zeros(instance.types)

    def decide(self, state, slot, rng):
        return fitted(*state), state

    def learn(self, state, slot, decision, outcome):
        instance, demand = state
        return instance, demand + outcome.requests


@app.cell
def check_repaired():
    repaired = check_policy(SoFar(), "idn", raises=False)
    repaired
    return (repaired,)


@app.cell
def compare_repaired(network):
    second = edgeopt.study(network, [SoFar(), "olag"], runs=2, claims=False)
    second.table[["policy", "value", "gap", "violated"]].round(4)
    return (second,)


@app.cell(hide_code=True)
def read_repaired(gap, network, repaired, second):
    _gap = second.table.set_index("policy")["gap"]["so far"]
    mo.md(f"""
    {len(repaired.of("passed"))} checks passed, {len(repaired.of("failed"))} failed; the others do
    not apply. The gap is {_gap:.1%} now, instead of {gap["average"]:.1%}. In the first of
    {network.horizon} slots nothing is known yet, and nothing is hosted beside what has to be: that
    alone costs much.

    ## On named instances

    One instance proves little. The collection has instances in three sizes, each with a proven
    bound; `s` are the small ones. `bench` takes your policy as `module:Class`; within a script the
    module is `__main__`.
    """)
    return


@app.cell
def bench():
    named = collection.names("idn", size="s")
    competitors = ["__main__:SoFar", "olag", "infida+"]
    found = edgeopt.bench(named, online=competitors, runs=4, progress=False)
    found.results.pivot(index="instance", columns="competitor", values="gap").round(4)
    return (found,)


@app.cell
def rank(found):
    ranking = found.ranking("idn")
    ranking.round(3)
    return (ranking,)


@app.cell(hide_code=True)
def read_ranking(found, ranking):
    _mine = ranking.loc["__main__:SoFar"]
    mo.md(f"""
    The mean gap of your policy over {found.results["instance"].nunique()} instances is
    {_mine["mean"]:.1%}, with an interval from {_mine["low"]:.1%} to {_mine["high"]:.1%} over draws
    of such instances. `{ranking.index[0]}` has the smallest mean gap. So few instances tell
    policies apart only roughly; `size="m"` has larger ones, which take more time.

    ## Go on

    On the command line, `edgeopt bench --online my.module:SoFar,olag --instances s --out board`
    writes the same as a page; finished jobs are kept. `parametrize_with_checks` of
    `edgeopt.testing` makes each check a case of pytest. Tutorial 4 hands a bound to somebody who
    does not trust you.
    """)
    return


@app.cell(hide_code=True)
def last(gap, ranking, report, repaired):
    print(f"failed at first: {', '.join(report.failed)}; gap {gap['average']:.1%}")
    print(f"failed after the repair: {', '.join(repaired.failed) or 'nothing'}")
    print(f"best mean gap on the named instances: {ranking.index[0]}")
    return


if __name__ == "__main__":
    app.run()
