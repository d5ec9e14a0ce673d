// What a SIMD target offers to the rest of the core: one table of functions, and the plain structs and sizes that
// they are called with. It holds no code, because target.cpp includes it and is compiled once per target.
#pragma once
#include "product/types.h"
#include "sequence/types.h"

namespace onkel {

// One block of variables of a support vector machine's dual (learn/smo.h): q variables, K with rows of ld values, a
// multiple of kBlockStep; the scratch arrays hold ld values each.
constexpr int64_t kBlockStep = 32;
constexpr double kFlat = 1e-12;  // least curvature of a step, as in LIBSVM: a flat direction is followed to a bound
// The least curvature beside kernel values of size `scale`: small values have small curvatures.
constexpr double least_curve(double scale) { return scale > 0 && scale < 1 ? kFlat * scale : kFlat; }
struct Block {
  int64_t q, ld;
  const double *low, *high;
  double *b, *v;
  double *up, *down;  // scratch
  float *rough, *diagonal;
};

// A lower triangle in single precision, stored in panels of kTriangle rows. In a panel the rows lie side by side,
// column after column, up to the column of its last row. Panel g begins at triangle_panel(g).
constexpr int64_t kTriangle = 16;
constexpr int64_t kTriangleLanes = 16;  // the most floats of a vector, on any target
constexpr int64_t kEstimateBlock = 16;  // columns summed at a time in a product: learn/triangle.h
constexpr int64_t triangle_panel(int64_t g) { return g * (g + 1) / 2 * kTriangle * kTriangle; }

// work computes rows [begin, end) of a job, with scratch of its own of scratch_bytes(job); share(job, threads) is the
// number of rows that one call should take.
struct Target {
  const char* name;
  void (*work32)(const Job<float>&, int64_t begin, int64_t end, void* scratch);
  void (*work64)(const Job<double>&, int64_t begin, int64_t end, void* scratch);
  int64_t (*scratch32)(const Job<float>&);
  int64_t (*scratch64)(const Job<double>&);
  int64_t (*share32)(const Job<float>&, int64_t threads);
  int64_t (*share64)(const Job<double>&, int64_t threads);
  void (*map32)(Map, const double* params, float* values, int64_t n);    // in place, for tests
  void (*map64)(Map, const double* params, double* values, int64_t n);
  bool (*weights_fit)(const double* A, int64_t count);  // product/product.h
  int64_t (*solve_rows)();  // right-hand sides that `solve` takes at a time
  void (*solve)(const double* L, int64_t ld, int64_t m, double* z);  // learn/triangle.h
  void (*substitute)(const double* L, int64_t ld, int64_t from, int64_t to, double* z);
  void (*substitute_back)(const double* L, int64_t ld, int64_t m, double* a);
  void (*estimate)(const float* L_inv, int64_t m, const float* k, float* z, double* sq_norms, float* sums, float* w);
  void (*meet32)(const double* b, const float* k, int64_t m, double* sums);
  void (*meet64)(const double* b, const double* k, int64_t m, double* sums);
  int64_t (*smo32)(bool pairs, const float* K, const Block&, double tol, int64_t most, double* gap);  // learn/smo.h
  int64_t (*smo64)(bool pairs, const double* K, const Block&, double tol, int64_t most, double* gap);
  double (*weighted32)(const double* a, const float* k, int64_t n);  // learn/lasvm_simd.h
  double (*weighted64)(const double* a, const double* k, int64_t n);
  void (*shift32)(double* g, const float* ki, const float* kj, double step, const double* up, const double* down,
                  int64_t n, int64_t* where);
  void (*shift64)(double* g, const double* ki, const double* kj, double step, const double* up, const double* down,
                  int64_t n, int64_t* where);
  void (*learn_sentences32)(const TagWeights<float>&, const Sentences&, const int64_t* order, int64_t n,
                            const int32_t* y, double margin, TagCounts*, float* scratch, int32_t* z, uint8_t* updated);
  void (*learn_sentences64)(const TagWeights<double>&, const Sentences&, const int64_t* order, int64_t n,
                            const int32_t* y, double margin, TagCounts*, double* scratch, int32_t* z,
                            uint8_t* updated);  // sequence/structured.h
  void (*apply_update32)(const TagWeights<float>&, const Sentences&, int64_t first, int64_t tokens, const int32_t* y,
                         const int32_t* z, double round, TagCounts*);
  void (*apply_update64)(const TagWeights<double>&, const Sentences&, int64_t first, int64_t tokens, const int32_t* y,
                         const int32_t* z, double round, TagCounts*);
  double (*viterbi32)(const Lattice<float>&, float* scratch, int32_t* y);  // sequence/viterbi.h
  double (*viterbi64)(const Lattice<double>&, double* scratch, int32_t* y);
};

}  // namespace onkel
