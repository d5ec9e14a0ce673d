// Screening for the Projectron: what to do with one example, decided without its exact projection where possible.
//
// Given the kernel values k = k(S, x) of an example of weight 1 with the m support vectors, k(x, x), its targets, and
// the state of a Projectron (projectron.h): beta, and L_inv = L^-1 in single precision. The outcome is
//   kNoUpdate   no output makes a mistake and none makes a step on its margin;
//   kDeferred   the one output there is makes a mistake, and the example is projected on the support, not added: its
//               step is recorded, and applied later together with others;
//   kUndecided  neither is certain: the caller applies the deferred steps and calls project_pass.
// Nothing changes if the outcome is kUndecided. Otherwise the numbers of the learner do and, if it is kDeferred, so do
// the sums of the deferred steps and the ledger; all of this is done before the call returns.
//
// Two facts make this cheap. A product with L_inv reads half the bytes of L and has no chain of divisions, unlike the
// substitution z = L^-1 k. And projected steps add up before they are projected:
//   beta + s1 z1 + s2 z2 = beta + L^-1 (s1 k1 + s2 k2).
//
// Error bound. Every decision rests on an approximate score f~ and the approximate length |z~| of the projection, and
// is taken only if it is the same for all values within these bounds. u = 2^-24 is the unit roundoff of float, |.| the
// 2-norm, ||.|| the Frobenius norm:
//
//   |z~ - z| <= e = ||L_inv|| (n u |k| + m FLT_MIN),    n = kEstimateBlock + m / kEstimateBlock + 8             (1)
//
//     Each component z_t sums products whose absolute values add up to at most |L_inv_t| |k| (Cauchy-Schwarz). At most
//     n roundings act on a product: those of its two factors to float, of the product, of the sum of a block and of the
//     sum over blocks. Squaring and adding over t gives ||L_inv|| |k|. m FLT_MIN covers underflow.
//
//   by beta:   f~ = beta~ . z~     |f~ - f| <= e |beta~| + E (|z~| + e)                                         (2)
//   by alpha:  f~ = alpha~ . k     |f~ - f| <= 2 E sqrt(k(x, x)) + (E' + 1e-10 |alpha~|) |k|                    (3)
//
//     E bounds |beta~ - beta|, and E' the rounding errors of L_inv' z~ in alpha~. A deferred step s adds to them
//       E += |s| e,    E' += |s| ((m / 4 + 16) u ||L_inv|| |z~| + m^2 FLT_MIN).
//     (2) splits beta~ . z~ - beta . z = beta~ . (z~ - z) + (beta~ - beta) . z. In (3) an error d of beta~ is an error
//     L_inv' d of alpha~ and (L_inv' d) . k = d . z of the score, with |z| <= sqrt(k(x, x)) for a psd kernel; the
//     factor 2 allows for kernel values that are rounded themselves.
//
//   distance to the span:  k(x, x) - (|z~| + e)^2 <= delta^2 <= k(x, x) - (|z~| - e)^2, each side at least 0      (4)
//
// Errors of double precision, in L_inv and in the exact z alike, are not counted in (1) and (2): they are at most
// m 2^-53 ||L|| ||L_inv|| relative to ||L_inv|| |k|, so below 3 % of e each if ||L|| ||L_inv|| < 1e6, which the caller
// ensures. In (3) 1e-10 |alpha~| |k| stands for those of alpha, where the caller ensures ||L|| ||L_inv|| < 1e4: it is
// an allowance, as the worst case m 2^-53 1e4 is larger from m = 91 on. If k overflows a float, e is infinite or NaN,
// and nothing is decided by it.
//
// Rounding of sums and triangular systems: Higham 2002, Accuracy and Stability of Numerical Algorithms, ch. 3 and 8.
#pragma once
#include "learn/projectron.h"

namespace onkel {

// Squared Frobenius norms.
struct SquaredNorms {
  double L_inv, L;
};

// Computes rows [first, last) of L_inv from L, in double, and stores them as floats in panels (target/target.h).
// Returns the squared norms of all rows, given those of the rows before `first`.
inline SquaredNorms invert_rows(const double* L, int64_t cap, int64_t first, int64_t last, float* L_inv,
                                SquaredNorms sq_norms) {
  std::vector<double> row(static_cast<size_t>(last));
  for (int64_t t = first; t < last; ++t) {
    for (int64_t j = 0; j < t; ++j) row[size_t(j)] = 0.0;
    row[size_t(t)] = 1.0;
    current_target().substitute_back(L, cap, t + 1, row.data());
    float* to = L_inv + triangle_panel(t / kTriangle) + t % kTriangle;
    for (int64_t j = 0; j <= t; ++j) to[j * kTriangle] = float(row[size_t(j)]);
    sq_norms.L_inv += dot(row.data(), row.data(), t + 1);
    sq_norms.L += dot(L + t * cap, L + t * cap, t + 1);
  }
  return sq_norms;
}

// beta += L^-1 deferred, both (m): the sum of the deferred steps.
inline void apply_deferred(const double* L, int64_t cap, int64_t m, const double* deferred, double* beta) {
  std::vector<double> z(deferred, deferred + m);
  current_target().substitute(L, cap, 0, m, z.data());
  for (int64_t t = 0; t < m; ++t) beta[t] += z[size_t(t)];
}

// z~ = L_inv k in single precision.
struct Estimate {
  std::vector<float> memory;
  const float *z, *w;    // z~, and L_inv' z~ where it was asked for, else null
  double length, error;  // |z~|, and e of (1)
};

constexpr double kFloatUnit = 0.5 * std::numeric_limits<float>::epsilon();  // u
constexpr double kFloatLeast = std::numeric_limits<float>::min(), kFloatMost = 1e30;

inline int64_t whole_panels(int64_t m) { return (m + kTriangle - 1) / kTriangle * kTriangle; }

// norm: ||L_inv||; back: whether L_inv' z~ is wanted.
template <class T> Estimate estimate(const T* k, int64_t m, const float* L_inv, double norm, bool back = false) {
  const int64_t padded = whole_panels(m);
  Estimate approx{std::vector<float>(size_t(padded * (back ? 3 + kTriangleLanes : 2))), nullptr, nullptr, 0, 0};
  float *values = approx.memory.data(), *z = values + padded, *w = back ? z + padded : nullptr;
  for (int64_t t = 0; t < m; ++t) values[t] = float(k[t]);
  double sq_norms[2];  // |k|^2, of the rounded k, and |z~|^2
  current_target().estimate(L_inv, m, values, z, sq_norms, back ? w + padded : nullptr, w);
  const double roundings = double(kEstimateBlock + m / kEstimateBlock + 8);
  approx.z = z;
  approx.w = w;
  approx.length = std::sqrt(sq_norms[1]);
  approx.error = norm * (roundings * kFloatUnit * std::sqrt(sq_norms[0]) + double(m) * kFloatLeast);
  return approx;
}

inline void meet(const double* b, const float* k, int64_t m, double* sums) { current_target().meet32(b, k, m, sums); }
inline void meet(const double* b, const double* k, int64_t m, double* sums) { current_target().meet64(b, k, m, sums); }

// kLedgerFull: nothing has changed, because the ledger may have no room for the step.
enum class Outcome : int { kUndecided = 0, kNoUpdate = 1, kDeferred = 2, kLedgerFull = 3 };

// The state of a Projectron as the screening sees it.
struct Screen {
  Projection p;
  int64_t m, c, cap;    // support vectors, outputs, values from one row of beta to the next
  const float* L_inv;
  double norm;          // ||L_inv||
  const double* beta;   // (c, cap): without the deferred steps
  double* deferred;     // (2, cap), of one output, or null: sum of s k over deferred steps s; beta~ or alpha~ with them
  ProjectronRecord* record;
};

// One deferred step s on the example with kernel values k: `approx` is z~ or L_inv' z~.
template <class T> void defer(const Screen& s, double step, const T* k, const float* approx) {
  for (int64_t t = 0; t < s.m; ++t) {
    s.deferred[t] += step * double(k[t]);
    s.deferred[s.cap + t] += step * double(approx[t]);
  }
  ++s.record->n_mistakes;
  ++s.record->n_updates;
}

// Screens by the score beta~ . z~, for any number of outputs; steps are deferred only if there is one. k (m) and
// y (c), NaN where an output ignores the example. Unless undecided, F (c) gets the scores to within (2), and steps (c)
// the steps.
template <class T>
Outcome screen_by_projection(const Screen& s, const T* k, double kxx, const double* y, double* F, double* steps) {
  const Estimate approx = estimate(k, s.m, s.L_inv, s.norm);
  const double most = approx.length + approx.error, least = positive(approx.length - approx.error);
  const double delta_sq_low = positive(kxx - most * most), delta_sq_high = positive(kxx - least * least);
  bool wrong = false;
  for (int64_t o = 0; o < s.c; ++o) {
    double sums[3];
    meet(s.deferred ? s.deferred + s.cap : s.beta + o * s.cap, approx.z, s.m, sums);
    F[o] = sums[0];
    steps[o] = 0.0;
    if (y[o] != y[o]) continue;
    const double margin = y[o] * F[o];
    const double error = approx.error * std::sqrt(sums[1]) + (s.deferred ? s.record->beta_error * most : 0.0);
    if (margin + error < 0) {
      steps[o] = y[o];
      wrong = true;
    } else if (!(margin - error > 0)) {
      return Outcome::kUndecided;
    } else if (s.p.aggressive && margin - error < 1) {
      const double loss = 1 - margin + error;  // the largest loss, the least |z| and the least delta favour a step most
      if (!(in_favour(s.p, loss, std::fmin(least * least, loss), delta_sq_low) < 0)) return Outcome::kUndecided;
    }
  }
  if (!wrong) return Outcome::kNoUpdate;
  const bool full = s.m >= s.p.budget, within = delta_sq_high <= s.p.eta * s.p.eta;
  if (!s.deferred || !(full || within)) return Outcome::kUndecided;
  defer(s, steps[0], k, approx.z);
  s.record->beta_error += std::fabs(steps[0]) * approx.error;
  return Outcome::kDeferred;
}

constexpr double kAlphaRounding = 1e-10;  // of (3)

// The score alpha~ . k of the one output there is, and the bound (3) of its error.
template <class T> void estimate_score(const Screen& s, const T* k, double kxx, double* F, double* error) {
  double sums[3];
  meet(s.deferred + s.cap, k, s.m, sums);
  const double length = std::sqrt(sums[2]);
  *F = sums[0];
  *error = 2 * s.record->beta_error * std::sqrt(positive(kxx)) +
           (s.record->alpha_error + kAlphaRounding * std::sqrt(sums[1])) * length;
}

// Screens by the score alpha~ . k, for one output that learns from mistakes only: most examples are then decided
// without a product with L_inv. Arguments and results are those of screen_by_projection, F to within (3).
template <class T>
Outcome screen_by_coefficients(const Screen& s, const T* k, double kxx, const double* y, double* F, double* steps) {
  double error = 0;
  estimate_score(s, k, kxx, F, &error);
  const double margin = *y * *F;
  *steps = 0.0;
  if (*y != *y || margin - error > 0) return Outcome::kNoUpdate;
  if (!(margin + error < 0)) return Outcome::kUndecided;
  const Estimate approx = estimate(k, s.m, s.L_inv, s.norm, true);
  const double least = positive(approx.length - approx.error);
  const bool full = s.m >= s.p.budget, within = positive(kxx - least * least) <= s.p.eta * s.p.eta;
  const double largest = s.norm * approx.length;  // bounds |L_inv' z~|
  if (!(full || within) || !(largest < kFloatMost)) return Outcome::kUndecided;
  *steps = *y;
  defer(s, *steps, k, approx.w);
  const double roundings = double(s.m / 4 + 16);  // m / 4 sums follow each other in vectors of four floats
  s.record->beta_error += std::fabs(*steps) * approx.error;
  s.record->alpha_error += std::fabs(*steps) * (roundings * kFloatUnit * largest + double(s.m * s.m) * kFloatLeast);
  return Outcome::kDeferred;
}

}  // namespace onkel
