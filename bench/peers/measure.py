"""Timing as in measure.ts: many short repetitions, the median and the minimum."""
import statistics
import time

REPETITIONS = 11


def repeated(unit, count, fn, settle=lambda last: None):
    for _ in range(3 * count):
        fn()
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        for _ in range(count):
            last = fn()
        settle(last)
        times.append((time.perf_counter() - start) / count * (1e6 if unit == "us" else 1e3))
    return summary(unit, times)


def summary(unit, times):
    return {"unit": unit, "median": statistics.median(times), "min": min(times)}
