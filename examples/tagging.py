"""From a game to a tagger: the structured perceptron.

A perceptron learns to say yes or no. The same rule learns to tag whole sentences, and the same proof bounds its
mistakes. This lesson begins with the game in which the proof is played out, and ends with a tagger that finds names in
a sentence. Run me: python examples/tagging.py   (writes tagging.png)
"""

import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from onkel import SequencePerceptron
from onkel.data import load_tagged_sentences
from onkel.evaluate import conll_f1
from onkel.game import (
    FreshWords,
    LongSentences,
    RandomSentences,
    SequenceEstimatorPlayer,
    StructuredPerceptronPlayer,
    play_sequences,
)

# ---------------------------------------------------------------- 1. the game

# Player A sends a sentence, player B answers with labels, and A tells the right ones. B scores a labelling z of the
# sentence x by v·Φ(x, z), where Φ counts words with their labels, and neighbouring labels. Of all labellings Viterbi
# finds the one with the largest score. If it is wrong, B adds what the right one has and takes away what its own has:
#
#     v ← v + Φ(x, y) − Φ(x, z)
#
# A may send what it likes, as long as some unit vector u, which B does not know, prefers every right labelling to all
# others by δ, and no difference of two Φ is longer than R. Then v·u grows by δ or more with every mistake, but ‖v‖²
# by R² or less, so that B makes at most R²/δ² mistakes, however long the game is.
print("1. The game\n")
a = LongSentences(2)
trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features))
print(trace)

# ---------------------------------------------------------------- 2. how A makes B err

# The theorem leaves A two ways to many mistakes. A small margin: every word is new, and what B has learned does not
# help. Or a large R: the first word decides about all labels, and behind it come words that say nothing, so many of
# them that each mistake throws v far off.
print("\n2. How A makes B err\n")


def mistakes_and_bound(a):
    trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features))
    return trace.n_mistakes, trace.bound


sizes = [1, 2, 3, 4, 5, 6, 7]
small_margin = [mistakes_and_bound(FreshWords(10 * n)) for n in sizes]
large_radius = [mistakes_and_bound(LongSentences(n)) for n in sizes]
print("    fresh words  mistakes  R²/δ²       words without meaning  mistakes  R²/δ²")
for n, (fresh, fresh_bound), (long, long_bound) in zip(sizes, small_margin, large_radius, strict=True):
    print(f"    {10 * n:11}  {fresh:8}  {fresh_bound:5.0f}       {n:21}  {long:8}  {long_bound:5.0f}")

# Against sentences at random B does far better than it must.
a = RandomSentences(random_state=0)
at_random = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features), rounds=300)
print(f"\n    300 random sentences: {at_random.n_mistakes} mistakes, of {at_random.bound:.0f} that the theorem allows")

# SequencePerceptron is the same learner, compiled. The template U:%x[0,0] makes a feature of each word, and pairs of
# neighbouring tags are always features: the Φ of this game.
compiled = SequencePerceptron(templates="U:%x[0,0]", hypothesis="last")
print(f"    the same sentences, SequencePerceptron: {at_random.replay(SequenceEstimatorPlayer(compiled)).n_mistakes}")

# ---------------------------------------------------------------- 3. a tagger

# Real sentences: 120 of them come with onkel, with parts of speech and named entities. Every fourth is held out.
print("\n3. Parts of speech\n")
corpus = load_tagged_sentences()
held_out = np.arange(len(corpus)) % 4 == 3
train, test = corpus[~held_out], corpus[held_out]

# The words alone say nothing about a word that was never seen. Templates also make features of its ending, its shape
# and the words around it. A margin makes right labellings win clearly, not only by a hair.
settings = {
    "words": {"templates": "U:%x[0,0]"},
    "words and endings": {"templates": "U00:%x[0,0]\nU01:%suffix2[0,0]\nU02:%suffix3[0,0]"},
    "the ready templates": {"templates": "pos"},
    "the same, margin=20": {"templates": "pos", "margin": 20},
}
for name, setting in settings.items():
    scores = []
    for seed in range(5):
        tagger = SequencePerceptron(**setting, random_state=seed).fit(train.only("word"), train["pos"])
        scores.append(tagger.score(test.only("word"), test["pos"]))
    print(
        f"    {name:20} {np.mean(scores):.1%} of the tokens of new sentences are right, {tagger.n_features_} features"
    )

# ---------------------------------------------------------------- 4. entities

# The tags of entities have a grammar: B-PER begins a person's name, I-PER goes on with it, O is outside. With
# scheme="BIO" Viterbi looks at valid labellings only. What counts are whole names, found from end to end.
print("\n4. Names\n")
names = SequencePerceptron(templates="ner", margin=20, scheme="BIO", random_state=0)
names.fit(train.only("word"), train["entity"])
for line in str(conll_f1(test["entity"], names.predict(test.only("word")))).splitlines():
    print("   ", line)

# ---------------------------------------------------------------- 5. what else may be asked

print("\n5. One sentence\n")
sentence = ["Mary", "Lake", "works", "for", "Stone", "Bakery", "in", "Leeds", "."]


def show(what, tags):
    print(f"    {what:26}", "  ".join(f"{word}/{tag}" for word, tag in zip(sentence, tags, strict=True) if tag != "O"))


# The best labelling is wrong, but its margin over the second best is small: the tagger is not sure, and says so.
show("the best", names.predict_one(sentence))
for rank, labelling in enumerate(names.k_best([sentence], 3)[0], 1):
    show(f"{rank}, score {labelling.score:.1f}", labelling.tags)
usual = np.median(names.margins(test.only("word")))
print(f"    margin {names.margins([sentence])[0]:.1f}, where {usual:.1f} is usual")

# We may know something about the sentence. Fixing a tag changes the others, too, as far as they depend on it.
known = [None] * len(sentence)
known[0] = "B-PER"
show("Mary is a person", names.predict_one(sentence, allowed=known))
known[4] = ["B-ORG", "B-LOC"]
show("and Stone is none", names.predict_one(sentence, allowed=known))

# Why? Every feature of a token has a weight for every tag, and so has the tag before. U26:in/Xx is the word "in" before
# a word with a capital: the numbers are those of the lines of Templates.ready("ner").
print()
print(names.explain(sentence)[:3])
print("    A place:", ", ".join(term.feature for term in names.top_features("B-LOC", 5)))

# ---------------------------------------------------------------- the picture

# Left: the mistakes that A forces, and what the theorem allows. Right: what it costs to give a token another tag, the
# rest of the sentence being tagged as well as possible: one constrained search for each cell.
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained", width_ratios=[1, 1.5])
mistakes, allowed_mistakes = zip(*large_radius, strict=True)
left.plot(sizes, allowed_mistakes, "--", color="#d9731a", label="the theorem allows R²/δ²")
left.plot(sizes, mistakes, "o-", color="#1f5fa8", label="mistakes that A forces")
left.set(xlabel="words without meaning in a sentence", ylabel="mistakes", title="The game: a large R")
left.legend(frameon=False)

tags = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"]
best = names.k_best([sentence], 1)[0][0]
loss = np.full((len(tags), len(sentence)), np.nan)  # NaN: not valid, as I-PER at the beginning
for row, tag in enumerate(tags):
    for t in range(1 if tag.startswith("I") else 0, len(sentence)):
        given = [tag if i == t else None for i in range(len(sentence))]
        loss[row, t] = best.score - names.k_best([sentence], 1, allowed=[given])[0][0].score
image = right.imshow(loss, cmap="Blues_r", aspect="auto", vmax=60)
right.plot(range(len(sentence)), [tags.index(tag) for tag in best.tags], "o-", color="#d9731a")
right.set_xticks(range(len(sentence)), sentence, rotation=30)
right.set_yticks(range(len(tags)), tags)
right.set_title("The tagger: its best tags (line), and what others would cost")
figure.colorbar(image, label="loss of score")
path = sys.argv[1] if len(sys.argv) > 1 else "tagging.png"
figure.savefig(path, dpi=110)

# ---------------------------------------------------------------- 6. learning goes on

# A correction is a lesson: the tagger learns from the one sentence. The average of all guesses, which is the default
# because it is the better tagger, hardly moves after so many sentences; the last guess has learned it.
print("\n6. A correction\n")
names.learn_one(sentence, ["B-PER", "I-PER", "O", "O", "B-ORG", "I-ORG", "O", "B-LOC", "O"])
show("the average of all guesses", names.predict_one(sentence))
show("the last guess", names.set_params(hypothesis="last").predict_one(sentence))

print(f"\n{path} shows the mistakes that A forces, and what other tags would cost the tagger")
