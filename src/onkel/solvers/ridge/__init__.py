"""Kernel ridge regression: exact, by one pass over centres, by conjugate gradients; and its posterior variance."""
