// Triangular systems and products on vectors of the target, for the Projectron.
//
//   solve            L Z' = K'  for many right-hand sides at once
//   substitute       L z = k    for one
//   substitute_back  L' a = b   for one
//   estimate         z = L_inv k, and L_inv' z, in single precision
//   meet             b . k, |b|^2 and |k|^2
//
// Given L (m, m) lower triangular with rows ld apart, or L_inv = L^-1 in panels (target/target.h). BLAS has
// dtrsm for this, but the threads of a BLAS keep spinning after a call and slow down ours. Four rows of L at a time
// share what is loaded of the solution.
#pragma once
#include "product/simd.h"
#include "target/target.h"

namespace onkel { namespace ONKEL_TARGET {

constexpr int kSolveVectors = kBytes >= 64 ? 2 : 4;  // vectors of right-hand sides
constexpr int64_t kSolveRows = kSolveVectors * kLanes<double>;
constexpr int kSolveSteps = 4;  // rows of L

static int64_t solve_rows() { return kSolveRows; }

// z (m, kSolveRows): the right-hand sides on entry, the solutions on return. Component t of all right-hand sides lies
// side by side, so that an entry of L multiplies them with one vector operation.
static void solve(const double* L, int64_t ld, int64_t m, double* z) {
  typedef Simd<double>::V V;
  constexpr int kStep = kLanes<double>;
  for (int64_t t = 0; t < m; t += kSolveSteps) {
    const int64_t count = m - t < kSolveSteps ? m - t : kSolveSteps;
    V sum[kSolveSteps][kSolveVectors];
    for (int64_t s = 0; s < kSolveSteps; ++s)
      for (int v = 0; v < kSolveVectors; ++v)
        sum[s][v] = s < count ? load(z + (t + s) * kSolveRows + v * kStep) : V{};
    if (count == kSolveSteps) {
      const double *l0 = L + t * ld, *l1 = l0 + ld, *l2 = l1 + ld, *l3 = l2 + ld;
      for (int64_t j = 0; j < t; ++j) {
        const V a[kSolveSteps] = {splat(l0[j]), splat(l1[j]), splat(l2[j]), splat(l3[j])};
#pragma GCC unroll 4
        for (int v = 0; v < kSolveVectors; ++v) {
          const V zj = load(z + j * kSolveRows + v * kStep);
#pragma GCC unroll 4
          for (int s = 0; s < kSolveSteps; ++s) sum[s][v] -= a[s] * zj;
        }
      }
    } else {
      for (int64_t s = 0; s < count; ++s)
        for (int64_t j = 0; j < t; ++j)
          for (int v = 0; v < kSolveVectors; ++v)
            sum[s][v] -= L[(t + s) * ld + j] * load(z + j * kSolveRows + v * kStep);
    }
    for (int64_t s = 0; s < count; ++s) {
      const double* row = L + (t + s) * ld + t;
      for (int v = 0; v < kSolveVectors; ++v) {
        V x = sum[s][v];
        for (int64_t j = 0; j < s; ++j) x -= row[j] * sum[j][v];
        sum[s][v] = x / row[s];
        store(z + (t + s) * kSolveRows + v * kStep, sum[s][v]);
      }
    }
  }
}

// z_t for t in [from, to): the right-hand side on entry, the solution on return; components before `from` are solved.
// The triangle in the corner of four rows is solved in registers, because each value depends on the one before and
// would arrive later through memory.
static void substitute(const double* L, int64_t ld, int64_t from, int64_t to, double* z) {
  typedef Simd<double>::V V;
  constexpr int kStep = kLanes<double>;
  int64_t t = from;
  for (; t + kSolveSteps <= to; t += kSolveSteps) {
    const double* row[kSolveSteps];
    V sum[kSolveSteps] = {};
    double at[kSolveSteps];
    for (int s = 0; s < kSolveSteps; ++s) row[s] = L + (t + s) * ld;
    int64_t j = 0;
    for (; j + kStep <= t; j += kStep) {
      const V zj = load(z + j);
#pragma GCC unroll 4
      for (int s = 0; s < kSolveSteps; ++s) sum[s] += load(row[s] + j) * zj;
    }
#pragma GCC unroll 4
    for (int s = 0; s < kSolveSteps; ++s) at[s] = z[t + s] - sum_of(sum[s]);
    for (; j < t; ++j)
#pragma GCC unroll 4
      for (int s = 0; s < kSolveSteps; ++s) at[s] -= row[s][j] * z[j];
#pragma GCC unroll 4
    for (int s = 0; s < kSolveSteps; ++s) {
      at[s] /= row[s][t + s];
      z[t + s] = at[s];
#pragma GCC unroll 4
      for (int k = s + 1; k < kSolveSteps; ++k) at[k] -= row[k][t + s] * at[s];
    }
  }
  for (; t < to; ++t) {
    for (int64_t j = 0; j < t; ++j) z[t] -= L[t * ld + j] * z[j];
    z[t] /= L[t * ld + t];
  }
}

// L' a = b, from the last row of L to the first, four at a time. a: b on entry, the solution on return.
static void substitute_back(const double* L, int64_t ld, int64_t m, double* a) {
  typedef Simd<double>::V V;
  constexpr int kStep = kLanes<double>;
  for (int64_t end = m; end > 0;) {
    const int64_t count = end < kSolveSteps ? end : kSolveSteps, first = end - count;
    double at[kSolveSteps] = {};
    const double* row[kSolveSteps];
    for (int64_t s = 0; s < kSolveSteps; ++s) row[s] = L + (first + (s < count ? s : 0)) * ld;
    for (int64_t s = count - 1; s >= 0; --s) {  // the triangle in the corner of these rows
      double value = a[first + s];
      for (int64_t k = s + 1; k < count; ++k) value -= at[k] * row[k][first + s];
      a[first + s] = at[s] = value / row[s][first + s];
    }
    int64_t j = 0;
    for (; j + kStep <= first; j += kStep) {
      V value = load(a + j);
#pragma GCC unroll 4
      for (int s = 0; s < kSolveSteps; ++s) value -= at[s] * load(row[s] + j);
      store(a + j, value);
    }
    for (; j < first; ++j)
      for (int64_t s = 0; s < count; ++s) a[j] -= at[s] * row[s][j];
    end = first;
  }
}

// z = L_inv k in single precision; k and z are padded to whole panels. Columns are summed in blocks of kEstimateBlock,
// so that few roundings follow each other: the error is bounded in screen.h. sq_norms[0] = |k|^2, sq_norms[1] = |z|^2.
// If `sums`, scratch of (m padded, kTriangleLanes), is not null, also w = L_inv' z, while each panel is in the cache.
static void estimate(const float* L_inv, int64_t m, const float* k, float* z, double* sq_norms, float* sums, float* w) {
  typedef Simd<float>::V V;
  constexpr int kStep = kLanes<float>, kWidth = int(kTriangle) / kStep, kSums = kWidth > 4 ? 1 : 8 / kWidth;
  static_assert(kTriangle % kEstimateBlock == 0 && kEstimateBlock % kSums == 0, "blocks are whole");
  static_assert(kTriangle % kStep == 0 && kStep <= kTriangleLanes && kTriangle % 4 == 0, "so are vectors");
  Wide kk = {}, zz = {};
  for (int64_t t = 0; t < m; t += kTriangle) {
    V total[kWidth] = {};
    const int64_t columns = t + kTriangle;
    const float* panel = L_inv;
    for (int64_t first = 0; first < columns; first += kEstimateBlock) {
      V sum[kSums][kWidth] = {};
      for (int64_t j = first; j < first + kEstimateBlock; j += kSums)
#pragma GCC unroll 8
        for (int s = 0; s < kSums; ++s, L_inv += kTriangle)
#pragma GCC unroll 4
          for (int v = 0; v < kWidth; ++v) sum[s][v] += k[j + s] * load(L_inv + v * kStep);
      for (int v = 0; v < kWidth; ++v) {
        for (int s = 1; s < kSums; ++s) sum[0][v] += sum[s][v];
        total[v] += sum[0][v];
      }
    }
    for (int v = 0; v < kWidth; ++v) store(z + t + v * kStep, total[v]);
    for (int64_t j = t; j < t + kTriangle; j += kWide) {
      const Wide kj = load_wide(k + j), zj = load_wide(z + j);
      kk += kj * kj;
      zz += zj * zj;
    }
    for (int64_t j = 0; sums && j < columns; j += 4, panel += 4 * kTriangle) {
      V sum[4];
#pragma GCC unroll 4
      for (int s = 0; s < 4; ++s) sum[s] = j < t ? load(sums + (j + s) * kStep) : V{};  // 0: first panel with column j
#pragma GCC unroll 4
      for (int v = 0; v < kWidth; ++v)
#pragma GCC unroll 4
        for (int s = 0; s < 4; ++s) sum[s] += total[v] * load(panel + s * kTriangle + v * kStep);
#pragma GCC unroll 4
      for (int s = 0; s < 4; ++s) store(sums + (j + s) * kStep, sum[s]);
    }
  }
  sq_norms[0] = sum_of(kk);
  sq_norms[1] = sum_of(zz);
  for (int64_t j = 0; sums && j < m; ++j) {
    float sum = 0;
    for (int l = 0; l < kStep; ++l) sum += sums[j * kStep + l];
    w[j] = sum;
  }
}

// sums[0] = b . k, sums[1] = |b|^2, sums[2] = |k|^2, in double.
template <class T> static void meet(const double* b, const T* k, int64_t m, double* sums) {
  Wide bk = {}, bb = {}, kk = {};
  int64_t t = 0;
  for (; t + kWide <= m; t += kWide) {
    const Wide bt = load(b + t), kt = load_wide(k + t);
    bk += bt * kt;
    bb += bt * bt;
    kk += kt * kt;
  }
  sums[0] = sum_of(bk);
  sums[1] = sum_of(bb);
  sums[2] = sum_of(kk);
  for (; t < m; ++t) {
    const double kt = double(k[t]);
    sums[0] += b[t] * kt;
    sums[1] += b[t] * b[t];
    sums[2] += kt * kt;
  }
}

}}  // namespace onkel::ONKEL_TARGET
