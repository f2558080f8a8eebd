"""The slow evaluator: what a decision is, written a second time.

Written from the specification's text and never from the C sources, in another language, with the plainest
algorithm that does what the text says. It exists to disagree: tests/differential compares the two.
Rule of this package: no cleverness, no sharing of ideas with the program. Python's standard library only.

    jsonread    one strict read of bytes to nodes with byte offsets                          (sections 2, 12)
    values      exact numbers, equality, the loose form, the RFC 8785 form, callHash         (sections 5, 9)
    names       argument names: folded, their words, and which mean what for a call          (sections 4, 5)
    shell       a text to its commands, or to why it is not read                             (section 4.2)
    commands    from arguments to commands, what is inside them, and patterns                (section 4.2)
    places      where a command acts, and which hosts it names                               (section 4.2)
    hosts       URLs, HOST, and a rule's host                                                (section 4.3)
    canonical   one absolute text to one canonical path, textual or as the kernel reads `..` (section 4.1)
    forms       one string to the canonical paths that it can mean                           (section 4.1)
    trees       whole trees, and what wildcards stand for now                                (section 4.1)
    inputs      a walk over the input of a call                                              (section 4)
    aside       strings that may name something but are not known to                         (sections 4.1, 4.3)
    reading     one way in which a call can be understood                                    (section 4)
    readings    a call to all of them, in order                                              (section 4.4)
    document    one policy document: every error with its place                              (section 2)
    arms        the match of a rule: its arms, or the errors in it                           (section 2)
    match       one arm against one reading                                                  (sections 3, 4)
    policy      several documents: tiers, groups, the default set, evaluation                (sections 3, 6)
    calls       a line to a call, or to why it is none                                       (section 12)
    analysis    subset, intersection, lint, violations                                       (sections 7, 8)
    cli         the part of the command line that checks call: eval, check, diff
"""
