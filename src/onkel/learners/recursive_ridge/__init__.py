"""Kernel ridge regression, example by example, on a dictionary."""
