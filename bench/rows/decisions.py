"""One decision, by the number of rules, and the way from a line of JSON to the line of the decision."""
from .common import CALLGATE, SIZES, count, median, per_second, row, run_json, target, time_of

TITLE = "Decisions"
NOTE = ("`callgate bench --synthetic N`: twenty kinds of rules, calls with and without a path; one core. An evaluation "
        "is of a call already read, looking its strings up included; the scan is the plain evaluator that asks rule "
        "after rule. From line to line stand calls of 600 bytes without a path, by the processor's time. Each figure "
        "is the median of three runs, sizes in turn; how many a second follows from the mean.")
ROUNDS = 3


def measure():
    """For each size the median of each figure."""
    runs = {size: [] for size in SIZES}
    for _ in range(ROUNDS):
        for size in SIZES:
            runs[size].append(run_json([CALLGATE, "bench", "--synthetic", str(size), "--format", "json"]))
    return {size: {key: median([one[key] for one in runs[size]]) for key in runs[size][0]} for size in SIZES}


def rows(_folder):
    figures = measure()
    for size, figure in figures.items():
        times = figure["decisions_per_second"] / figure["linear_per_second"]
        targets = {100: [target("p50", figure["p50_ns"], most=150, unit="ns")],
                   1000: [target("times the scan", round(times, 1), least=2)],
                   100000: [target("times the scan", round(times, 1), least=200)],
                   1000000: [target("p50", figure["p50_ns"], most=2000, unit="ns"),
                             target("p99 / p99 at 100 rules", round(figure["p99_ns"] / figures[100]["p99_ns"], 1), most=20)]}
        yield row(f"an evaluation, {count(size)} rules", dict(figure, times_linear=round(times, 2)),
                  f"p50 {time_of(figure['p50_ns'])}, p99 {time_of(figure['p99_ns'])}, "
                  f"{per_second(figure['decisions_per_second'])}; scan {per_second(figure['linear_per_second'])} "
                  f"({times:,.1f} times)", *targets.get(size, []))
    for size, figure in figures.items():
        yield row(f"JSON line to decision line, {count(size)} rules",
                  {"per_second": figure["line_to_decision_per_second"]}, per_second(figure["line_to_decision_per_second"]),
                  target("a second", figure["line_to_decision_per_second"], least=600000))
