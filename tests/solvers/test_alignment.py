"""Data with labels go where their labels say, whatever their order; results come back by label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError, ProblemTypeError
from edgeopt.solvers import LinearProgram, Reusable, explain, solve
from tests.draws import draws

SITES, USERS = ["north", "south", "west"], ["a", "b", "c", "d"]
COST = pd.DataFrame([[4, 2, 6, 3], [5, 3, 1, 7], [2, 8, 4, 5]], SITES, USERS)
ROOM = pd.Series([9, 8, 7], SITES)
NEED = pd.Series([3, 2, 5, 4], USERS)
LOSS = pd.DataFrame(np.arange(1.0, 13.0).reshape(3, 4) / 8, SITES, USERS)


def shipped(
    cost: Any = COST, room: Any = ROOM, need: Any = NEED, loss: Any = LOSS, **dims: Any
) -> LinearProgram:
    """What sites ship to users, some of it lost on the way."""
    build = LinearProgram.build()
    build.columns("flow", {"site": SITES, "user": USERS} | dims, cost=cost)
    build.rows("room", ["site"], {"flow": 1}, upper=room)
    build.rows("need", ["user"], {"flow": loss}, lower=need)
    return build.program()


def forms(table: Any, names: list[str], order: list[int], form: str) -> Any:
    """Return a table in another order and form."""
    moved = table.iloc[order]
    if table.ndim == 2 and form == "columns":
        moved = moved.T
        names = names[::-1]
    moved = moved.rename_axis(index=names[0])
    if table.ndim == 2:
        moved = moved.rename_axis(columns=names[1]).iloc[:, ::-1]
    if form == "xarray":
        return xr.DataArray(moved)
    if form == "list":
        return moved.stack().iloc[::-1] if table.ndim == 2 else moved
    if form == "mapping":
        flat = moved.stack() if table.ndim == 2 else moved
        return dict(zip(flat.index, flat, strict=True))
    return moved


@settings(max_examples=draws(200))
@given(
    rows=st.permutations(range(3)),
    across=st.permutations(range(4)),
    form=st.sampled_from(["rows", "columns", "xarray", "list", "mapping"]),
)
def test_the_order_of_labels_changes_no_number(
    rows: list[int], across: list[int], form: str
) -> None:
    cost = forms(COST.iloc[:, across], ["site", "user"], rows, form)
    loss = forms(LOSS.iloc[:, across], ["site", "user"], rows, form)
    room = forms(ROOM, ["site"], rows, form)
    need = forms(NEED, ["user"], across, form)
    one, other = shipped(), shipped(cost, room, need, loss)
    for field in ("cost", "row_lower", "row_upper"):
        assert getattr(one, field).tolist() == getattr(other, field).tolist()
    assert one.matrix.toarray().tolist() == other.matrix.toarray().tolist()
    replaced = one.replace(cost={"flow": cost}, row_lower={"need": need})
    assert replaced.cost.tolist() == one.cost.tolist()
    assert replaced.row_lower.tolist() == one.row_lower.tolist()


@settings(max_examples=draws(100))
@given(sites=st.permutations(SITES), users=st.permutations(USERS))
def test_the_order_of_entries_changes_no_result(sites: list[str], users: list[str]) -> None:
    one, other = solve(shipped()), solve(shipped(site=sites, user=users))
    assert other.objective == pytest.approx(one.objective)
    for name, part in (("flow", "values"), ("room", "duals"), ("need", "duals")):
        expected = one.to_series(name, part)
        assert other.to_series(name, part)[expected.index].tolist() == pytest.approx(
            expected.tolist()
        )
    table = other.to_frame(name="flow")
    assert list(table.index) == sites
    assert list(table.columns) == users
    assert table.loc[SITES, USERS].to_numpy() == pytest.approx(one.block("flow"))
    array = other.to_xarray("flow").sel(site=SITES, user=USERS)
    assert array.to_numpy() == pytest.approx(one.block("flow"))


@settings(max_examples=draws(60))
@given(part=st.lists(st.sampled_from(SITES), min_size=1, unique=True), users=st.permutations(USERS))
def test_blocks_of_some_entries_agree_by_label(part: list[str], users: list[str]) -> None:
    build = LinearProgram.build()
    build.columns("flow", {"site": SITES, "user": USERS})
    least = np.arange(len(part) * 4.0).reshape(len(part), 4)
    build.rows("least", {"site": part, "user": users}, {"flow": 1}, lower=least)
    program = build.program()
    for i, site in enumerate(part):
        for j, user in enumerate(users):
            row = program.row(f"least[site={site}, user={user}]")
            column = program.column(f"flow[site={site}, user={user}]")
            assert program.row_lower[row] == least[i, j]
            assert program.matrix[[row]].toarray()[0].nonzero()[0].tolist() == [column]
    assert solve(program).dual_block("least").shape == least.shape


def test_pairs_and_numbers_are_labels_too() -> None:
    pairs = pd.MultiIndex.from_tuples(
        [("b", "north"), ("a", "south"), ("c", "north")], names=["user", "site"]
    )
    build = LinearProgram.build("max")
    build.columns("room", {"site": SITES}, upper=ROOM)
    cost = pd.Series([1, 2, 3], pairs)
    build.columns("flow", pairs, cost=cost.iloc[[2, 0, 1]], upper=9)
    build.columns("slot", {"slot": 3}, cost=pd.Series({2: 30, 0: 10, 1: 20}))
    nutrients = pd.DataFrame({"room": [1.0, 2.0]}, ["iron", "salt"])
    content = pd.DataFrame(
        [[1, 2, 3], [4, 5, 6]], pd.Index(["iron", "salt"]), ["west", "north", "south"]
    )
    build.rows("need", {"nutrient": list(nutrients.index)}, {"room": content}, upper=99)
    build.rows("within", ["site"], {"flow": 1, "room": -1}, upper=0)
    program = build.program()
    assert program.cost.tolist() == [0, 0, 0, 1, 2, 3, 10, 20, 30]
    assert program.matrix[[0]].toarray()[0, :3].tolist() == [2, 3, 1]
    assert program.column_label(3) == "flow[user=b, site=north]"
    solution = solve(program.replace(upper={"slot": 1}))
    flow = solution.to_series("flow")
    assert flow.index.names == ["user", "site"]
    assert flow["a", "south"] == solution.value("flow[user=a, site=south]") > 0
    assert np.isnan(solution.to_xarray("flow").sel(user="a", site="north"))
    assert solution.to_series("slot", at={"slot": slice(1, 2)}).to_dict() == {1: 1.0, 2: 1.0}


def test_a_program_of_arrays_takes_tables_by_label() -> None:
    names = {"row_names": ["first", "second"], "column_names": ["x", "y"]}
    matrix = pd.DataFrame([[4, 3], [2, 1]], ["second", "first"], ["y", "x"])
    program = LinearProgram(
        pd.Series({"y": 2, "x": 1}), matrix, pd.Series({1: 5, 0: 6}), np.inf, **names
    )
    assert program.cost.tolist() == [1, 2]
    assert program.matrix.toarray().tolist() == [[1, 2], [3, 4]]
    assert program.row_lower.tolist() == [6, 5]
    with pytest.raises(InputError, match="cost: there is no column 'z'"):
        LinearProgram(pd.Series({"y": 2, "z": 1}), matrix, 0, 1, **names)
    with pytest.raises(InputError, match="upper: has nothing for column 0"):
        LinearProgram([1, 2], matrix, 0, 1, upper=pd.Series({1: 5}), **names)


def test_parts_of_a_block_are_chosen_by_label() -> None:
    solution = solve(shipped())
    flow = pd.DataFrame(solution.block("flow"), SITES, USERS)
    at = {"site": "south", "user": slice("b", "d")}
    assert solution.to_series("flow", at=at).to_dict() == flow.loc["south", "b":"d"].to_dict()
    chosen = solution.to_frame(name="flow", at={"user": ["d", "a"], "site": slice(None, "south")})
    assert chosen.to_numpy().tolist() == flow.loc[:"south", ["d", "a"]].to_numpy().tolist()
    assert list(chosen.columns) == ["d", "a"]
    array = solution.to_xarray("flow", at=at)
    assert array.dims == ("user",)
    assert array.to_numpy().tolist() == flow.loc["south", "b":"d"].tolist()
    assert solution.to_xarray("flow", at={"user": ["d", "a"]}).user.to_numpy().tolist() == [
        "d",
        "a",
    ]
    one = solution.to_series("flow", at={"site": "west", "user": "a"})
    assert one.tolist() == [solution.value("flow[site=west, user=a]")]


@pytest.mark.parametrize(
    ("cost", "rule"),
    [
        (COST.rename(index={"north": "nroth"}), r"no site 'nroth'; did you mean north"),
        (COST.drop(index="south"), r"cost of 'x': has nothing for site 'south'"),
        (COST.drop(columns=["a", "b"]), r"has nothing for user 'a' \(and 1 more\)"),
        (pd.concat([COST, COST.iloc[:1]]), "has site 'north' twice"),
        (COST.replace(8, np.nan), "cost of 'x' = nan: is no number at site 'west', user 'b'"),
        (COST.astype(str).replace("8", "much"), "must hold numbers"),
        (COST.rename_axis(index="place"), "axis 'place': is none of the indices"),
        (COST.reset_index(drop=True), "no site 0"),
        (COST.stack().iloc[1:], "has nothing for site 'north', user 'a'"),
        (pd.concat([COST.stack(), COST.stack().iloc[:1]]), "has site 'north', user 'a' twice"),
        (pd.Series([1, 2]), "axis 0: name it"),
        (xr.DataArray(COST, dims=["site", "user"]).to_dataset(name="c"), "take one of its arrays"),
        (xr.DataArray(np.ones(3), dims="site"), "axis 'site': has no coordinates"),
        (xr.DataArray(COST, dims=["site", "user"]).stack(pair=["site", "user"]), "unstack"),
        ({("north", "a"): 1, "south": 2}, "its keys must all have a label for each index"),
    ],
)
def test_labels_that_do_not_fit_are_refused_by_name(cost: Any, rule: str) -> None:
    build = LinearProgram.build()
    build.columns("flow", {"site": SITES, "user": USERS})
    with pytest.raises(InputError, match=rule):
        build.columns("x", ["site", "user"], cost=cost)
    assert build.program().shape == (0, 12)


@pytest.mark.parametrize(
    ("dims", "rule"),
    [
        ({"site": ["north", "east"]}, "there is no site 'east'"),
        ({"site": ["north", "north"]}, "has site 'north' twice"),
        ({"site": 2}, "the entries of 'site' have names"),
        ({"site": [0, 1]}, "the entries of 'site' have names"),
        ({"hour": ["noon"]}, "an earlier block counts 'hour'"),
        (["place"], "no earlier block names the entries of 'place'"),
        ({"site": ["north"], "tail": [0]}, "stand beside names"),
        (pd.MultiIndex.from_tuples([("north", 0)]), "needs a name for each level"),
        (pd.MultiIndex.from_tuples([("north", "x")], names=["site", "hour"]), "counted, not named"),
    ],
)
def test_names_of_entries_are_those_of_the_first_block(dims: Any, rule: str) -> None:
    build = LinearProgram.build()
    build.columns("flow", {"site": SITES, "hour": 2})
    with pytest.raises(InputError, match=rule):
        build.columns("x", dims)


@pytest.mark.parametrize(
    ("at", "rule"),
    [
        ({"place": "north"}, "is none of the indices"),
        ({"site": "nort"}, "no site 'nort'; did you mean north"),
        ({"site": slice("north", "west", 2)}, "has no step"),
        ({"site": slice("north", "wets")}, "no site 'wets'; did you mean west"),
    ],
)
def test_unknown_labels_of_results_are_refused(at: Any, rule: str) -> None:
    solution = solve(shipped())
    for read in (solution.to_series, solution.to_xarray):
        with pytest.raises(InputError, match=rule):
            read("flow", at=at)
    with pytest.raises(InputError, match="needs the name of a block"):
        solution.to_frame(at=at)


def test_labels_are_said_and_found_by_name(tmp_path) -> None:
    program = shipped()
    assert program.column_label(5) == "flow[site=south, user=b]"
    assert program.column("flow[user=b, site=south]") == program.column("flow[site=1, user=1]") == 5
    with pytest.raises(InputError, match=r"there is no site 'soth'; did you mean south"):
        program.column("flow[site=soth, user=b]")
    with pytest.raises(InputError, match=r"only flow\[site=north\.\.west, user=a\.\.d\]"):
        program.column("flow[site=south]")
    again = LinearProgram.read(program.write(tmp_path / "shipped.mps"))
    assert list(again.column_names) == list(program.column_names)
    assert solve(again).to_series("flow").equals(solve(program).to_series("flow"))
    assert "need[user=d]" in str(explain(shipped(need=2 * ROOM.sum() * NEED)))
    odd = LinearProgram.build()
    odd.columns("x", {"item": ["a, b", "c=[1]"]}, cost=[1, 2])
    assert odd.program().column("x[item=c=[1]]") == 1


def test_new_numbers_and_starts_come_by_label() -> None:
    model = Reusable(shipped())
    model.change_cost({"flow": COST.iloc[::-1, ::-1] + 1})
    model.change_sides(row_lower={"need": NEED.iloc[::-1] + 1, "room": -np.inf})
    model.change_bounds(upper=pd.Series({n: 9.0 + n for n in reversed(range(12))}))
    assert model.program.cost.tolist() == (COST + 1).to_numpy().ravel().tolist()
    assert model.program.row_lower[3:].tolist() == (NEED + 1).tolist()
    assert model.program.upper.tolist() == [9.0 + n for n in range(12)]
    with pytest.raises(OptionError, match="need no positions"):
        model.change_cost(pd.Series([1.0]), columns=[0])
    start = {"flow": pd.DataFrame(0.0, SITES, USERS).iloc[::-1], "flow[site=west, user=a]": 3}
    assert solve(shipped(), start=start).path == "start"
    with pytest.raises(OptionError, match="flow must be finite"):
        solve(shipped(), start={"flow": np.inf})


def test_only_linear_programs_have_blocks() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    x = cvxpy.Variable(name="x")
    solution = solve(cvxpy.Problem(cvxpy.Minimize(x), [x >= 2]), "clarabel")
    with pytest.raises(ProblemTypeError, match="LinearProgram"):
        solution.to_series("x")
