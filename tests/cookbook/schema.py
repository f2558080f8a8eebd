#!/usr/bin/env python3
"""`callgate schema`: every field has a text to hover over and something to complete, and what it offers loads.

usage: schema.py [--callgate PROGRAM]

Ends with the line `N passed, N failed`.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

passed = failed = 0


def check(what, good, *shown):
    global passed, failed
    if good:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *map(str, shown), sep="\n    ")


def offers(field):
    """What an editor can complete: a reference, choices, true and false, or examples."""
    return ("$ref" in field or "const" in field or field.get("type") == "boolean" or bool(field.get("examples")) or
            bool(field.get("enum")) or "$ref" in field.get("items", {}) or bool(field.get("items", {}).get("enum")) or
            field.get("minimum", 0) == field.get("maximum", 1))


def choices(field):
    for place in (field, field.get("items", {}), *field.get("anyOf", [])):
        if "enum" in place:
            yield place


def main():
    parser = argparse.ArgumentParser(description="looks at the JSON Schema of policies")
    parser.add_argument("--callgate", default="build/callgate")
    callgate = os.path.abspath(parser.parse_args().callgate)
    schema = json.loads(subprocess.run([callgate, "schema"], capture_output=True, check=True, timeout=60).stdout)
    documents = []
    for name, what in schema["$defs"].items():
        for key, field in what.get("properties", {}).items():
            place = f"{name}.{key}"
            check(f"{place}: a text to hover over", len(field.get("description", "")) > 10, field)
            check(f"{place}: something to complete", offers(field), field)
            for place_of in choices(field):
                texts = place_of.get("enumDescriptions", [])
                check(f"{place}: each choice says what it is", len(texts) == len(place_of["enum"]) and all(texts), place_of)
            for value in field.get("examples", []):
                rule = {"id": "x", "effect": "require_approval", "match": {"tool": "t"}}
                if name == "match":
                    rule["match"] = {key: value}
                elif name == "deny":
                    rule = {**rule, "effect": "deny", "reason": "r", key: value}
                elif name == "require_approval":
                    rule[key] = value
                document = {"rules": [rule]}
                if name == "document":
                    document[key] = value
                elif name == "assertion":
                    document["assertions"] = [{"name": "n", "match": {"tool": "u"}, "never": ["deny"], key: value}]
                elif name == "callMatch":
                    document["assertions"] = [{"name": "n", "match": {key: value}, "never": ["deny"]}]
                if name in ("match", "deny", "require_approval", "document"):
                    documents.append((place, document))
    with tempfile.TemporaryDirectory(prefix="schema-") as root:
        path = root + "/policy.json"
        for place, document in documents:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file)
            done = subprocess.run([callgate, "check", "--policy", path, "--cwd", root, "--home", root], capture_output=True, text=True, timeout=60)
            check(f"{place}: the example loads", done.returncode == 0, json.dumps(document), done.stdout, done.stderr)
    check("there are examples", len(documents) > 30, len(documents))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
