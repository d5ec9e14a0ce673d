"""The learner in bounded memory: an update rule and a budget policy over slots."""
