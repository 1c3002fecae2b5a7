"""Run a policy on a stream of events, without a simulator. Events that do not fit are skipped.

Without arguments the script reads the events below. With `-` it reads JSON lines from standard
input and answers each before it reads the next.
"""

import sys

from own_policy import Selective

from edgeopt.errors import Refused
from edgeopt.instances.rescue import generate
from edgeopt.online.session import RescueDesk, Session

EVENTS = """\
{"slot": 4, "event": "task", "device": 2}
{"slot": 5, "event": "task", "device": 0}
{"slot": 9, "event": "finished", "server": 2, "profit": 0.9}
{"slot": 8, "event": "task", "device": 1}
{"slot": 10, "event": "task", "dev
{"slot": 10, "event": "finished", "server": 2, "profit": 0.3}
{"slot": 11, "event": "task", "device": 99}
{"slot": 11, "event": "reboot"}
{"slot": 12, "event": "task", "device": 1}
"""

with open("session.jsonl", "w") as log:
    session = Session(Selective(), RescueDesk(generate(horizon=50, rng=7)), seed=1, log=log)
    for line in sys.stdin if sys.argv[1:] == ["-"] else EVENTS.splitlines():
        try:
            session.take(line)
            answer = session.last.get("decision", "noted")
        except Refused as why:
            answer = f"skipped: {why}"
        print(f"slot {session.desk.slot}: {answer}", flush=True)
