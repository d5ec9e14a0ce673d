// One SIMD target. This file is compiled once per target (CMakeLists.txt): ONKEL_TARGET is its name, and the compiler's
// flags are its instructions. Only the table `target` has external linkage.
#include "product/product.h"
#include "learn/lasvm_simd.h"
#include "learn/smo.h"
#include "learn/triangle.h"
#include "sequence/structured.h"
#include "sequence/viterbi.h"
#include "target/target.h"

#define ONKEL_STRING2(x) #x
#define ONKEL_STRING(x) ONKEL_STRING2(x)

namespace onkel { namespace ONKEL_TARGET {

// The kernel's map alone, in place; for tests.
template <class T, class Function> static void apply(const double* params, T* values, int64_t n) {
  const Function map(params);
  alignas(64) T piece[kLanes<T>];
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    for (int l = 0; l < kLanes<T>; ++l) piece[l] = i + l < n ? values[i + l] : T(0);
    store(piece, map(load(piece)));
    for (int l = 0; l < kLanes<T> && i + l < n; ++l) values[i + l] = piece[l];
  }
}

template <class T> static void apply_map(Map map, const double* params, T* values, int64_t n) {
  switch (map) {
    case Map::kPolynomial: return apply<T, PolynomialMap<T>>(params, values, n);
    case Map::kTanh: return apply<T, TanhMap<T>>(params, values, n);
    case Map::kExponential: return apply<T, ExponentialMap<T>>(params, values, n);
    case Map::kMatern12: return apply<T, MaternMap<T, 1>>(params, values, n);
    case Map::kMatern32: return apply<T, MaternMap<T, 2>>(params, values, n);
    case Map::kMatern52: return apply<T, MaternMap<T, 3>>(params, values, n);
    case Map::kRationalQuadratic: return apply<T, RationalQuadraticMap<T>>(params, values, n);
    default: return;
  }
}

extern const Target target;
const Target target = {ONKEL_STRING(ONKEL_TARGET),
                       work<float>,
                       work<double>,
                       scratch_bytes<float>,
                       scratch_bytes<double>,
                       share_rows<float>,
                       share_rows<double>,
                       apply_map<float>,
                       apply_map<double>,
                       weights_fit,
                       solve_rows,
                       solve,
                       substitute,
                       substitute_back,
                       estimate,
                       meet<float>,
                       meet<double>,
                       smo<float>,
                       smo<double>,
                       weighted<float>,
                       weighted<double>,
                       shift<float>,
                       shift<double>,
                       learn_sentences<float>,
                       learn_sentences<double>,
                       apply_update<float>,
                       apply_update<double>,
                       viterbi<float>,
                       viterbi<double>};

}}  // namespace onkel::ONKEL_TARGET
