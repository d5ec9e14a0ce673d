"""Support vector machines: the dual problem, its solver, one machine for each pair of classes, the largest margin."""
