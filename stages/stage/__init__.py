"""How a stage runs: what dvc.yaml declares of it, what it may open, and the part of the chain that it leaves."""
