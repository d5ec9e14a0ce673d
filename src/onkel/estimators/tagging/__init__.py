"""The tagger as an estimator: the forms that sentences can have, their input, and `SequencePerceptron`."""
