"""The journal, in each flush mode and batch size, beside a bare append of the same bytes."""
from .common import count, per_second, row, run_json, target, time_of, tool

TITLE = "Journal"
NOTE = ("Decisions of 600-byte calls through the journal's own interface, one write a batch, in turn with a bare write of "
        "the very same bytes that is flushed exactly when the journal is: `always` after each batch, `batch` once in a "
        "round of at most 100 ms, `never` not at all.")


def rows(folder):
    measured = run_json([tool("journal"), folder])
    yield row("bytes of one event", {"bytes": measured["bytes_per_event"]}, count(measured["bytes_per_event"]))
    for mode in ("always", "batch", "never"):
        for size, figure in measured[mode].items():
            part = round(figure["of_bare"] * 100)
            targets = [target("of the bare append", part, least=60, unit="%")] if size == "64" and mode == "always" else []
            yield row(f"--fsync={mode}, batches of {size}", figure,
                      f"{per_second(figure['events_per_second'])}, bare {per_second(figure['bare_per_second'])} "
                      f"({part} % of it); a batch {time_of(1e9 * int(size) / figure['events_per_second'])}", *targets)
