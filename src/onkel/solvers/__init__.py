"""Solvers: they see all the data at once, and find the optimum of a stated problem. They are no learners."""
