"""The first example of the README: an instance, its optimum, three policies and two theorems."""

# start of the ten lines
import edgeopt
from edgeopt.instances.rescue import generate
from edgeopt.models.rescue import solve_p1_lp

instance = generate(servers=4, devices=14, horizon=100, rng=7)  # frozen, validated, seeded
plan = solve_p1_lp(instance)  # the offline optimum, with a proven bound
print(f"LP optimum = {plan.objective:.2f}, proven to a relative gap of {plan.gap:.0e}")
study = edgeopt.study(instance, ["rescue", "rescueplus", "srs"], runs=200)  # same scenarios for all
print(study.table[["policy", "value", "ratio", "ratio_low", "ratio_high", "violated"]])
for verdict in edgeopt.check(["rescue.theorem1", "rescue.lemma3"], instance, plan=plan):
    print(verdict.claim, verdict.verdict, verdict.measured, ">=", verdict.guaranteed)
# end of the ten lines
