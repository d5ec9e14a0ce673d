"""What all estimators share: parameters, the input of rows and single examples, targets, progress and docstrings."""
