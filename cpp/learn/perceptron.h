// The perceptron without a budget: the decisions of a pass over the examples, which must be taken one after the other.
//
//   if y f(x) <= 0:  v += w y phi(x)
//
// Given rows, their targets and, in the dual form, kernel values that were computed before, in blocks and in parallel.
// The results are the steps of each row, and the scores or vectors after the pass. Rosenblatt 1958; the dual form, with
// averages and votes of all hypotheses, Freund and Schapire 1999.
#pragma once
#include <cstdint>
#include <limits>

#include "learn/counts.h"
#include "learn/ledger.h"
#include "parallel.h"

namespace onkel {

// Which rows may soon need their kernel values. For the rows first .. b-1 that have none yet (place < 0), margin
// (b - first) is the least y_io (F_oi + offsets_o) over the outputs, divided by |phi(x_i)| if `lengths` holds these
// norms; for the others it is infinite. Given y (b, c), 0 where an output ignores the row, and the scores F (c, b)
// without their offsets (c). Returns how many of the rows without kernel values are mistakes of some output.
inline int64_t least_margins(const int64_t* place, int64_t first, int64_t b, int64_t c, const int8_t* y,
                             const double* F, const double* offsets, const double* lengths, double* margin) {
  int64_t wrong = 0;
  for (int64_t i = first; i < b; ++i) {
    double least = std::numeric_limits<double>::infinity();
    if (place[i] < 0)
      for (int64_t o = 0; o < c; ++o) {
        const double found = double(y[i * c + o]) * (F[o * b + i] + offsets[o]);
        if (y[i * c + o] != 0 && !(found >= least)) least = found;
      }
    wrong += !(least > 0);
    margin[i - first] = lengths ? least / lengths[i] : least;
  }
  return wrong;
}

// The dual perceptron on one chunk of b rows, c one-vs-rest outputs.
//   for i = first .. b-1, output o:  if y_io f_o(x_i) <= 0:  v_o += w_i y_io phi(x_i)
// Given y (b, c) in {-1, +1}, 0 where an output ignores the row, weights w (b) > 0, and the scores F (c, b) before the
// chunk. Only rows with a mistake need their kernel values with the chunk: those of row i are K + place[i] * b. If
// place[i] < 0 at a mistake, the pass stops and is to be called again from that row; it returns where it stopped, b at
// the end. With bias = 1 the kernel is K + 1: a perceptron with an intercept. The sum of the steps of output o is then
// kept apart from F, in offsets (c), because K + 1 would lose every K below the rounding of 1. F is updated for the rows
// still to come, and gets the offset of a row when it is decided on.
// Result: steps (b, c), w_i y_io at a mistake of output o on row i, else 0; sq_norms (c), |v_o|^2, updated by
//   |v + s phi(x)|^2 = |v|^2 + 2 s f(x) + s^2 k(x, x).
template <class T>
int64_t perceptron_pass(const T* K, const int64_t* place, int64_t first, int64_t b, int64_t c, const int8_t* y,
                        const double* w, double bias, double* F, double* offsets, double* steps, double* sq_norms) {
  for (int64_t i = first; i < b; ++i) {
    bool erred = false;
    for (int64_t o = 0; o < c; ++o) {
      const bool wrong = y[i * c + o] != 0 && !(y[i * c + o] * (F[o * b + i] + offsets[o]) > 0);
      steps[i * c + o] = wrong ? w[i] * y[i * c + o] : 0.0;
      erred |= wrong;
    }
    if (erred && place[i] < 0) return i;
    for (int64_t o = 0; o < c; ++o) F[o * b + i] += offsets[o];
    if (!erred) continue;
    const T* row = K + place[i] * b;
    for (int64_t o = 0; o < c; ++o) {
      const double step = steps[i * c + o];
      if (step == 0) continue;
      double* f = F + o * b;
      sq_norms[o] += 2 * step * f[i] + step * step * (double(row[i]) + bias);
      offsets[o] += step * bias;
      for (int64_t j = i + 1; j < b; ++j) f[j] += step * double(row[j]);
    }
  }
  return b;
}

// The primal perceptron, with v itself, on n rows of d features, dense or CSR (indptr not null).
//   if y_io (v_o . x_i + b_o) <= 0:  v_o += s x_i,  b_o += s,   s = eta w_i y_io   (b only with bias)
// V (c, d + 1) holds v and, last, b. moments (c, d + 1) holds the same sums with each step multiplied by its round, so
// that V - moments / n_seen is the average of all hypotheses. Both are updated, and so are the counts and the ledger,
// which has room for n * c entries. Result: the scores F (n, c) of each row before it was learned from.
template <class T>
void primal_pass(const T* data, const int64_t* indptr, const int32_t* indices, int64_t n, int64_t d, int64_t c,
                 const double* y, const double* w, const int64_t* row_ids, double eta, bool bias, double* V,
                 double* moments, Counts& counts, const Ledger& ledger, double* F) {
  for (int64_t i = 0; i < n; ++i) {
    const T* x = indptr ? data + indptr[i] : data + i * d;
    const int32_t* at = indptr ? indices + indptr[i] : nullptr;
    const int64_t count = indptr ? indptr[i + 1] - indptr[i] : d;
    counts.count_example(row_ids[i]);
    const int64_t round = counts.n_seen;
    for (int64_t o = 0; o < c; ++o) {
      double* v = V + o * (d + 1);
      double* m = moments + o * (d + 1);
      double f = v[d];
      if (at)
        for (int64_t e = 0; e < count; ++e) f += v[at[e]] * double(x[e]);
      else
        for (int64_t e = 0; e < count; ++e) f += v[e] * double(x[e]);
      F[i * c + o] = f;
      if (y[i * c + o] * f > 0) continue;
      ++counts.n_mistakes, ++counts.n_updates;
      const double step = eta * w[i] * y[i * c + o], moment = step * double(round);
      for (int64_t e = 0; e < count; ++e) {
        const int64_t k = at ? at[e] : e;
        v[k] += step * double(x[e]);
        m[k] += moment * double(x[e]);
      }
      if (bias) {
        v[d] += step;
        m[d] += moment;
      }
      ledger.add(round, row_ids[i], o, step);
    }
  }
}

// F (c, n) += sum_j A_jo column_j, for k of the kernel columns of n rows that are kept. Column j of the sum is column
// which[j] of `columns`, where columns lie `stride` values apart, as do the outputs of F by `score_stride`. A (k, c).
template <class T>
void add_columns(const T* columns, int64_t stride, const int64_t* which, int64_t k, int64_t n, const double* A,
                 int64_t c, double* F, int64_t score_stride, int threads) {
  constexpr int64_t kBlock = 2048;  // rows at a time, whose scores stay in the cache
  in_parallel((n + kBlock - 1) / kBlock, threads, [&](int64_t block, int) {
    const int64_t first = block * kBlock, count = n - first < kBlock ? n - first : kBlock;
    for (int64_t j = 0; j < k; ++j)
      for (int64_t o = 0; o < c; ++o) {
        const double a = A[j * c + o];
        if (a == 0) continue;
        const T* column = columns + which[j] * stride + first;
        double* scores = F + o * score_stride + first;
        for (int64_t i = 0; i < count; ++i) scores[i] += a * double(column[i]);
      }
  });
}

// The voted perceptron. Hypothesis v_k of output o is the sum of its first k steps; it votes sign(v_k . x), with
// sign(0) = +1, and weight m_k, the rounds that it survived. One running sum per row gives all votes.
//   out (n, c) = sum_k m_k sign(v_k . x)
// Given K (n, m) of the rows and the support. Entry t of the ledger: support[t], output[t], step[t], and
// weight[t] = m_k of the hypothesis that begins with it; start[o] = m_0, the weight of v_0 = 0. sums (2, c) is scratch,
// for the sums without their offsets, and for the offsets.
template <class T>
void vote(const T* K, int64_t n, int64_t m, const int64_t* support, const int64_t* output, const double* step,
          const double* weight, int64_t entries, const double* start, int64_t c, double bias, double* sums,
          double* out) {
  for (int64_t i = 0; i < n; ++i, K += m, out += c) {
    for (int64_t o = 0; o < c; ++o) {
      sums[o] = sums[c + o] = 0;
      out[o] = start[o];
    }
    for (int64_t t = 0; t < entries; ++t) {
      const int64_t o = output[t];
      sums[o] += step[t] * double(K[support[t]]);
      sums[c + o] += step[t] * bias;
      out[o] += sums[o] + sums[c + o] >= 0 ? weight[t] : -weight[t];
    }
  }
}

}  // namespace onkel
