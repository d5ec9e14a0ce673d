"""States: what an object is, as plain settings and named arrays; and the base class of values that never change.

A `State` is copied, compared, pickled and written to files, and `from_state` makes the object again. This room lies
below all that have states, kernels and data included: what it must know of a kernel is its ``config()``.
"""
