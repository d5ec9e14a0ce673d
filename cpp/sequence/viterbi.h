// Viterbi's search for the best labelling, on one SIMD target. The problem is stated in types.h.
//
//   order 1   best_t[j]    = E_t[j] + max_i (best_{t−1}[i] + T_t[i][j])                    O(L²) a token
//   order 2   best_t[i][j] = E_t[j] + T_t[i][j] + max_h (best_{t−1}[h][i] + S[h][i][j])    O(L³) a token
//
// Only the maxima are kept. The way back asks again, for one label a token, which predecessor gave the maximum: that is
// a single column instead of a comparison for every pair of labels. Of several it takes the lowest label, from the last
// token to the first. Scores of −∞ forbid a label or a pair.
#pragma once
#include <cstdint>

#include "sequence/types.h"

namespace onkel { namespace ONKEL_TARGET {

template <class T> struct Eight {
  typedef T Vector __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T> using V8 = typename Eight<T>::Vector;
template <class T> static inline V8<T> at(const T* p) { return *reinterpret_cast<const V8<T>*>(p); }
template <class T> static inline void put(T* p, V8<T> v) { *reinterpret_cast<V8<T>*>(p) = v; }
template <class V> static inline V larger(V a, V b) { return a > b ? a : b; }

// out[j] = e[j] + max_{i < n} (before[i · skip] + step[i · stride + j]) for 8 · kBlocks labels j; two maxima side by side,
// because each waits for the one before it.
template <class T, int kBlocks>
static inline void best_of(const T* before, int64_t skip, const T* step, int64_t stride, int64_t n, const T* e, T* out) {
  V8<T> even[kBlocks], odd[kBlocks];
  for (int b = 0; b < kBlocks; ++b) even[b] = odd[b] = before[0] + at(step + 8 * b);
  int64_t i = 1;
  for (; i + 1 < n; i += 2)
    for (int b = 0; b < kBlocks; ++b) {
      even[b] = larger(even[b], before[i * skip] + at(step + i * stride + 8 * b));
      odd[b] = larger(odd[b], before[(i + 1) * skip] + at(step + (i + 1) * stride + 8 * b));
    }
  if (i < n)
    for (int b = 0; b < kBlocks; ++b) even[b] = larger(even[b], before[i * skip] + at(step + i * stride + 8 * b));
  for (int b = 0; b < kBlocks; ++b) put(out + 8 * b, at(e + 8 * b) + larger(even[b], odd[b]));
}

template <class T>
static void advance(const T* before, int64_t skip, const T* step, int64_t stride, int64_t n, int64_t ld, const T* e,
                    T* out) {
  int64_t j = 0;
  for (; j + 24 <= ld; j += 24) best_of<T, 3>(before, skip, step + j, stride, n, e + j, out + j);
  for (; j + 16 <= ld; j += 16) best_of<T, 2>(before, skip, step + j, stride, n, e + j, out + j);
  for (; j < ld; j += 8) best_of<T, 1>(before, skip, step + j, stride, n, e + j, out + j);
}

// The lowest i < n at which before[i · skip] + step[i · stride] is largest; `sums` is scratch for n values. Two loops,
// because a branch at every new maximum would often be guessed wrong.
template <class T>
static int64_t predecessor(const T* before, int64_t skip, const T* step, int64_t stride, int64_t n, T* sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] = before[i * skip] + step[i * stride];
  T most = sums[0];
  for (int64_t i = 1; i < n; ++i) most = sums[i] > most ? sums[i] : most;
  int64_t best = 0;
  while (best < n - 1 && sums[best] != most) ++best;  // ends with a NaN, too
  return best;
}

template <class T> static double viterbi_first(const Lattice<T>& a, T* scratch, int32_t* y) {
  const int64_t L = a.labels, ld = a.ld, N = a.tokens, table = a.local ? (L + 1) * ld : 0;
  for (int64_t j = 0; j < ld; ++j) scratch[j] = a.E[j] + a.transitions[L * ld + j];
  for (int64_t t = 1; t < N; ++t)
    advance(scratch + (t - 1) * ld, 1, a.transitions + t * table, ld, L, ld, a.E + t * ld, scratch + t * ld);
  const T* last = scratch + (N - 1) * ld;
  int64_t best = 0;
  for (int64_t j = 1; j < L; ++j)
    if (last[j] > last[best]) best = j;
  const double score = double(last[best]);
  y[N - 1] = int32_t(best);
  for (int64_t t = N - 1; t > 0; --t) {
    best = predecessor(scratch + (t - 1) * ld, 1, a.transitions + t * table + best, ld, L, scratch + N * ld);
    y[t - 1] = int32_t(best);
  }
  return score;
}

template <class T> static double viterbi_second(const Lattice<T>& a, T* scratch, int32_t* y) {
  const int64_t L = a.labels, ld = a.ld, N = a.tokens, table = a.local ? (L + 1) * ld : 0;
  const int64_t square = (L + 1) * ld;  // values of a token's scores, and of S for one label two tokens before
  T* const e = scratch + N * square;     // E_t + T_t[i]
  for (int64_t j = 0; j < ld; ++j) scratch[j] = a.E[j] + a.transitions[L * ld + j] + a.second[L * square + L * ld + j];
  for (int64_t t = 1; t < N; ++t) {
    const T* before = scratch + (t - 1) * square;
    for (int64_t i = 0; i < L; ++i) {
      for (int64_t j = 0; j < ld; ++j) e[j] = a.E[t * ld + j] + a.transitions[t * table + i * ld + j];
      T* out = scratch + t * square + i * ld;
      if (t == 1)
        advance(before + i, 0, a.second + L * square + i * ld, 0, 1, ld, e, out);
      else
        advance(before + i, ld, a.second + i * ld, square, L, ld, e, out);
    }
  }
  const T* last = scratch + (N - 1) * square;
  int64_t i = 0, j = 0;
  for (int64_t c = 0; c < L; ++c)
    for (int64_t r = 0; r < (N > 1 ? L : 1); ++r)
      if (last[r * ld + c] > last[i * ld + j]) i = r, j = c;
  const double score = double(last[i * ld + j]);
  y[N - 1] = int32_t(j);
  for (int64_t t = N - 1; t > 0; --t) {
    y[t - 1] = int32_t(i);
    if (t == 1) break;
    const int64_t h = predecessor(scratch + (t - 1) * square + i, ld, a.second + i * ld + j, square, L, e);
    j = i;
    i = h;
  }
  return score;
}

// The score of the best labelling, which is written to y (tokens,); −∞ if every one is forbidden.
template <class T> static double viterbi(const Lattice<T>& a, T* scratch, int32_t* y) {
  return a.second ? viterbi_second(a, scratch, y) : viterbi_first(a, scratch, y);
}

}}  // namespace onkel::ONKEL_TARGET
