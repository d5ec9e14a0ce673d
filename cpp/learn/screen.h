// The Projectron on one example, without projecting it where that is not needed.
//
// An aggressive learner looks at the margin of nearly every example, and refuses most; and of a mistake that
// is projected only the sum of the steps matters: beta + s1 z1 + s2 z2 = beta + L^-1 (s1 k1 + s2 k2). So z need not
// be exact to decide by, and steps can be deferred. L_inv = L^-1 in single precision gives z by a product,
// in half the bytes of L and without a chain of divisions, to within a bound. Where the bound leaves a error,
// the deferred steps are applied, and project_pass works on exact numbers.
//
// A learner that is not aggressive is right on most examples, and knows that by the coefficients of the support
// alone, alpha = L'^-1 beta: f(x) = alpha . k. There it is alpha + s L_inv' z that is kept roughly, and only a mistake takes L_inv.
#pragma once
#include "learn/projectron.h"

namespace onkel {

// Rows [first, last) of L_inv, one by one from L; the squared norms of these rows of L_inv and of L are added to sq_norms[0] and [1].
inline void invert_rows(const double* L, int64_t cap, int64_t first, int64_t last, float* L_inv, double* sq_norms) {
  std::vector<double> row(static_cast<size_t>(last));
  for (int64_t t = first; t < last; ++t) {
    for (int64_t j = 0; j < t; ++j) row[size_t(j)] = 0.0;
    row[size_t(t)] = 1.0;
    current_target().substitute_back(L, cap, t + 1, row.data());
    float* to = L_inv + triangle_panel(t / kTriangle) + t % kTriangle;
    for (int64_t j = 0; j <= t; ++j) to[j * kTriangle] = float(row[size_t(j)]);
    sq_norms[0] += dot(row.data(), row.data(), t + 1);
    sq_norms[1] += dot(L + t * cap, L + t * cap, t + 1);
  }
}

// beta += L^-1 deferred, both (m).
inline void apply_deferred(const double* L, int64_t cap, int64_t m, const double* deferred, double* beta) {
  std::vector<double> z(deferred, deferred + m);
  current_target().substitute(L, cap, 0, m, z.data());
  for (int64_t t = 0; t < m; ++t) beta[t] += z[size_t(t)];
}

// z roughly, and how far at most it is from what it stands for: each component is a sum of products, made with
// at most `roundings` of single precision, of numbers whose squares sum to at most |M_t|^2 |k|^2; numbers
// below `least` may have become 0. Where k does not fit into floats, the bound is infinite.
struct Estimate {
  std::vector<float> memory;
  const float *z, *w;    // and L_inv'z, where it was asked for
  double length, error;  // |z|, and the bound
};

constexpr double kFloatUnit = 0.5 * std::numeric_limits<float>::epsilon();
constexpr double kFloatLeast = std::numeric_limits<float>::min(), kFloatMost = 1e30;

inline int64_t whole_panels(int64_t m) { return (m + kTriangle - 1) / kTriangle * kTriangle; }

template <class T> Estimate estimate(const T* k, int64_t m, const float* L_inv, double norm, bool back = false) {
  const int64_t padded = whole_panels(m);
  Estimate approx{std::vector<float>(size_t(padded * (back ? 3 + kTriangleLanes : 2))), nullptr, nullptr, 0, 0};
  float *values = approx.memory.data(), *z = values + padded, *w = back ? z + padded : nullptr;
  for (int64_t t = 0; t < m; ++t) values[t] = float(k[t]);
  double sq_norms[2];  // of k, rounded, and of z
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

enum class Outcome : int {
  kUndecided = 0,  // project it
  kNoUpdate = 1,  // it teaches nothing: no output errs, and none makes a step on its margin
  kDeferred = 2  // a mistake that is projected: its step is deferred
};

// What examples of weight 1 are screened by. What was learned is beta (c, cap) or, of one output, `deferred` (2, cap):
// what beta lacks, times L, and beta with it, or alpha with it, roughly.
struct Screen {
  Projection p;
  int64_t m, c, cap;
  const float* L_inv;
  double norm;  // |L_inv|
  const double* beta;
  double* deferred;
  double* error_bound;   // (2), below
  int64_t* counts;  // as project_pass has them
};

// By beta . z. k (m) and y (c) are those of an example; results, unless undecided, are scores F (c), in single precision, and
// steps (c). The approximate beta is at a distance of at most error_bound[0].
template <class T>
Outcome screen_by_projection(const Screen& s, const T* k, double kxx, const double* y, double* F, double* steps) {
  const Estimate approx = estimate(k, s.m, s.L_inv, s.norm);
  const double most = approx.length + approx.error, least = positive(approx.length - approx.error);
  const double delta_sq_low = positive(kxx - most * most), delta_sq_high = positive(kxx - least * least);
  int64_t wrong = 0;
  for (int64_t o = 0; o < s.c; ++o) {
    double sums[3];
    meet(s.deferred ? s.deferred + s.cap : s.beta + o * s.cap, approx.z, s.m, sums);
    F[o] = sums[0];
    steps[o] = 0.0;
    if (y[o] != y[o]) continue;
    const double margin = y[o] * F[o];
    const double error = approx.error * std::sqrt(sums[1]) + (s.deferred ? s.error_bound[0] * most : 0.0);
    if (margin + error < 0) {
      steps[o] = y[o];
      ++wrong;
    } else if (!(margin - error > 0)) {
      return Outcome::kUndecided;
    } else if (s.p.aggressive && margin - error < 1) {
      const double loss = 1 - margin + error;  // at most, and |z| and delta at least: all that may speak for a step
      if (!(in_favour(s.p, loss, std::fmin(least * least, loss), delta_sq_low) < 0)) return Outcome::kUndecided;
    }
  }
  if (wrong == 0) return Outcome::kNoUpdate;
  const bool full = s.m >= s.p.budget, within = delta_sq_high <= s.p.eta * s.p.eta;
  if (!s.deferred || !(full || within)) return Outcome::kUndecided;
  for (int64_t t = 0; t < s.m; ++t) {
    s.deferred[t] += steps[0] * double(k[t]);
    s.deferred[s.cap + t] += steps[0] * double(approx.z[t]);
  }
  s.error_bound[0] += std::fabs(steps[0]) * approx.error;
  s.counts[0] += wrong;
  s.counts[1] += wrong;
  return Outcome::kDeferred;
}

// alpha . k of one output, and how far at most it is off: error_bound[0] times the length of the projection, which is that
// of the example at most and here taken for twice as much, since k is rounded; error_bound[1] times |k|; and the
// rounding of alpha itself.
constexpr double kAlphaRounding = 1e-10;
template <class T> void estimate_score(const Screen& s, const T* k, double kxx, double* F, double* error) {
  double sums[3];
  meet(s.deferred + s.cap, k, s.m, sums);
  const double length = std::sqrt(sums[2]);
  *F = sums[0];
  *error = 2 * s.error_bound[0] * std::sqrt(positive(kxx)) + (s.error_bound[1] + kAlphaRounding * std::sqrt(sums[1])) * length;
}

// By alpha . k, for one output that is not aggressive. L_inv'(z + e) is off by L_inv'e, which is at most |e| |z'| in the score of
// an example with the projection z', and by its own roundings, error_bound[1]: for a column of L_inv at most |L_inv_j| |z| times
// as many units as follow each other there (m / 4 for vectors of four).
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
  const double largest = s.norm * approx.length;  // |L_inv'z| at most
  if (!(full || within) || !(largest < kFloatMost)) return Outcome::kUndecided;
  *steps = *y;
  for (int64_t t = 0; t < s.m; ++t) {
    s.deferred[t] += *steps * double(k[t]);
    s.deferred[s.cap + t] += *steps * double(approx.w[t]);
  }
  const double roundings = double(s.m / 4 + 16);
  s.error_bound[0] += std::fabs(*steps) * approx.error;
  s.error_bound[1] += std::fabs(*steps) * (roundings * kFloatUnit * largest + double(s.m * s.m) * kFloatLeast);
  ++s.counts[0];
  ++s.counts[1];
  return Outcome::kDeferred;
}

}  // namespace onkel
