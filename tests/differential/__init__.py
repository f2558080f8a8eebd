"""The program held against the slow evaluator on random policies, trees, calls and documents; run.py says how."""
