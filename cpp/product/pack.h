// Prepares the two sides of a product (types.h): packs support vectors and coefficients into panels, computes norms,
// and turns dense rows into CSR.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>

#include "product/types.h"

namespace onkel {

// panels[p][k][j] = S[p * kPanel + j][k]; columns past the end are zero.
template <class T> void pack_dense(const T* S, int64_t m, int64_t d, T* panels) {
  constexpr int64_t P = kPanel<T>;
  for (int64_t first = 0; first < m; first += P, panels += P * d) {
    const int64_t count = m - first < P ? m - first : P;
    constexpr int64_t kStrip = 16;  // features at a time: a column's cache line is used whole
    for (int64_t k0 = 0; k0 < d; k0 += kStrip) {
      const int64_t k1 = k0 + kStrip < d ? k0 + kStrip : d;
      for (int64_t j = 0; j < count; ++j)
        for (int64_t k = k0; k < k1; ++k) panels[k * P + j] = S[(first + j) * d + k];
      for (int64_t k = k0; k < k1; ++k)
        for (int64_t j = count; j < P; ++j) panels[k * P + j] = T(0);
    }
  }
}

// Writes one row over row `place` of dense rows and of their panels.
template <class T> void place_row(const T* x, int64_t d, int64_t place, T* rows, T* panels) {
  constexpr int64_t P = kPanel<T>;
  T* column = panels + place / P * P * d + place % P;
  for (int64_t k = 0; k < d; ++k) rows[place * d + k] = column[k * P] = x[k];
}

// pack_dense for CSR rows; slots[k] is the panel row of feature k, or null if that is k.
template <class T>
void pack_csr(const int64_t* indptr, const int32_t* indices, const T* data, int64_t m, int64_t depth,
              const int32_t* slots, T* panels) {
  constexpr int64_t P = kPanel<T>;
  std::memset(panels, 0, size_t((m + P - 1) / P * P * depth) * sizeof(T));
  for (int64_t i = 0; i < m; ++i) {
    T* column = panels + (i / P) * P * depth + i % P;
    for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e)
      column[int64_t(slots ? slots[indices[e]] : indices[e]) * P] = data[e];
  }
}

// Copies rows chosen[begin .. end) of CSR rows; out_indptr is given.
template <class T>
void take_csr(const int64_t* indptr, const int32_t* indices, const T* data, const int64_t* chosen, int64_t begin,
              int64_t end, const int64_t* out_indptr, int32_t* out_indices, T* out_data) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t from = indptr[chosen[i]], size = indptr[chosen[i] + 1] - from, to = out_indptr[i];
    std::memcpy(out_indices + to, indices + from, size_t(size) * sizeof(int32_t));
    std::memcpy(out_data + to, data + from, size_t(size) * sizeof(T));
  }
}

// packed[p][o][j] = A[p * kPanel + j][o], zero past the end, for panels of T.
template <class T, class Weight> void pack_weights(const double* A, int64_t m, int64_t c, Weight* packed) {
  constexpr int64_t P = kPanel<T>;
  if (c == 1) {
    for (int64_t j = 0; j < m; ++j) packed[j] = Weight(A[j]);
    for (int64_t j = m; j % P; ++j) packed[j] = Weight(0);
    return;
  }
  for (int64_t first = 0; first < m; first += P, packed += P * c)
    for (int64_t j = 0; j < P; ++j)
      for (int64_t o = 0; o < c; ++o) packed[o * P + j] = first + j < m ? Weight(A[(first + j) * c + o]) : Weight(0);
}

// The sum of x, or of x^2 if kSquares, in float64. Feature k is added to sum k % 8, for dense rows and CSR (indices not
// null) alike, so that both give the same bits and the compiler can use vectors.
template <bool kSquares, class T> double row_sum(const T* x, const int32_t* indices, int64_t count) {
  double sums[8] = {};
  const auto term = [&](int64_t e) { return kSquares ? double(x[e]) * double(x[e]) : double(x[e]); };
  if (indices) {
    for (int64_t e = 0; e < count; ++e) sums[indices[e] & 7] += term(e);
  } else {
    int64_t k = 0;
    for (; k + 8 <= count; k += 8)
      for (int l = 0; l < 8; ++l) sums[l] += term(k + l);
    for (; k < count; ++k) sums[k & 7] += term(k);
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
template <class T> double squared_norm(const T* x, const int32_t* indices, int64_t count) {
  return row_sum<true>(x, indices, count);
}

// The squared norms |x|^2 of rows: the least that is not 0, and the largest.
struct NormRange {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  void add(double norm) {
    if (norm > 0 && norm < least) least = norm;
    if (norm > most) most = norm;
  }
};

// The rows, by their squared norms, for which T holds the parameters of a kernel, every intermediate result, and the
// digits of k(x, x). Others are to be computed in float64.
struct Range {
  double least = 0, most = std::numeric_limits<double>::infinity();
  bool has(const NormRange& x) const { return x.least >= least && x.most <= most; }
};

// Norms of 2^-80 and 2^80, and for polynomials values of 2^-80 and 2^80, leave room for sums and for weights. A power
// multiplies the rounding error of its base by the degree, which is why high degrees are computed in float64.
template <class T> Range range_of(Map map, const double* params) {
  if (sizeof(T) > 4) return {};
  constexpr Range kNone{0, -1};  // not even rows of zeros
  constexpr double kParams = 0x1p120, kDegree = 256;
  Range range{0x1p-80, 0x1p80};
  for (int i = 0; i < 3; ++i) {
    const double size = std::fabs(params[i]);
    if (size != 0 && !(size >= 1 / kParams && size <= kParams)) return kNone;
  }
  if (map == Map::kPolynomial) {  // (|gamma| t + |coef0|)^degree, for t = |x|^2
    const double degree = params[0], gamma = std::fabs(params[1]), coef0 = std::fabs(params[2]);
    if (degree > kDegree) return kNone;
    const double high = std::exp2(80 / degree), low = 1 / high;
    if (coef0 > high || (gamma == 0 && coef0 < low)) return kNone;
    if (gamma > 0) {
      range.most = std::fmin(range.most, (high - coef0) / gamma);
      range.least = std::fmax(range.least, (low - coef0) / gamma);
    }
  }
  return range;
}

// The aux of a row with this squared norm: types.h, Rows.
template <class T> T row_aux(Op op, double norm) {
  if (op == Op::kDistance) return T(-0.5 * norm);
  return op == Op::kCosine && norm > 0 ? T(1 / std::sqrt(norm)) : T(0);
}

template <class T> bool all_finite(const T* x, int64_t count) {
  T sum = 0;  // x - x is 0, or NaN where x is not finite
  for (int64_t k = 0; k < count; ++k) sum += x[k] - x[k];
  return sum == 0;
}

template <class T> int64_t count_nonzeros(const T* x, int64_t count) {
  int64_t found = 0;
  for (int64_t k = 0; k < count; ++k) found += x[k] != T(0);
  return found;
}

// The non-zeros of a dense row, in order; returns their number. Entries are written without branching, also one after
// the last, for which the arrays must have room.
template <class T> int64_t compress_row(const T* x, int64_t d, int32_t* indices, T* data) {
  int64_t at = 0;
  for (int64_t k = 0; k < d; ++k) {
    indices[at] = int32_t(k);
    data[at] = x[k];
    at += x[k] != T(0);
  }
  return at;
}

}  // namespace onkel
