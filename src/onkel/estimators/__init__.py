"""Estimators: scikit-learn's interface to the learners. Input is checked here, and nowhere below."""
