// The Projectron: a mistake that the support nearly spans is projected on the span, instead of being added.
//
// With the Cholesky factor K_S = L L', the rows of L are the support vectors in an orthonormal basis of their span, and
// z = L^-1 k(S, x) is the projection of x in that basis:
//
//   f(x) = beta . z       delta^2 = k(x, x) - |z|^2, the squared distance of x to the span
//   mistake, projected:   beta += step z
//   mistake, added:       L gets the row (z, delta), and beta the component step * delta besides
//
// No matrix is inverted, and the error of L L' stays that of one factorisation however long the run is. The
// coefficients of the support vectors, alpha = L'^-1 beta, are computed when they are asked for.
// Orabona, Keshet and Caputo 2009, who update K_S^-1 instead.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "learn/budget.h"
#include "learn/ledger.h"
#include "parallel.h"

namespace onkel {

// Projects the b rows of a chunk on m support vectors, by forward substitution: Z L' = K, for K and Z (b, cap). L has
// rows of ld values.
template <class T>
void project_rows(const double* L, int64_t ld, int64_t m, const T* K, int64_t b, int64_t cap, double* Z, int threads) {
  const Target& target = current_target();
  const int64_t width = target.solve_rows(), groups = (b + width - 1) / width;
  if (threads > groups) threads = int(groups);
  std::vector<std::vector<double>> memory;  // allocated here, as a thread must not throw
  for (int i = 0; i < threads; ++i) memory.emplace_back(size_t(m * width));
  in_parallel(groups, threads, [&](int64_t group, int thread) {
    double* z = memory[size_t(thread)].data();
    const int64_t first = group * width, rows = b - first < width ? b - first : width;
    for (int64_t t = 0; t < m; ++t)
      for (int64_t r = 0; r < width; ++r) z[t * width + r] = r < rows ? double(K[(first + r) * cap + t]) : 0.0;
    target.solve(L, ld, m, z);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t t = 0; t < m; ++t) Z[(first + r) * cap + t] = z[t * width + r];
  });
}

// The numbers of a learner that its examples change. Python knows it as ProjectronRecord.
struct ProjectronRecord : Counts {
  int64_t size = 0;                        // support vectors
  double beta_error = 0, alpha_error = 0;  // E and E' of screen.h; 0 if no steps are deferred
};

// alpha (c, m), the solution of L' alpha_o = beta_o for each output o; beta (c, cap).
inline void coefficients(const double* L, int64_t cap, int64_t m, const double* beta, int64_t c, double* alpha) {
  for (int64_t o = 0; o < c; ++o, alpha += m, beta += cap) {
    for (int64_t t = 0; t < m; ++t) alpha[t] = beta[t];
    current_target().substitute_back(L, cap, m, alpha);
  }
}

// Whether no output makes a mistake on one row, by its scores alpha . k, without its projection. alpha (c, m), k (m),
// y (c), NaN where an output ignores the row.
template <class T> bool all_right(const T* k, const double* alpha, int64_t c, int64_t m, const double* y) {
  bool right = true;
  for (int64_t o = 0; o < c; ++o) right &= !(y[o] * dot(alpha + o * m, k, m) <= 0);
  return right;
}

// If delta^2 / k(x, x) is below this many units of rounding, x counts as inside the span.
constexpr double kRounding = 100;

struct Projection {
  double eta;       // a mistake is projected if delta <= eta
  int64_t budget;   // the most support vectors; then every mistake is projected
  bool aggressive;  // Projectron++: also learns from correct rows with a margin below 1
  bool kol;         // Projectron++ under a budget decides by the test of the KOL library, not by the paper's
};

// The test of Projectron++ for a step on a margin of 1 - loss: there is a step unless this is negative. gain is
// min(loss, |z|^2). KOL:  2 loss - gain - 2 U delta;  the paper:  loss - (delta / eta)^2.
inline double in_favour(const Projection& p, double loss, double gain, double delta_sq) {
  if (p.kol) return 2 * loss - gain - 2 * forgetron_radius(double(p.budget)) * std::sqrt(delta_sq);
  if (p.eta > 0) return loss - delta_sq / (p.eta * p.eta);
  return delta_sq > 0 ? -1.0 : loss;
}

// One pass over a chunk of b rows, c outputs. Given targets y (b, c), NaN where an output ignores the row, and weights
// w (b); K (b, cap), the kernel values with the `size` support vectors; K_chunk, those of the chunk with itself on and
// below the diagonal (b, b) or, if no more vector can be added, only k(x, x) of each row (b, 1): `wide` is its second
// dimension; Z (b, cap), of which the first `known` components of each row are computed already.
// Updates beta (c, cap) and the record, enters the steps in the ledger with the ids `row_ids` (b) of the rows, appends to
// L, and fills the columns of K and components of Z of the vectors it adds. Results: scores F (b, c) of each row before it
// was learned, and added (b), 1 where the row became a support vector. Returns whether there was any step. `steps` (c) is
// scratch memory.
template <class T>
bool project_pass(const Projection& p, int64_t b, int64_t c, int64_t cap, T* K, const T* K_chunk, int64_t wide,
                  double* Z, int64_t known, double* L, double* beta, ProjectronRecord& record, const double* y,
                  const double* w, const int64_t* row_ids, Ledger ledger, double* F, double* steps, int64_t* added) {
  constexpr double kLeast = kRounding * std::numeric_limits<T>::epsilon();
  bool learned = false;
  for (int64_t i = 0; i < b; ++i, y += c, F += c) {
    double* z = Z + i * cap;
    const int64_t m = record.size;
    for (int64_t t = known; t < m; ++t) z[t] = double(K[i * cap + t]);
    current_target().substitute(L, cap, known, m, z);
    const double kxx = double(K_chunk[i * wide + (wide > 1 ? i : 0)]), inside = dot(z, z, m);
    const double delta_sq = positive(kxx - inside);
    bool erred = false, any = false;
    for (int64_t o = 0; o < c; ++o) {
      F[o] = dot(beta + o * cap, z, m);
      const double margin = y[o] * F[o];
      const bool has_target = y[o] == y[o], wrong = has_target && margin <= 0;
      steps[o] = wrong ? w[i] * y[o] : 0.0;
      erred |= wrong;
      record.n_mistakes += wrong;
      if (p.aggressive && has_target && !wrong && margin < 1 && inside > 0) {
        const double loss = 1 - margin, favour = in_favour(p, loss, std::fmin(inside, loss), delta_sq);
        double tau = std::fmin(1.0, loss / inside);
        if (!p.kol) tau = std::fmin(tau, 2 * favour / inside);
        if (favour < 0) tau = 0.0;
        steps[o] = tau * w[i] * y[o];
      }
      record.n_updates += steps[o] != 0;
      any |= steps[o] != 0;
    }
    record.count_example(row_ids[i]);
    added[i] = erred && m < p.budget && delta_sq > p.eta * p.eta && delta_sq > kLeast * kxx;
    if (!any) continue;
    learned = true;
    for (int64_t o = 0; o < c; ++o)
      if (steps[o] != 0) {
        ledger.add(record.n_seen, row_ids[i], o, steps[o]);
        for (int64_t t = 0; t < m; ++t) beta[o * cap + t] += steps[o] * z[t];
      }
    if (!added[i]) continue;
    const double delta = std::sqrt(delta_sq);
    for (int64_t t = 0; t < m; ++t) L[m * cap + t] = z[t];
    L[m * cap + m] = delta;
    for (int64_t o = 0; o < c; ++o) beta[o * cap + m] = y[o] * F[o] <= 0 ? steps[o] * delta : 0.0;
    for (int64_t l = i + 1; l < b; ++l) K[l * cap + m] = K_chunk[l * wide + i];
    record.size = m + 1;
  }
  return learned;
}

}  // namespace onkel
