"""The Projectron: examples that the support spans are projected on it."""
