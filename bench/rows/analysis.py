"""The exact answers: dead rules, assertions, differences."""
from .common import count, ms, row, run_json, target, tool

TITLE = "Exact answers"
NOTE = ("`build/bench/analysis`: the best of three, in CPU time, without loading. *synthetic* is the policy as above. *crowded* is less "
        "kind: four tools, a directory of its own for nearly every rule, one inside the other up to 30 deep, up to four "
        "arguments. *paths* is crowded with arguments in `argEquals` that are read as paths: there calls have to be "
        "made and tried. *language* has commands, hosts, lists, loose values and paths, a tenth of the rules each kind. A changed "
        "rule has another effect, in *crowded* and *paths* another match as well.")
SIZES = (1000, 10000)


def rows(_folder):
    for size in SIZES:
        aimed = size == 10000  # what the targets are said of
        for policy in ("synthetic", "crowded", "paths", "language"):
            # A thousand changed rules of the whole language take minutes: what they take is seen at the smaller size.
            brief = policy == "language" and aimed
            figure = run_json([tool("analysis"), policy, str(size), *(["one-diff"] if brief else [])])
            name = f"{count(size)} rules, {policy}: "

            def one(what, keys, shown, *targets, figure=figure, name=name, aimed=aimed):
                return row(name + what, {key: figure[key] for key in keys}, shown, *(targets if aimed else ()))

            yield one("dead rules", ("dead_ms", "dead_rules", "lint_ms", "lint_warnings"),
                      f"{ms(figure['dead_ms'])} (and lint, before it, {ms(figure['lint_ms'])})",
                      target("dead rules", figure["dead_ms"], most=50 if policy == "language" else 100, unit="ms"))
            yield one("one assertion", ("assertion_ms", "assertion_longest_ms", "assertions_prepared_ms", "proved",
                                        "refuted", "unconfirmed"),
                      f"median of 100 {ms(figure['assertion_ms'])}, longest {ms(figure['assertion_longest_ms'])} "
                      f"(once before them {ms(figure['assertions_prepared_ms'])})",
                      target("longest", figure["assertion_longest_ms"], most=1 if policy == "language" else 5, unit="ms"))
            yield one("diff of one changed rule", ("diff_one_ms", "diff_one_longest_ms", "diff_one_most_classes"),
                      f"median of nine places {ms(figure['diff_one_ms'])}, longest {ms(figure['diff_one_longest_ms'])}",
                      target("longest", figure["diff_one_longest_ms"], most=30 if policy == "language" else 50, unit="ms"))
            if brief:
                continue
            yield one(f"diff of {count(figure['diff_tenth_rules'])} changed rules", ("diff_tenth_ms", "diff_tenth_brief_ms", "diff_tenth_classes"),
                      f"{ms(figure['diff_tenth_ms'])}, {count(figure['diff_tenth_classes'])} classes (as a reload asks "
                      f"{ms(figure['diff_tenth_brief_ms'])})",
                      target("diff", figure["diff_tenth_ms"], most=2000, unit="ms"))
