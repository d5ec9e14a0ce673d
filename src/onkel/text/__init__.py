"""Text: columns of tokens from CoNLL files, the features of tokens, templates of features, and a tagged corpus.

The public names are those of `onkel.data`.
"""
