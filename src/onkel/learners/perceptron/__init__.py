"""Perceptrons: with a kernel, on features, for grades, and for ranking."""
