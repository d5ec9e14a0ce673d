"""The state of estimators: parameters and certificates as settings, and checks of what a file may bring."""
