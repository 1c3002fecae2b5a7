"""Admit retraining jobs to a server that fails now and then: the best rule, with its proof."""

from edgeopt.online import simulate
from edgeopt.online.value_iteration import (
    DecisionProcess,
    ProcessEnvironment,
    average_reward,
    discounted,
    finite_horizon,
)

ROOM, VALUE, WAIT = 12, 6.0, 0.25  # jobs, worth of an admitted job, cost per job and slot
ARRIVE, SERVE, FAIL, REPAIR = 0.6, 0.55, 0.05, 0.3  # chances in a slot


def step(state, admit):
    """Return what a slot earns, and where it leads: state is (jobs, whether the server is up)."""
    jobs, up = state
    following = []
    for arrives, chance in ((1, ARRIVE), (0, 1 - ARRIVE)):
        inside = min(jobs + arrives * admit, ROOM)
        served = SERVE if up and inside else 0.0
        change = FAIL if up else REPAIR
        for leaves, share in ((1, served), (0, 1 - served)):
            following.append(((inside - leaves, up), chance * share * (1 - change)))
            following.append(((inside - leaves, not up), chance * share * change))
    return VALUE * ARRIVE * (admit and jobs < ROOM) - WAIT * jobs, following


if __name__ == "__main__":
    server = DecisionProcess.explore([(0, True)], lambda state: (False, True), step)
    print(server)

    best = average_reward(server)
    print(f"earns {best.low:.6f} to {best.high:.6f} per slot, proven, {best.rounds} rounds")
    for up in (True, False):
        limit = next(n for n in range(ROOM + 1) if not best.action((n, up)))
        print(f"  admits below {limit} jobs while the server is {'up' if up else 'down'}")

    for method in ("value", "policy", "linear"):
        found = discounted(server, 0.95, method=method)
        worth = found.value[server.number((0, True))]
        print(f"{method}: {worth:.4f} discounted, gap {found.gap:.1e}")

    day = finite_horizon(server, 96)
    runs = simulate(ProcessEnvironment(server, (0, True), 96), day.policy, runs=2000)
    print(f"a day of 96 slots: {day.value[0, 0]:.2f} expected, {runs.total.mean():.2f} simulated")
