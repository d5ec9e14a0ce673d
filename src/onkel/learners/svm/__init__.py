"""Solvers for the dual problems of support vector machines."""
