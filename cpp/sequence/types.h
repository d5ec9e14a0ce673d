// Sentences, and the scores of their labellings: plain structs that the targets and the border share; no code.
//
// A labelling y of a sentence of N tokens with labels 0 … L − 1 has the score
//
//   Σ_t  E_t[y_t] + T_t[y_{t−1}][y_t] + S[y_{t−2}][y_{t−1}][y_t]          y_{−1} = y_{−2} = L: before the sentence
//
// E are the scores of labels by themselves, T of two neighbours (order 1), S of three (order 2; absent in order 1).
// T_t is T plus the tables of the observations at token t, if the model has such features. Tables have a row of `ld`
// values for each label before, and one more for the beginning of the sentence; ld is L rounded up to kTagLanes.
#pragma once
#include <cstdint>

namespace onkel {

constexpr int64_t kTagLanes = 8;

// Features of tokens as CSR rows: ids, with values or (null) all of them 1.
struct TokenRows {
  const int64_t* indptr;
  const int32_t* ids;
  const double* values;
};

// A corpus: sentence s has the tokens starts[s] … starts[s + 1] − 1.
struct Sentences {
  const int64_t* starts;
  TokenRows features;
  TokenRows observed;  // those with a table for T_t; indptr is null if there are none
};

// Weights that change, each with its moment Σ round · step: w − moment / rounds is the average of all guesses.
template <class T> struct Table {
  T* w;
  double* moment;
};
// A feature gets a row of its own at its first update; until then it has row 0, in which all weights stay 0. So features
// that were never part of a mistake, which are most, take neither memory nor time.
template <class T> struct TagWeights {
  int64_t labels, ld;
  int32_t* rows;         // the row of each feature
  Table<T> features;     // (rows, ld)
  Table<T> transitions;  // (L + 1, ld)
  Table<T> second;       // (L + 1, L + 1, ld), or null in order 1
  Table<T> observed;     // (observed features, L + 1, ld), or null
};

// What a learner of sequences counts. Python knows it as TagCounts.
struct TagCounts {
  int64_t n_seen = 0;     // sentences
  int64_t n_updates = 0;  // sentences that changed the weights
  int64_t n_rows = 1;     // rows of features in use, with row 0
  double norm_sq = 0;     // ‖v‖²
  double radius_sq = 0;   // the largest ‖Φ(x, y) − Φ(x, z)‖² of an update
};

// Values of scratch for the search of a sentence (sequence/viterbi.h), and for learning from it: its scores, the tables
// of its observations, and the search (sequence/structured.h).
constexpr int64_t viterbi_scratch(int64_t tokens, int64_t labels, int64_t ld, bool second) {
  return (second ? tokens * (labels + 1) + 1 : tokens + 1) * ld;
}
constexpr int64_t tag_scratch(int64_t tokens, int64_t labels, int64_t ld, bool second, bool local) {
  return tokens * ld + (local ? tokens * (labels + 1) * ld : 0) + viterbi_scratch(tokens, labels, ld, second);
}

// The scores of one sentence's labellings, ready for the search.
template <class T> struct Lattice {
  int64_t tokens, labels, ld;
  const T* E;            // (tokens, ld)
  const T* transitions;  // (L + 1, ld), or with `local` (tokens, L + 1, ld)
  bool local;
  const T* second;       // (L + 1, L + 1, ld), or null
};

}  // namespace onkel
