// The first stage of the fused product (product.h): a few rows x one panel -> plain sums in a tile buffer.
//
// Given rows, dense and packed or as CSR entries, and packed panels. The result is, for each row r and column j,
//   start_x[r] + start_z[j] + sum over features k of op(x_rk, z_jk),
// accumulated in registers, feature after feature.
#pragma once
#include "product/simd.h"
#include "product/types.h"

namespace onkel { namespace ONKEL_TARGET {

constexpr int64_t kSparseBlock = 64;  // CSR rows that are summed before they are finished: in the first-level cache
constexpr int64_t kAhead = 800;       // entries between the one that is read and the one that is prefetched

// Adds one feature to the sums: of a row, x in every lane, and of a vector of columns, z.
template <class T, Op kOp, class V = typename Simd<T>::V> ONKEL_INLINE V meet(V sum, V x, V z) {
  if (kOp == Op::kManhattan) return sum + magnitude(x - z);
  if (kOp == Op::kDirect) {
    const V gap = x - z;
    return sum - T(0.5) * gap * gap;
  }
  if (kOp == Op::kMin) return sum + at_most(x, z);
  if (kOp == Op::kChi2) {
    const V gap = x - z, total = x + z;
    return sum + pick(total > 0, gap * gap / total, V{});
  }
  return sum + x * z;
}

// buffer[r][j] = start_x[r] + start_z[j] + sum_k op(a[k][r], b[k][j]) for kCount rows; a is packed, kRows wide.
template <class T, Op kOp, int kCount>
static void accumulate_dense(int64_t depth, const T* a, const T* b, const T* start_x, const T* start_z, T* buffer) {
  typedef typename Simd<T>::V V;
  constexpr int kSpan = kVectors * kLanes<T>;
  for (int j = 0; j < kPanel<T>; j += kSpan) {
    V sum[kCount][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kCount; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = splat(start_x[r]) + load(start_z + j + v * kLanes<T>);
    const T* pa = a;
    const T* pb = b + j;
    for (int64_t k = 0; k < depth; ++k, pa += kRows, pb += kPanel<T>) {
      V z[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) z[v] = load(pb + v * kLanes<T>);
#pragma GCC unroll 16
      for (int r = 0; r < kCount; ++r) {
        const V x = splat(pa[r]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[r][v] = meet<T, kOp>(sum[r][v], x, z[v]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kCount; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(buffer + r * kPanel<T> + j + v * kLanes<T>, sum[r][v]);
  }
}

// buffer[q][r][j], the same for kCount CSR rows and kAbreast panels, which lie `apart` values from each other. Row r
// has the entries e = starts[r] .. starts[r + 1] - 1, each with its panel row slots[e] and its value x[e].
// Only for ops to which a zero adds nothing: kDot, kDistance, kCosine, kMin.
template <class T, Op kOp, int kCount, int kAbreast>
static void accumulate_sparse(const int64_t* starts, const int32_t* slots, const T* x, const T* b, int64_t apart,
                              const T* start_x, const T* start_z, T* buffer) {
  typedef typename Simd<T>::V V;
  constexpr int kPer = kPanel<T> / kLanes<T>;
  V sum[kCount][kAbreast * kPer];
  const auto meet_entry = [&](int r, int64_t e) __attribute__((always_inline)) {
    const V xe = splat(x[e]);
    const T* row = b + int64_t(slots[e]) * kPanel<T>;
#pragma GCC unroll 2
    for (int q = 0; q < kAbreast; ++q)
#pragma GCC unroll 8
      for (int v = 0; v < kPer; ++v)
        sum[r][q * kPer + v] = meet<T, kOp>(sum[r][q * kPer + v], xe, load(row + q * apart + v * kLanes<T>));
  };
  int64_t together = starts[1] - starts[0];
#pragma GCC unroll 4
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kAbreast * kPer; ++v) sum[r][v] = splat(start_x[r]) + load(start_z + v * kLanes<T>);
    const int64_t count = starts[r + 1] - starts[r];
    together = count < together ? count : together;
  }
  for (int64_t e = 0; e < together; ++e) {
    if (e % 16 == 0)  // prefetch the entries of the rows to come
#pragma GCC unroll 4
      for (int r = 0; r < kCount; ++r) {
        __builtin_prefetch(x + starts[r] + e + kAhead, 0, 2);
        __builtin_prefetch(slots + starts[r] + e + kAhead, 0, 2);
      }
#pragma GCC unroll 4
    for (int r = 0; r < kCount; ++r) meet_entry(r, starts[r] + e);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kCount; ++r) {
    for (int64_t e = starts[r] + together; e < starts[r + 1]; ++e) meet_entry(r, e);
#pragma GCC unroll 2
    for (int q = 0; q < kAbreast; ++q)
#pragma GCC unroll 8
      for (int v = 0; v < kPer; ++v)
        store(buffer + (q * kSparseBlock + r) * kPanel<T> + v * kLanes<T>, sum[r][q * kPer + v]);
  }
}

}}  // namespace onkel::ONKEL_TARGET
