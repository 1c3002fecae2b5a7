"""Ratio and regret of algorithms of your own, on the worst of several instances."""

# start of the ratio example
import numpy as np

from edgeopt.bounds import ratio_of, regret_of

PRICE = 10  # skis are rented for 1 a day or bought for 10; nobody knows for how many days
DAYS = {"a day": 1, "a week": 7, "ten days": 10, "a season": 90}


def best(days):
    return min(days, PRICE)


def buy_on_a_drawn_day(days, rng):
    chance = (1 - 1 / PRICE) ** np.arange(PRICE - 1, -1, -1)
    bought = rng.choice(np.arange(1, PRICE + 1), p=chance / chance.sum())
    return days if days < bought else bought - 1 + PRICE


for promised in (np.e / (np.e - 1), 1.4):
    found = ratio_of(buy_on_a_drawn_day, DAYS, best, cost=True, guarantee=promised, runs=20_000)
    print(f"{promised:.3f} is {found.verdict}: {found.value:.3f}", end=", ")
    print(f"from {found.low:.3f} to {found.high:.3f}")


def follow_the_past(losses, rng):  # three forecasts, weighed by what they have lost so far
    weights = np.exp(-np.sqrt(8 * np.log(3) / len(losses)) * (losses.cumsum(axis=0) - losses))
    return (weights * losses).sum(axis=1) / weights.sum(axis=1)


draw = np.random.default_rng(0)
years = {f"{rounds} rounds": draw.random((rounds, 3)) for rounds in (50, 200, 800)}
found = regret_of(
    follow_the_past, years, lambda losses: losses.sum(axis=0).min(), cost=True, runs=1,
    guarantee=lambda losses: np.sqrt(len(losses) * np.log(3) / 2),
)  # fmt: skip
print(f"regret at most sqrt(T ln 3 / 2) is {found.verdict}; least room after {found.worst}")
# end of the ratio example
