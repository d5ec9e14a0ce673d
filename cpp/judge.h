// The Projectron on one example, without projecting it where that is not needed.
//
// An aggressive learner looks at the margin of nearly every example, and refuses most; and of a mistake that
// is projected only the sum of the steps matters: B + s1 z1 + s2 z2 = B + L^-1 (s1 k1 + s2 k2). So z need not
// be exact to judge by, and steps can wait for each other. M = L^-1 in single precision gives z by a product,
// in half the bytes of L and without a chain of divisions, to within a bound. Where the bound leaves a doubt,
// the steps that wait are settled, and project_pass works on exact numbers.
#pragma once
#include "project.h"

namespace onkel {

// Rows [first, last) of M, one by one from L; the squares of M and of L are added to squares[0] and [1].
inline void invert_rows(const double* L, int64_t cap, int64_t first, int64_t last, float* M, double* squares) {
  std::vector<double> row(static_cast<size_t>(last));
  for (int64_t t = first; t < last; ++t) {
    for (int64_t j = 0; j < t; ++j) row[size_t(j)] = 0.0;
    row[size_t(t)] = 1.0;
    current_target().substitute_back(L, cap, t + 1, row.data());
    float* to = M + triangle_panel(t / kTriangle) + t % kTriangle;
    for (int64_t j = 0; j <= t; ++j) to[j * kTriangle] = float(row[size_t(j)]);
    squares[0] += dot(row.data(), row.data(), t + 1);
    squares[1] += dot(L + t * cap, L + t * cap, t + 1);
  }
}

// B += L^-1 waiting, both (m).
inline void settle(const double* L, int64_t cap, int64_t m, const double* waiting, double* B) {
  std::vector<double> z(waiting, waiting + m);
  current_target().substitute(L, cap, 0, m, z.data());
  for (int64_t t = 0; t < m; ++t) B[t] += z[size_t(t)];
}

// z roughly, and how far at most it is from what it stands for: each component is a sum of products, made with
// at most `roundings` of single precision, of numbers whose squares sum to at most |M_t|^2 |k|^2; numbers
// below `least` may have become 0. Where k does not fit into floats, there is no end of doubt.
struct Rough {
  std::vector<float> memory;
  const float* z;
  double length, doubt;  // |z|, and the bound
};

template <class T> Rough estimate(const T* k, int64_t m, const float* M, double norm) {
  const int64_t padded = (m + kTriangle - 1) / kTriangle * kTriangle;
  Rough rough{std::vector<float>(size_t(2 * padded), 0.0f), nullptr, 0, 0};
  float *values = rough.memory.data(), *z = values + padded;
  for (int64_t t = 0; t < m; ++t) values[t] = float(k[t]);
  double squares[2];  // of k, rounded, and of z
  current_target().estimate(M, m, values, z, squares);
  const double roundings = double(kEstimateBlock + m / kEstimateBlock + 8);
  constexpr double unit = 0.5 * std::numeric_limits<float>::epsilon(), least = std::numeric_limits<float>::min();
  rough.z = z;
  rough.length = std::sqrt(squares[1]);
  rough.doubt = norm * (roundings * unit * std::sqrt(squares[0]) + double(m) * least);
  return rough;
}

enum class Verdict : int {
  kInDoubt = 0,  // project it
  kNothing = 1,  // it teaches nothing: no machine errs, and none makes a step on its margin
  kWaits = 2     // a mistake, to be projected: its step waits
};

// One example of weight w; k (m), y (c), `norm` is |M|. What was learned is B (c, cap) or, of one machine,
// `waiting` (2, cap): what B lacks, times L, and B with it, roughly, at a distance of at most *behind. Results
// but in doubt: scores F (c), in single precision; steps (c) and counts as project_pass has them.
template <class T>
Verdict judge(const Projection& p, const T* k, double kxx, double w, int64_t m, const float* M, double norm,
              const double* B, int64_t c, int64_t cap, double* waiting, double* behind, const double* y, double* F,
              double* steps, int64_t* counts) {
  const Rough rough = estimate(k, m, M, norm);
  const double most = rough.length + rough.doubt, least = positive(rough.length - rough.doubt);
  const double delta_sq_low = positive(kxx - most * most), delta_sq_high = positive(kxx - least * least);
  int64_t wrong = 0;
  for (int64_t o = 0; o < c; ++o) {
    const double* b = waiting ? waiting + cap : B + o * cap;
    double sums[2];  // b . z and |b|^2
    current_target().meet(b, rough.z, m, sums);
    F[o] = sums[0];
    steps[o] = 0.0;
    if (y[o] != y[o]) continue;
    const double margin = y[o] * F[o], slack = rough.doubt * std::sqrt(sums[1]) + (waiting ? *behind * most : 0.0);
    if (margin + slack < 0) {
      steps[o] = w * y[o];
      ++wrong;
    } else if (!(margin - slack > 0)) {
      return Verdict::kInDoubt;
    } else if (p.aggressive && margin - slack < 1) {
      const double loss = 1 - margin + slack;  // at most, and |z| and delta at least: all that may speak for a step
      if (!(in_favour(p, loss, std::fmin(least * least, loss), delta_sq_low) < 0)) return Verdict::kInDoubt;
    }
  }
  if (wrong == 0) return Verdict::kNothing;
  const bool full = m >= p.budget, within = delta_sq_high <= p.eta * p.eta;
  if (!waiting || !(full || within)) return Verdict::kInDoubt;
  for (int64_t t = 0; t < m; ++t) {
    waiting[t] += steps[0] * double(k[t]);
    waiting[cap + t] += steps[0] * double(rough.z[t]);
  }
  *behind += std::fabs(steps[0]) * rough.doubt;
  counts[0] += wrong;
  counts[1] += wrong;
  return Verdict::kWaits;
}

}  // namespace onkel
