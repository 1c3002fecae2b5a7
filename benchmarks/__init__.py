"""Time and memory that edgeopt needs, compared with peers measured in the same run.

Protocol: every candidate runs in a process of its own, on one thread, with the same instance and
seed; the instance is built before the clock starts; code that is compiled on first use is warmed
up; the median, the fastest and the slowest repetition are printed, and the ratio of the medians,
always against the fastest peer. Peers that race get a multiple of the fastest peer's time and are
printed as slower than that when it runs out. Objectives must agree, or the run fails.

Limitations: one machine, few repetitions, generated instances; peak memory is that of the whole
process, interpreter, libraries and instance included.
"""
