"""Support vector machines: their duals, solved by working sets of pair steps."""
