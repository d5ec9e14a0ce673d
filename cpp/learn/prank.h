// PRank, the perceptron for ordinal regression: one direction w, and r = k - 1 thresholds that cut the line into k
// grades. The decisions of a pass over the examples must be taken one after the other.
//
//   predicted grade = the number of thresholds with w . x - b_r >= 0
//   if it is wrong, tau_r = y_r where y_r (w . x - b_r) <= 0 and else 0:   w += (sum_r tau_r) x,   b_r -= tau_r
//
// Given targets y (n, r) in {-1, +1}: y_ir = +1 if the grade of row i is above threshold r. They fall with r, and the
// thresholds start in ascending order and stay so. Crammer and Singer 2001, Pranking with ranking.
#pragma once
#include <cstdint>

#include "learn/counts.h"
#include "learn/ledger.h"

namespace onkel {

// The steps tau (r) of one example with score f = w . x, all 0 if its grade is predicted; returns their sum. `wrong`
// says whether it is not. At f = b_r the grade above the threshold is predicted.
inline double prank_steps(double f, const double* y, const double* b, int64_t r, double* tau, bool* wrong) {
  *wrong = false;
  for (int64_t k = 0; k < r; ++k) *wrong |= (f >= b[k]) != (y[k] > 0);
  double sum = 0;
  for (int64_t k = 0; k < r; ++k) {
    tau[k] = *wrong && !(y[k] * (f - b[k]) > 0) ? y[k] : 0.0;
    sum += tau[k];
  }
  return sum;
}

// PRank with kernel values, on one chunk of n rows. Given K (n, n) below the diagonal, and the scores f (n) before the
// chunk. Result: the steps tau (n, r) and their sums (n), and the scores F (n, r) of each row, f - b, before it was
// learned from; b (r) is updated. Returns how many rows were wrong.
template <class T>
int64_t prank_dual_pass(const T* K, int64_t n, int64_t r, const double* y, const double* f, double* b, double* tau,
                        double* sums, double* F) {
  int64_t mistakes = 0;
  for (int64_t i = 0; i < n; ++i) {
    double score = f[i];
    for (int64_t j = 0; j < i; ++j) score += sums[j] * double(K[i * n + j]);
    for (int64_t k = 0; k < r; ++k) F[i * r + k] = score - b[k];
    bool wrong;
    sums[i] = prank_steps(score, y + i * r, b, r, tau + i * r, &wrong);
    for (int64_t k = 0; k < r; ++k) b[k] -= tau[i * r + k];
    mistakes += wrong;
  }
  return mistakes;
}

// PRank with w itself, on n rows of d features, dense or CSR (indptr not null). w (d), b (r), the counts and the
// ledger, which has room for n * r entries, are updated. Result: the scores F (n, r), w . x - b, before each row was
// learned from. tau (r) is scratch.
template <class T>
void prank_primal_pass(const T* data, const int64_t* indptr, const int32_t* indices, int64_t n, int64_t d, int64_t r,
                       const double* y, const int64_t* row_ids, double* w, double* b, Counts& counts,
                       const Ledger& ledger, double* tau, double* F) {
  for (int64_t i = 0; i < n; ++i) {
    const T* x = indptr ? data + indptr[i] : data + i * d;
    const int32_t* at = indptr ? indices + indptr[i] : nullptr;
    const int64_t count = indptr ? indptr[i + 1] - indptr[i] : d;
    counts.count_example(row_ids[i]);
    double f = 0;
    for (int64_t e = 0; e < count; ++e) f += w[at ? at[e] : e] * double(x[e]);
    for (int64_t k = 0; k < r; ++k) F[i * r + k] = f - b[k];
    bool wrong;
    const double sum = prank_steps(f, y + i * r, b, r, tau, &wrong);
    counts.n_mistakes += wrong;  // examples whose grade was not predicted
    for (int64_t k = 0; k < r; ++k) {
      if (tau[k] == 0) continue;
      b[k] -= tau[k];
      ++counts.n_updates;
      ledger.add(counts.n_seen, row_ids[i], k, tau[k]);
    }
    if (sum != 0)
      for (int64_t e = 0; e < count; ++e) w[at ? at[e] : e] += sum * double(x[e]);
  }
}

}  // namespace onkel
