"""Loading a policy: how long, and what it leaves in memory."""
from .common import SIZES, count, median, ms, row, run_json, target, tool

TITLE = "Loading"
NOTE = ("The synthetic policies: up to 1,000 different directories in their prefixes, each looked at on disk. Everything "
        "is checked, the index is built, then lint runs. Bytes a rule: all that the loaded policy holds (strings, rules, "
        "index), beside the document's own and those of the index alone. The peak is of the whole process, document "
        "included.")
ROUNDS = 3


def rows(_folder):
    for size in SIZES:
        runs = [run_json([tool("loading"), str(size)]) for _ in range(ROUNDS)]
        figure = {key: median([one[key] for one in runs]) for key in runs[0]}
        total = figure["load_ms"] + figure["lint_ms"]
        a_rule = {key: figure[key] / size for key in ("policy_bytes", "text_bytes", "index_bytes")}
        above = a_rule["policy_bytes"] - a_rule["text_bytes"]
        targets = [target("load and lint", round(total), most=4000, unit="ms"),
                   target("above the text", round(above), most=200, unit="bytes a rule")] if size == SIZES[-1] else []
        yield row(f"{count(size)} rules", dict(figure, above_text_bytes_per_rule=round(above, 1)),
                  f"load {ms(figure['load_ms'])}, lint {ms(figure['lint_ms'])}; {a_rule['policy_bytes']:.0f} bytes a rule "
                  f"(document {a_rule['text_bytes']:.0f}, index {a_rule['index_bytes']:.0f}); peak "
                  f"{figure['peak_rss_kb'] / 1024:,.0f} MiB", *targets)
