"""The slow evaluator: what a decision is, written a second time.

Written from the specification's text and never from the C sources, in another language, with the plainest
algorithm that does what the text says. It exists to disagree: tests/differential compares the two.
Rule of this package: no cleverness, no sharing of ideas with the program. Python's standard library only.

    jsonread    one strict read of bytes to nodes with byte offsets                          (sections 2, 12)
    values      exact numbers, equality, the RFC 8785 form, callHash                         (sections 5, 9)
    document    one policy document: every error with its place                              (section 2)
    policy      several documents: tiers, groups, the default set, evaluation                (sections 3, 6)
    canonical   one string to one canonical path, textual or as the kernel reads `..`        (section 4)
    readings    a call to the paths it can be understood as                                  (section 4)
    calls       a line to a call, or to why it is none                                       (section 12)
    analysis    subset, intersection, lint, violations                                       (sections 7, 8)
    cli         the part of the command line that checks call: eval, check, diff
"""
