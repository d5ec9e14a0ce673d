// Prepares the two sides of a product (types.h): packs support vectors and coefficients into panels, computes norms,
// and turns dense rows into CSR.
#pragma once
#include <cmath>
#include <cstring>

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

// packed[p][o][j] = A[p * kPanel + j][o], zero past the end.
template <class T> void pack_weights(const double* A, int64_t m, int64_t c, T* packed) {
  constexpr int64_t P = kPanel<T>;
  if (c == 1) {
    for (int64_t j = 0; j < m; ++j) packed[j] = T(A[j]);
    for (int64_t j = m; j % P; ++j) packed[j] = T(0);
    return;
  }
  for (int64_t first = 0; first < m; first += P, packed += P * c)
    for (int64_t j = 0; j < P; ++j)
      for (int64_t o = 0; o < c; ++o) packed[o * P + j] = first + j < m ? T(A[(first + j) * c + o]) : T(0);
}

// |x|^2 in float64. Feature k is added to sum k % 8, for dense rows and CSR (indices not null) alike, so that both give
// the same bits and the compiler can use vectors.
template <class T> double squared_norm(const T* x, const int32_t* indices, int64_t count) {
  double sums[8] = {};
  if (indices) {
    for (int64_t e = 0; e < count; ++e) sums[indices[e] & 7] += double(x[e]) * double(x[e]);
  } else {
    int64_t k = 0;
    for (; k + 8 <= count; k += 8)
      for (int l = 0; l < 8; ++l) sums[l] += double(x[k + l]) * double(x[k + l]);
    for (; k < count; ++k) sums[k & 7] += double(x[k]) * double(x[k]);
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// The aux of one dense row: types.h, Rows.
template <class T> T row_aux(Op op, const T* x, int64_t d) {
  if (op != Op::kDistance && op != Op::kCosine) return T(0);
  const double norm = squared_norm(x, nullptr, d);
  if (op == Op::kDistance) return T(-0.5 * norm);
  return norm > 0 ? T(1 / std::sqrt(norm)) : T(0);
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
