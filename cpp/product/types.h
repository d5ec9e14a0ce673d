// The description of one product: plain structs, no code.
//
//   rows X (n, d)  x  support S (m, d)  ->  kernel values k(x_i, s_j) = map(sum over features of op(x_ik, s_jk)),
//
// summed with coefficients A (m, c) into scores, or stored as a Gram block.
//
// The support is packed once into panels of kPanelBytes / sizeof(T) columns: a panel holds, feature after feature, the
// values of its columns side by side, so that a few vector loads bring one feature of all columns. The layout is
// the same for every SIMD target; only the number of rows that a micro-kernel takes differs.
#pragma once
#include <cstdint>

namespace onkel {

constexpr int kPanelBytes = 128;
template <class T> constexpr int kPanel = kPanelBytes / int(sizeof(T));  // 32 float, 16 double

// How two rows are combined, feature by feature. The numbers are known to Python (onkel/_core/__init__.py).
enum class Op : int {
  kDot = 0,       // sum x z
  kDistance = 1,  // sum x z - (|x|^2 + |z|^2) / 2  =  -|x - z|^2 / 2
  kCosine = 2,    // sum x z, then divided by both norms
  kManhattan = 3, // sum |x - z|
  kChi2 = 4,      // sum (x - z)^2 / (x + z)
  kMin = 5,       // sum min(x, z)
  kDirect = 6,    // sum -(x - z)^2 / 2: the distance of few features, without cancellation
  kCount = 7
};

// What is applied to the sum, element by element; t is the sum, or |x - z|^2 for distances.
enum class Map : int {
  kIdentity = 0,           // t
  kPolynomial = 1,         // (gamma t + coef0)^degree
  kTanh = 2,               // tanh(gamma t + coef0)
  kExponential = 3,        // exp(-gamma t)
  kMatern12 = 4,           // e^-r                        r = scale |x - z|
  kMatern32 = 5,           // (1 + r) e^-r
  kMatern52 = 6,           // (1 + r + r^2 / 3) e^-r
  kRationalQuadratic = 7,  // (1 + scale t)^-alpha
  kCount = 8
};

// Rows, dense (data with row stride d) or CSR (indptr not null). aux is what the op needs to know of each row:
// -|x|^2 / 2 for kDistance, 1 / |x| (0 for a zero row) for kCosine, else null.
template <class T> struct Rows {
  const T* data;
  const int64_t* indptr;
  const int32_t* indices;
  int64_t n, d;
  const T* aux;
};

// The packed support. If `features` is null, panel row k is feature k. Otherwise the panels hold only the `depth`
// features that occur: panel row r is features[r], and slots[k] is the panel row of feature k, or -1.
template <class T> struct Panels {
  const T* values;  // (ceil(m / kPanel), depth, kPanel)
  int64_t m, depth;
  const T* aux;     // (m padded to whole panels), as in Rows
  const int32_t* slots;
  const int32_t* features;
};

// One product. The result is `scores` or `gram`, or both if by_column.
template <class T> struct Job {
  Op op;
  Map map;
  double params[3];
  Rows<T> rows;
  Panels<T> panels;
  const T* weights;  // (panels, c, kPanel), zero in the padding; for scores
  const double* wide;  // the same in float64, instead of `weights`: then products are summed in float64 throughout
  int64_t c;
  double* scores;    // (n, c), added to; score o of row i is scores[i * score_row + o * score_column]
  int64_t score_row, score_column;
  T* gram;           // (n, m), written: row i begins at i * ld or, by_column, column j at j * ld
  int64_t ld;
  bool by_column;
  bool below;        // rows and support are the same points; values above the diagonal are not needed
};

}  // namespace onkel
