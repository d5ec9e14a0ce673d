"""Kernel ridge regression: KernelRidge, KernelRidgeCV and KernelRidgeClassifier."""
