"""The table, for a terminal and for docs/performance.md. Both are made from what bench.json holds."""
import textwrap

from . import machine

COLUMNS = ("what", "figures", "target")
WIDEST = 90  # a cell that counts for the width of its column in a terminal
BEGIN = "<!-- bench: from here on printed by tools/bench.py --markdown -->"
END = "<!-- bench: to here -->"


def targets_of(row):
    return "; ".join(target["text"] for target in row["targets"])


def head(results):
    found = results["machine"]
    return machine.lines(found) + [f"warning: {warning}" for warning in machine.warnings(found)]


def text(results):
    """Lines of one table: what, figures, target."""
    yield from head(results)
    every = [row for group in results["groups"] for row in group["rows"]]
    widths = [max(len(cell) for cell in ["figures"] + cells if len(cell) <= WIDEST) for cells in
              ([row["what"] for row in every], [row["shown"] for row in every])]
    yield ""
    yield f"{'what':<{widths[0]}}  {'figures':<{widths[1]}}  target"
    for group in results["groups"]:
        yield f"-- {group['title']} {'-' * max(0, sum(widths) - len(group['title']) - 2)}"
        for row in group["rows"]:
            yield f"{row['what']:<{widths[0]}}  {row['shown']:<{widths[1]}}  {targets_of(row)}".rstrip()
        if group.get("missing"):
            yield group["missing"]


def fold(line):
    return textwrap.fill(line, 118)


def missed(results):
    """The targets that this run did not reach, and by how much."""
    for group in results["groups"]:
        for row in group["rows"]:
            for target in row["targets"]:
                if target["off"] > 1:
                    yield f"- {group['title']}, {row['what']}: {target['text']}; measured {target['figure']:,} " \
                          f"({target['off']:.2f} times off)"


def markdown(results):
    """The section of docs/performance.md between BEGIN and END, with both."""
    yield BEGIN
    yield ""
    for line in head(results):
        yield f"- {line}"
    for group in results["groups"]:
        yield f"\n### {group['title']}\n"
        yield fold(group["note"]) + "\n"
        if group.get("missing"):
            yield fold(group["missing"]) + "\n"
        if group["rows"]:
            yield f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"
        for row in group["rows"]:
            yield f"| {row['what']} | {row['shown']} | {targets_of(row)} |"
    yield "\n### Targets that this run missed\n"
    yield "\n".join(missed(results)) or "None."
    yield ""
    yield END


def replace_section(document, section):
    """The document with what stands between BEGIN and END replaced."""
    before, found, rest = document.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError("the document has no section for the table")
    return before + section + after
