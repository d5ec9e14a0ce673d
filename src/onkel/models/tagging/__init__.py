"""Models that tag: a `Tagger` over the scores of tokens and tags, Viterbi's algorithm, and votes of many guesses."""
