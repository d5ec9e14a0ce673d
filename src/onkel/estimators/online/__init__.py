"""Estimators that learn example by example: fit, partial_fit, learn_one, and what they show when they have learned."""
