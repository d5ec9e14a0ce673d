// The structured perceptron, on one SIMD target (Collins 2002). For one sentence x after the other, with its labels y:
//
//   z = argmax Σ v·Φ(x, z)   by Viterbi; with a margin m, the score of the right label is lowered by m at every token
//   if z ≠ y:  v += Φ(x, y) − Φ(x, z)
//
// v are the weights of types.h, changed in place, with their moments and the counts; nothing can fail in between.
// Given that v, and thus all scores, are whole numbers below 2²⁴ (no values, whole margins), float is exact.
#pragma once
#include "sequence/types.h"
#include "sequence/viterbi.h"

namespace onkel { namespace ONKEL_TARGET {

// e[j] = Σ w[row · ld + j] over the features of a token, 8 · kBlocks labels at a time.
template <class T, int kBlocks>
static inline void sum_rows(const int32_t* ids, const double* values, int64_t n, const int32_t* rows, const T* w,
                            int64_t ld, T* e) {
  V8<T> even[kBlocks] = {}, odd[kBlocks] = {};
  int64_t k = 0;
  if (values) {
    for (; k < n; ++k)
      for (int b = 0; b < kBlocks; ++b) even[b] += T(values[k]) * at(w + rows[ids[k]] * ld + 8 * b);
  } else {
    for (; k + 1 < n; k += 2)
      for (int b = 0; b < kBlocks; ++b) {
        even[b] += at(w + rows[ids[k]] * ld + 8 * b);
        odd[b] += at(w + rows[ids[k + 1]] * ld + 8 * b);
      }
    if (k < n)
      for (int b = 0; b < kBlocks; ++b) even[b] += at(w + rows[ids[k]] * ld + 8 * b);
  }
  for (int b = 0; b < kBlocks; ++b) put(e + 8 * b, even[b] + odd[b]);
}

template <class T>
static void label_scores(const TokenRows& all, int64_t token, const TagWeights<T>& v, T* e) {
  const int64_t first = all.indptr[token], n = all.indptr[token + 1] - first, ld = v.ld;
  const int32_t* ids = all.ids + first;
  const double* values = all.values ? all.values + first : nullptr;
  const T* w = v.features.w;
  int64_t j = 0;
  for (; j + 24 <= ld; j += 24) sum_rows<T, 3>(ids, values, n, v.rows, w + j, ld, e + j);
  for (; j + 16 <= ld; j += 16) sum_rows<T, 2>(ids, values, n, v.rows, w + j, ld, e + j);
  for (; j < ld; j += 8) sum_rows<T, 1>(ids, values, n, v.rows, w + j, ld, e + j);
}

// Asks for the rows of a token's features ahead of time: they lie anywhere in memory, and waiting for them would take
// most of the time. Inlined by force: GCC takes a function that does nothing but prefetch for one without effect, and
// drops its calls.
template <class T>
[[gnu::always_inline]] static inline void fetch_rows(const TokenRows& all, int64_t token, const TagWeights<T>& v) {
  for (int64_t k = all.indptr[token]; k < all.indptr[token + 1]; ++k) {
    const char* row = reinterpret_cast<const char*>(v.features.w + v.rows[all.ids[k]] * v.ld);
    for (int64_t at = 0; at < v.ld * int64_t(sizeof(T)); at += 64) __builtin_prefetch(row + at);
  }
}

// table = T plus the tables of the observations at a token.
template <class T>
static void local_table(const TokenRows& observed, int64_t token, const T* transitions, const T* w, int64_t size,
                        T* table) {
  for (int64_t k = 0; k < size; ++k) table[k] = transitions[k];
  for (int64_t k = observed.indptr[token]; k < observed.indptr[token + 1]; ++k) {
    const T value = observed.values ? T(observed.values[k]) : T(1);
    const T* row = w + observed.ids[k] * size;
    for (int64_t i = 0; i < size; ++i) table[i] += value * row[i];
  }
}

// One update: collects v·ΔΦ from the scores before it, and changes weights, moments and ‖v‖².
template <class T> struct Update {
  double round, norm_sq;
  double before = 0;  // v·(Φ(x, y) − Φ(x, z)) before the update

  void look(const Table<T>& table, int64_t right, int64_t wrong, double value) {
    before += value * (double(table.w[right]) - double(table.w[wrong]));
  }
  void step(const Table<T>& table, int64_t place, double delta) {
    norm_sq += delta * (2 * double(table.w[place]) + delta);
    table.w[place] += T(delta);
    table.moment[place] += round * delta;
  }
  void both(const Table<T>& table, int64_t right, int64_t wrong, double value) {
    step(table, right, value);
    step(table, wrong, -value);
  }
};

// Calls visit(table, place of the right weight, place of the wrong one, value) for every feature in which the
// labellings y and z of a sentence differ.
template <class T, class Visit>
static void differences(const TagWeights<T>& v, const Sentences& all, int64_t first, int64_t N, const int32_t* y,
                        const int32_t* z, Visit visit) {
  const int64_t L = v.labels, ld = v.ld;
  for (int64_t t = 0; t < N; ++t) {
    const int64_t y1 = t > 0 ? y[t - 1] : L, z1 = t > 0 ? z[t - 1] : L;
    if (y[t] != z[t]) {
      const TokenRows& rows = all.features;
      for (int64_t k = rows.indptr[first + t]; k < rows.indptr[first + t + 1]; ++k)
        visit(v.features, v.rows[rows.ids[k]] * ld + y[t], v.rows[rows.ids[k]] * ld + z[t],
              rows.values ? rows.values[k] : 1.0);
    }
    if (y[t] != z[t] || y1 != z1) {
      visit(v.transitions, y1 * ld + y[t], z1 * ld + z[t], 1.0);
      const TokenRows& rows = all.observed;
      for (int64_t k = rows.indptr ? rows.indptr[first + t] : 0; rows.indptr && k < rows.indptr[first + t + 1]; ++k)
        visit(v.observed, (rows.ids[k] * (L + 1) + y1) * ld + y[t], (rows.ids[k] * (L + 1) + z1) * ld + z[t],
              rows.values ? rows.values[k] : 1.0);
    }
    if (v.second.w) {
      const int64_t y2 = t > 1 ? y[t - 2] : L, z2 = t > 1 ? z[t - 2] : L;
      if (y[t] != z[t] || y1 != z1 || y2 != z2)
        visit(v.second, (y2 * (L + 1) + y1) * ld + y[t], (z2 * (L + 1) + z1) * ld + z[t], 1.0);
    }
  }
}

// Gives a row to every feature of a wrong token that has none.
template <class T>
static void claim_rows(const TagWeights<T>& v, const Sentences& all, int64_t first, int64_t N, const int32_t* y,
                       const int32_t* z, TagCounts* counts) {
  for (int64_t t = 0; t < N; ++t)
    for (int64_t k = all.features.indptr[first + t]; y[t] != z[t] && k < all.features.indptr[first + t + 1]; ++k) {
      int32_t* row = v.rows + all.features.ids[k];
      if (*row == 0) *row = int32_t(counts->n_rows++);
    }
}

// v += Φ(x, y) − Φ(x, z), the update of round `round`.
template <class T>
static void apply_update(const TagWeights<T>& v, const Sentences& all, int64_t first, int64_t N, const int32_t* y,
                         const int32_t* z, double round, TagCounts* counts) {
  Update<T> update{round, counts->norm_sq};
  differences(v, all, first, N, y, z, [&](const Table<T>& table, int64_t right, int64_t wrong, double value) {
    update.look(table, right, wrong, value);
  });
  claim_rows(v, all, first, N, y, z, counts);
  differences(v, all, first, N, y, z, [&](const Table<T>& table, int64_t right, int64_t wrong, double value) {
    update.both(table, right, wrong, value);
  });
  const double length = update.norm_sq - counts->norm_sq - 2 * update.before;  // ‖ΔΦ‖²
  counts->norm_sq = update.norm_sq;
  if (length > counts->radius_sq) counts->radius_sq = length;
  ++counts->n_updates;
}

// The scores of a sentence under v, with the scratch of `tag_scratch`: E, then the local tables, then that of Viterbi.
template <class T>
static Lattice<T> lattice(const TagWeights<T>& v, const Sentences& all, int64_t first, int64_t N, T* scratch) {
  const int64_t table = (v.labels + 1) * v.ld;
  const bool local = all.observed.indptr != nullptr;
  T* const tables = scratch + N * v.ld;
  for (int64_t t = 0; t < N; ++t) {
    if (t + 1 < N) fetch_rows(all.features, first + t + 1, v);
    label_scores(all.features, first + t, v, scratch + t * v.ld);
    if (local) local_table(all.observed, first + t, v.transitions.w, v.observed.w, table, tables + t * table);
  }
  return {N, v.labels, v.ld, scratch, local ? tables : v.transitions.w, local, v.second.w};
}

// Learns from the sentences `order` (n,), with gold labels y (tokens of all sentences). Writes the labelling of each to
// z at the same places, and to updated[k] whether the k-th changed v.
template <class T>
static void learn_sentences(const TagWeights<T>& v, const Sentences& all, const int64_t* order, int64_t n,
                            const int32_t* y, double margin, TagCounts* counts, T* scratch, int32_t* z,
                            uint8_t* updated) {
  for (int64_t k = 0; k < n; ++k) {
    const int64_t first = all.starts[order[k]], N = all.starts[order[k] + 1] - first;
    const Lattice<T> scores = lattice(v, all, first, N, scratch);
    T* const rest = scratch + (tag_scratch(N, v.labels, v.ld, v.second.w, scores.local) -
                               viterbi_scratch(N, v.labels, v.ld, v.second.w));
    if (margin != 0)
      for (int64_t t = 0; t < N; ++t) scratch[t * v.ld + y[first + t]] -= T(margin);
    viterbi(scores, rest, z + first);
    ++counts->n_seen;
    bool wrong = false;
    for (int64_t t = 0; t < N; ++t) wrong |= y[first + t] != z[first + t];
    updated[k] = wrong;
    if (!wrong) continue;
    apply_update(v, all, first, N, y + first, z + first, double(counts->n_seen), counts);
  }
}

}}  // namespace onkel::ONKEL_TARGET
