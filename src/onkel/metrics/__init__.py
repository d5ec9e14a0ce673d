"""Measures of predictions: pure functions of what is true and what was predicted. Users find them in `onkel.evaluate`.

ranking     NDCG, mean average precision and mean reciprocal rank, of the scores of the items of queries
entities    precision, recall and F1 of tagged entities, and a table of the tags that are taken for others
"""
