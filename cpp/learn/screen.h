// The Projectron on one example, without projecting it where that is not needed.
//
// An aggressive learner looks at the margin of nearly every example, and refuses most; and of a mistake that
// is projected only the sum of the steps matters: B + s1 z1 + s2 z2 = B + L^-1 (s1 k1 + s2 k2). So z need not
// be exact to judge by, and steps can be deferred. M = L^-1 in single precision gives z by a product,
// in half the bytes of L and without a chain of divisions, to within a bound. Where the bound leaves a doubt,
// the deferred steps are applied, and project_pass works on exact numbers.
//
// A learner that is not aggressive is right on most examples, and knows that by the coefficients of the support
// alone, A = L'^-1 B: f(x) = A . k. There it is A + s M' z that is kept roughly, and only a mistake takes M.
#pragma once
#include "learn/projectron.h"

namespace onkel {

// Rows [first, last) of M, one by one from L; the squared norms of these rows of M and of L are added to sq_norms[0] and [1].
inline void invert_rows(const double* L, int64_t cap, int64_t first, int64_t last, float* M, double* sq_norms) {
  std::vector<double> row(static_cast<size_t>(last));
  for (int64_t t = first; t < last; ++t) {
    for (int64_t j = 0; j < t; ++j) row[size_t(j)] = 0.0;
    row[size_t(t)] = 1.0;
    current_target().substitute_back(L, cap, t + 1, row.data());
    float* to = M + triangle_panel(t / kTriangle) + t % kTriangle;
    for (int64_t j = 0; j <= t; ++j) to[j * kTriangle] = float(row[size_t(j)]);
    sq_norms[0] += dot(row.data(), row.data(), t + 1);
    sq_norms[1] += dot(L + t * cap, L + t * cap, t + 1);
  }
}

// B += L^-1 deferred, both (m).
inline void apply_deferred(const double* L, int64_t cap, int64_t m, const double* deferred, double* B) {
  std::vector<double> z(deferred, deferred + m);
  current_target().substitute(L, cap, 0, m, z.data());
  for (int64_t t = 0; t < m; ++t) B[t] += z[size_t(t)];
}

// z roughly, and how far at most it is from what it stands for: each component is a sum of products, made with
// at most `roundings` of single precision, of numbers whose squares sum to at most |M_t|^2 |k|^2; numbers
// below `least` may have become 0. Where k does not fit into floats, there is no end of doubt.
struct Rough {
  std::vector<float> memory;
  const float *z, *w;    // and M'z, where it was asked for
  double length, doubt;  // |z|, and the bound
};

constexpr double kFloatUnit = 0.5 * std::numeric_limits<float>::epsilon();
constexpr double kFloatLeast = std::numeric_limits<float>::min(), kFloatMost = 1e30;

inline int64_t whole_panels(int64_t m) { return (m + kTriangle - 1) / kTriangle * kTriangle; }

template <class T> Rough estimate(const T* k, int64_t m, const float* M, double norm, bool back = false) {
  const int64_t padded = whole_panels(m);
  Rough rough{std::vector<float>(size_t(padded * (back ? 3 + kTriangleLanes : 2))), nullptr, nullptr, 0, 0};
  float *values = rough.memory.data(), *z = values + padded, *w = back ? z + padded : nullptr;
  for (int64_t t = 0; t < m; ++t) values[t] = float(k[t]);
  double sq_norms[2];  // of k, rounded, and of z
  current_target().estimate(M, m, values, z, sq_norms, back ? w + padded : nullptr, w);
  const double roundings = double(kEstimateBlock + m / kEstimateBlock + 8);
  rough.z = z;
  rough.w = w;
  rough.length = std::sqrt(sq_norms[1]);
  rough.doubt = norm * (roundings * kFloatUnit * std::sqrt(sq_norms[0]) + double(m) * kFloatLeast);
  return rough;
}

inline void meet(const double* b, const float* k, int64_t m, double* sums) { current_target().meet32(b, k, m, sums); }
inline void meet(const double* b, const double* k, int64_t m, double* sums) { current_target().meet64(b, k, m, sums); }

enum class Verdict : int {
  kInDoubt = 0,  // project it
  kNothing = 1,  // it teaches nothing: no output errs, and none makes a step on its margin
  kDeferred = 2  // a mistake that is projected: its step is deferred
};

// What examples of weight 1 are judged by. What was learned is B (c, cap) or, of one output, `deferred` (2, cap):
// what B lacks, times L, and B with it, or A with it, roughly.
struct Judge {
  Projection p;
  int64_t m, c, cap;
  const float* M;
  double norm;  // |M|
  const double* B;
  double* deferred;
  double* error_bound;   // (2), below
  int64_t* counts;  // as project_pass has them
};

// By B . z. k (m) and y (c) are those of an example; results but in doubt are scores F (c), in single precision, and
// steps (c). The rough B is at a distance of at most error_bound[0].
template <class T>
Verdict judge_projection(const Judge& j, const T* k, double kxx, const double* y, double* F, double* steps) {
  const Rough rough = estimate(k, j.m, j.M, j.norm);
  const double most = rough.length + rough.doubt, least = positive(rough.length - rough.doubt);
  const double delta_sq_low = positive(kxx - most * most), delta_sq_high = positive(kxx - least * least);
  int64_t wrong = 0;
  for (int64_t o = 0; o < j.c; ++o) {
    double sums[3];
    meet(j.deferred ? j.deferred + j.cap : j.B + o * j.cap, rough.z, j.m, sums);
    F[o] = sums[0];
    steps[o] = 0.0;
    if (y[o] != y[o]) continue;
    const double margin = y[o] * F[o];
    const double slack = rough.doubt * std::sqrt(sums[1]) + (j.deferred ? j.error_bound[0] * most : 0.0);
    if (margin + slack < 0) {
      steps[o] = y[o];
      ++wrong;
    } else if (!(margin - slack > 0)) {
      return Verdict::kInDoubt;
    } else if (j.p.aggressive && margin - slack < 1) {
      const double loss = 1 - margin + slack;  // at most, and |z| and delta at least: all that may speak for a step
      if (!(in_favour(j.p, loss, std::fmin(least * least, loss), delta_sq_low) < 0)) return Verdict::kInDoubt;
    }
  }
  if (wrong == 0) return Verdict::kNothing;
  const bool full = j.m >= j.p.budget, within = delta_sq_high <= j.p.eta * j.p.eta;
  if (!j.deferred || !(full || within)) return Verdict::kInDoubt;
  for (int64_t t = 0; t < j.m; ++t) {
    j.deferred[t] += steps[0] * double(k[t]);
    j.deferred[j.cap + t] += steps[0] * double(rough.z[t]);
  }
  j.error_bound[0] += std::fabs(steps[0]) * rough.doubt;
  j.counts[0] += wrong;
  j.counts[1] += wrong;
  return Verdict::kDeferred;
}

// A . k of one output, and how far at most it is off: error_bound[0] times the length of the projection, which is that
// of the example at most and here taken for twice as much, since k is rounded; error_bound[1] times |k|; and the
// rounding of A itself.
constexpr double kRoundingOfA = 1e-10;
template <class T> void score_roughly(const Judge& j, const T* k, double kxx, double* F, double* slack) {
  double sums[3];
  meet(j.deferred + j.cap, k, j.m, sums);
  const double length = std::sqrt(sums[2]);
  *F = sums[0];
  *slack = 2 * j.error_bound[0] * std::sqrt(positive(kxx)) + (j.error_bound[1] + kRoundingOfA * std::sqrt(sums[1])) * length;
}

// By A . k, for one output that is not aggressive. M'(z + e) is off by M'e, which is at most |e| |z'| in the score of
// an example with the projection z', and by its own roundings, error_bound[1]: for a column of M at most |M_j| |z| times
// as many units as follow each other there (m / 4 for vectors of four).
template <class T>
Verdict judge_coefficients(const Judge& j, const T* k, double kxx, const double* y, double* F, double* steps) {
  double slack = 0;
  score_roughly(j, k, kxx, F, &slack);
  const double margin = *y * *F;
  *steps = 0.0;
  if (*y != *y || margin - slack > 0) return Verdict::kNothing;
  if (!(margin + slack < 0)) return Verdict::kInDoubt;
  const Rough rough = estimate(k, j.m, j.M, j.norm, true);
  const double least = positive(rough.length - rough.doubt);
  const bool full = j.m >= j.p.budget, within = positive(kxx - least * least) <= j.p.eta * j.p.eta;
  const double largest = j.norm * rough.length;  // |M'z| at most
  if (!(full || within) || !(largest < kFloatMost)) return Verdict::kInDoubt;
  *steps = *y;
  for (int64_t t = 0; t < j.m; ++t) {
    j.deferred[t] += *steps * double(k[t]);
    j.deferred[j.cap + t] += *steps * double(rough.w[t]);
  }
  const double roundings = double(j.m / 4 + 16);
  j.error_bound[0] += std::fabs(*steps) * rough.doubt;
  j.error_bound[1] += std::fabs(*steps) * (roundings * kFloatUnit * largest + double(j.m * j.m) * kFloatLeast);
  ++j.counts[0];
  ++j.counts[1];
  return Verdict::kDeferred;
}

}  // namespace onkel
