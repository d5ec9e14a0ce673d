"""Learners of sentences: the structured perceptron on features, with a kernel, and on any features of a user."""
