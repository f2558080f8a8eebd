"""The same rules and calls for other evaluators."""
import json
import os
import subprocess

from .common import TOP, Unavailable

TITLE = "Beside others"
NOTE = "`bench/peers/run.sh`: see bench/peers/README.md for how each was told the rules."
FOLDER = os.path.join(TOP, "bench", "peers")


def rows(folder):
    script = os.path.join(FOLDER, "run.sh")
    if not os.path.exists(script):
        raise Unavailable("bench/peers is not here")
    if not os.path.exists(os.path.join(FOLDER, "node_modules")) and subprocess.run(
            ["npm", "--prefix", FOLDER, "ci", "--no-audit", "--no-fund", "--silent"], check=False).returncode != 0:
        raise Unavailable("the npm packages of bench/peers cannot be installed here")
    path = os.path.join(folder, "peers.json")
    subprocess.run([script, "--json", path], check=True, stdout=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as file:
        measured = json.load(file)
    yield from measured["rows"]
