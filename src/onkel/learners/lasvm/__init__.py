"""LASVM: the dual of a support vector machine, improved example by example."""
