// The two loops of LASVM (lasvm.h) over the whole gradient, on vectors of the target.
//
//   weighted   sum_s a_s k_s, the score of a new example
//   shift      g_s -= step (ki_s - kj_s), a pair step; then the largest and the smallest entry that may move
//
// LASVM steps at the largest entry of the gradient, and two entries are often equal but for rounding. The choice
// between them must depend neither on the SIMD target nor on the order of the slots in memory. Therefore products are
// rounded before they are added (no fused multiply-add), sums are always made of every sixteenth entry, and the
// first of equal entries is chosen. Lengths are multiples of kEntries; padding is 0 or masked.
#pragma once
#include "product/simd.h"

// Keeps the compiler from fusing the product v with a following sum.
#if defined(__AVX512F__)
#define ONKEL_ROUNDED(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define ONKEL_ROUNDED(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define ONKEL_ROUNDED(v) __asm__("" : "+w"(v))
#else
#define ONKEL_ROUNDED(v)
#endif

namespace onkel { namespace ONKEL_TARGET {

constexpr int kEntries = 16;
constexpr int64_t kSearch = 256;  // entries of a block; only the block of the largest entry is searched for its place

// sum_s a_s k_s
template <class T> static double weighted(const double* a, const T* k, int64_t n) {
  Wide sum[kEntries / kWide] = {};
  for (int64_t s = 0; s < n; s += kEntries)
#pragma GCC unroll 8
    for (int v = 0; v < kEntries / kWide; ++v) {
      Wide term = load(a + s + v * kWide) * load_wide(k + s + v * kWide);
      ONKEL_ROUNDED(term);
      sum[v] += term;
    }
  double total = 0;
  for (int v = 0; v < kEntries / kWide; ++v)
    for (int l = 0; l < kWide; ++l) total += sum[v][l];
  return total;
}

// g_s -= step (ki_s - kj_s), unless ki is null. Then where[0] is the first s of the largest g_s + up_s, and where[1]
// that of the smallest g_s + down_s, or -1 if all are masked: up is 0 or -inf, down 0 or +inf.
template <class T>
static void shift(double* g, const T* ki, const T* kj, double step, const double* up, const double* down, int64_t n,
                  int64_t* where) {
  const double inf = __builtin_inf();
  const Wide by = splat(step);
  double most = -inf, least = inf;
  int64_t most_at = -1, least_at = -1;
  for (int64_t first = 0; first < n; first += kSearch) {
    const int64_t end = first + kSearch < n ? first + kSearch : n;
    Wide high = splat(-inf), low = splat(inf);
    for (int64_t s = first; s < end; s += kWide) {
      Wide v = load(g + s);
      if (ki) {
        Wide change = by * (load_wide(ki + s) - load_wide(kj + s));
        ONKEL_ROUNDED(change);
        v -= change;
        store(g + s, v);
      }
      high = at_least(high, v + load(up + s));
      low = at_most(low, v + load(down + s));
    }
    for (int l = 0; l < kWide; ++l) {
      if (high[l] > most) most = high[l], most_at = first;
      if (low[l] < least) least = low[l], least_at = first;
    }
  }
  where[0] = where[1] = -1;
  if (most_at >= 0)
    for (where[0] = most_at; g[where[0]] + up[where[0]] != most;) ++where[0];
  if (least_at >= 0)
    for (where[1] = least_at; g[where[1]] + down[where[1]] != least;) ++where[1];
}

}}  // namespace onkel::ONKEL_TARGET
