#!/usr/bin/env python3
"""usage: run.py eval|check|diff ARGUMENT...   as callgate's own commands; only what the case tables need."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from oracle import cli  # noqa: E402

if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[1:]))
