"""Learners: the algorithms that learn from rows and their targets; they know neither labels nor scikit-learn."""
