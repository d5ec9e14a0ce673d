"""Learners: algorithms that take rows and targets and change; they know neither labels nor scikit-learn."""
