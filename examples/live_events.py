"""Run a policy on a stream of events, without a simulator. Invalid lines are skipped.

Without arguments the script reads the events below. With `-` it reads JSON lines from standard
input and answers each before it reads the next.
"""

import json
import sys

import numpy as np
from own_policy import Selective

from edgeopt.instances.rescue import generate
from edgeopt.online.rescue import Arrival, FinishedRun

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


class Dispatcher:
    """Connects the stream and the policy: tracks which runs are active and which have ended."""

    def __init__(self, policy, instance):
        self.policy, self.instance, self.state = policy, instance, policy.start(instance)
        self.slot, self.running, self.finished, self.last = 0, {}, [], None

    def take(self, line):
        event = json.loads(line)
        if not isinstance(event, dict):
            raise ValueError("an event is a JSON object")
        slot = whole(event, "slot", 0, self.instance.horizon)
        if slot < self.slot:
            raise ValueError(f"slot {slot} has passed, it is slot {self.slot}")
        if event["event"] == "task":
            return self.task(slot, whole(event, "device", 0, self.instance.devices))
        if event["event"] == "finished":
            server = whole(event, "server", 0, self.instance.servers)
            return self.end(slot, server, float(event["profit"]))
        raise ValueError(f"unknown event {event['event']!r}")

    def task(self, slot, device):
        self.slot = slot
        if self.last is not None:  # report what ended since the last decision
            self.state = self.policy.learn(self.state, *self.last, tuple(self.finished))
            self.finished = []
        idle = np.array([server not in self.running for server in range(self.instance.servers)])
        left = self.instance.reserved.demand  # a real system would report the remaining demand
        arrival = Arrival(self.slot, device, idle, remaining=left, coin=0.5)
        decision, self.state = self.policy.decide(self.state, arrival)
        self.last = arrival, decision
        if decision is None:
            return f"the task of device {device} is rejected"
        self.running[decision.server] = self.slot, device, *decision
        return f"device {device} runs on server {decision.server} with profile {decision.profile}"

    def end(self, slot, server, profit):
        if server not in self.running:
            raise ValueError(f"server {server} is idle")
        self.slot = slot
        run = self.running.pop(server)
        self.finished.append(FinishedRun(*run, self.slot - run[0], profit))
        return f"server {server} is idle again"


def whole(event, name, least, end):
    """Return an integer field of an event after checking its range."""
    if type(event[name]) is not int or not least <= event[name] < end:
        raise ValueError(f"{name} = {event[name]!r}: must be {least} to {end - 1}")
    return event[name]


def answers(policy, instance, lines):
    """Yield one answer per line, each before the next line is read."""
    dispatcher = Dispatcher(policy, instance)
    for number, line in enumerate(lines, 1):
        try:
            answer = dispatcher.take(line)
        except KeyError as missing:
            yield f"line {number} skipped: {missing} is missing"
        except (ValueError, TypeError) as why:
            yield f"line {number} skipped: {why}"
        else:
            yield f"slot {dispatcher.slot}: {answer}"


if __name__ == "__main__":
    stream = sys.stdin if sys.argv[1:] == ["-"] else EVENTS.splitlines()
    for answer in answers(Selective(), generate(horizon=50, rng=7), stream):
        print(answer, flush=True)
