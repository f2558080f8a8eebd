#!/usr/bin/env python3
"""templates.py CALLGATE CALLS: what the templates of `init` decide of calls of coding agents.

Each call is labelled by hand, harmless or harmful, in the file. Balanced decides each as the file says, asks about at most a
fifth of the harmless ones, and lets no harmful one through; strict lets none through either and asks about edits only;
observe asks nobody. Ends with `N passed, N failed`."""
import json
import os
import re
import subprocess
import sys
import tempfile

CALLGATE = os.path.abspath(sys.argv[1])
CALLS = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
# What hooks know of the tools of their hosts (src/host), of the hosts in the table.
HOSTS = {"rules": [], "pathArguments": {"list_directory": ["dir_path"], "glob": ["dir_path", "pattern"], "grep_search": ["dir_path"], "apply_patch": ["patchPaths"]},
         "treeArguments": {"glob": ["dir_path"], "grep_search": ["dir_path"]}, "commandArguments": {"apply_patch": ["-command"]}}
# What a call that a rule denies must be about, so that what the agent is told of it fits: the thing, or a folder that holds it.
FITS = {"no-credentials": r"\.ssh|\.aws|\.gnupg|\.kube|netrc|npmrc|pypirc|\.docker|config/gh|gcloud|git-credentials|shadow|sudoers|\"\$HOME_DIR\"|rm -rf /",
        "no-secret-files": r"\.env|\.pgpass|npmrc|\.pem|\.p12|\.key|id_(rsa|ecdsa|ed25519)|credentials\.json|node_modules|PROJECT| \.(\"|$)| \.e\*",
        "no-privilege": r"sudo|\bsu\b|doas", "no-force-push": r"push", "no-publish": r"publish|upload|docker push"}
passed = failed = 0


def check(what, ok, *shown):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *shown, sep="\n    ")


def project(root):
    home, work = os.path.join(root, "home"), os.path.join(root, "project")
    for name in (".env", ".env.example", "node_modules/dotenv/.env", "src/index.ts", "src/db.ts", "docs/a.md", "README.md"):
        os.makedirs(os.path.dirname(os.path.join(work, name)), exist_ok=True)
        open(os.path.join(work, name), "w", encoding="utf-8").close()
    for name in (".ssh/id_rsa", ".aws/credentials"):
        os.makedirs(os.path.dirname(os.path.join(home, name)), exist_ok=True)
        open(os.path.join(home, name), "w", encoding="utf-8").close()
    return home, work


def decisions(root, home, work, template):
    policy = os.path.join(root, f"{template}.json")
    done = subprocess.run([CALLGATE, "init", "--yes", "--no-servers", "--template", template, "--home", home, "--cwd", work,
                           "--output", policy], capture_output=True, text=True, timeout=60)
    check(f"{template}: init writes a policy", done.returncode == 0 and os.path.exists(policy), done.stderr)
    done = subprocess.run([CALLGATE, "check", "--format", "json", "--policy", policy, "--home", home, "--cwd", work],
                          capture_output=True, text=True, timeout=60)
    report = json.loads(done.stdout)
    check(f"{template}: it has no error, and no warning but of folders that are not there", done.returncode == 0 and
          {w["kind"] for w in report["warnings"]} <= {"missing-prefix"}, report)
    hosts = os.path.join(root, "hosts.json")
    with open(hosts, "w", encoding="utf-8") as file:
        json.dump(HOSTS, file)
    rules = {rule["id"]: rule for rule in json.load(open(policy, encoding="utf-8"))["rules"]}
    check(f"{template}: whoever is denied is told what to do", all("tell" in rule for rule in rules.values() if rule["effect"] == "deny"))
    lines = []
    for entry in CALLS:
        text = json.dumps(entry["call"])
        for name, value in (("$PROJECT", work), ("$HOME_DIR", home), ("$ROOT", root)):
            text = text.replace(name, value)
        lines.append(text)
    done = subprocess.run([CALLGATE, "eval", "--policy", hosts, "--policy", policy, "--home", home, "--cwd", work, "-"], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


with tempfile.TemporaryDirectory(prefix="callgate-templates-", dir="/var/tmp") as folder:
    root = os.path.realpath(folder)
    home, work = project(root)
    got = {template: decisions(root, home, work, template) for template in ("strict", "balanced", "observe")}
    for entry, one in zip(CALLS, got["balanced"]):
        check(f"balanced: {entry['call']}", (one["kind"], one.get("rule")) == (entry["balanced"], entry["rule"]), one)
    harmless = [i for i, entry in enumerate(CALLS) if entry["label"] == "harmless"]
    harmful = [i for i, entry in enumerate(CALLS) if entry["label"] == "harmful"]
    asked = [i for i in harmless if got["balanced"][i]["kind"] == "require"]
    check("balanced asks about at most a fifth of the harmless calls", 5 * len(asked) <= len(harmless), len(asked), len(harmless))
    for template in ("balanced", "strict"):
        check(f"{template} lets no harmful call through", all(got[template][i]["kind"] != "allow" for i in harmful),
              *[CALLS[i]["call"] for i in harmful if got[template][i]["kind"] == "allow"])
    for entry, one in zip(CALLS, got["balanced"]):
        if one["kind"] == "deny":
            check("what the agent is told fits the call", re.search(FITS[one["rule"]], json.dumps(entry["call"])), one, entry["call"])
    check("strict asks about edits only", all(one["kind"] != "require" or one["rule"] == "ask-settings" for one in got["strict"]))
    check("strict allows what balanced allows", all(got["strict"][i]["kind"] == "allow" for i, one in enumerate(got["balanced"])
                                                    if one["kind"] == "allow"))
    check("observe asks nobody", all(one["kind"] != "require" for one in got["observe"]))
    check("observe denies by secrets only", all(one["kind"] == "allow" or one["rule"] in ("no-credentials", "no-secret-files")
                                                for one in got["observe"]), *[o for o in got["observe"] if o["kind"] == "deny"])
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
