// Vectors of the target this file is compiled for, by GCC's and Clang's vector extensions.
//
// Everything here lives in namespace onkel::ONKEL_TARGET, and no standard-library code is used. The same source is
// compiled once per target; of an inline function that two targets share, the linker keeps one copy, which may use
// instructions that the CPU does not have.
#pragma once
#include <cstdint>
#if defined(__AVX512F__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

namespace onkel { namespace ONKEL_TARGET {

// Bytes of a vector, vectors and rows of a micro-kernel: kRows x kVectors accumulators, with
// room left for the panel's vectors and a broadcast (32 registers on AVX-512 and ARM, else 16).
#if defined(__AVX512F__)
constexpr int kBytes = 64, kVectors = 2, kRows = 12;
#elif defined(__AVX2__)
constexpr int kBytes = 32, kVectors = 4, kRows = 3;
#elif defined(__aarch64__)
constexpr int kBytes = 16, kVectors = 4, kRows = 6;
#else
constexpr int kBytes = 16, kVectors = 4, kRows = 3;
#endif
// CSR rows and panels that are multiplied together: enough independent sums to hide the latency, and, as far as
// there are registers, several panels, so that an entry is read once for all of them.
constexpr int kSparseRows = kBytes / 16, kSparsePanels = kBytes == 64 ? 2 : 1;

template <class T> struct Simd;
template <> struct Simd<float> {
  typedef float V __attribute__((vector_size(kBytes)));
  typedef int32_t I __attribute__((vector_size(kBytes)));
  typedef uint32_t U __attribute__((vector_size(kBytes)));
  typedef int32_t Int;
};
template <> struct Simd<double> {
  typedef double V __attribute__((vector_size(kBytes)));
  typedef int64_t I __attribute__((vector_size(kBytes)));
  typedef uint64_t U __attribute__((vector_size(kBytes)));
  typedef int64_t Int;
};
template <class T> constexpr int kLanes = kBytes / int(sizeof(T));

#define ONKEL_INLINE static inline __attribute__((always_inline))

template <class T> ONKEL_INLINE typename Simd<T>::V load(const T* p) {
  typename Simd<T>::V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T> ONKEL_INLINE void store(T* p, typename Simd<T>::V v) {
  __builtin_memcpy(p, &v, sizeof v);
}
template <class T> ONKEL_INLINE typename Simd<T>::V splat(T x) {
  return x - typename Simd<T>::V{};  // x - 0 is x, also for -0
}
ONKEL_INLINE Simd<float>::I bits(Simd<float>::V v) { return (Simd<float>::I)v; }
ONKEL_INLINE Simd<double>::I bits(Simd<double>::V v) { return (Simd<double>::I)v; }
ONKEL_INLINE Simd<float>::V value(Simd<float>::I v) { return (Simd<float>::V)v; }
ONKEL_INLINE Simd<double>::V value(Simd<double>::I v) { return (Simd<double>::V)v; }

// As many floats as a vector has doubles, and conversions between the two.
typedef float Half __attribute__((vector_size(kBytes / 2)));
#if defined(__AVX512F__)
ONKEL_INLINE Simd<double>::V widen(Half v) { return (Simd<double>::V)_mm512_cvtps_pd((__m256)v); }
ONKEL_INLINE Half narrow(Simd<double>::V v) { return (Half)_mm512_cvtpd_ps((__m512d)v); }
#elif defined(__AVX2__)
ONKEL_INLINE Simd<double>::V widen(Half v) { return (Simd<double>::V)_mm256_cvtps_pd((__m128)v); }
ONKEL_INLINE Half narrow(Simd<double>::V v) { return (Half)_mm256_cvtpd_ps((__m256d)v); }
#else
ONKEL_INLINE Simd<double>::V widen(Half v) { return __builtin_convertvector(v, Simd<double>::V); }
ONKEL_INLINE Half narrow(Simd<double>::V v) { return __builtin_convertvector(v, Half); }
#endif

// As many values as a vector has doubles, as doubles.
typedef Simd<double>::V Wide;
constexpr int kWide = kLanes<double>;
ONKEL_INLINE Simd<double>::V load_wide(const double* p) { return load(p); }
ONKEL_INLINE Simd<double>::V load_wide(const float* p) {
  Half v;
  __builtin_memcpy(&v, p, sizeof v);
  return widen(v);
}

// The sum of a vector's lanes, by halves.
ONKEL_INLINE double sum_of(Wide v) {
  double part[kWide];
  store(part, v);
  for (int width = kWide / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) part[l] += part[l + width];
  return part[0];
}

// mask ? a : b, lane by lane; masks are all ones or all zeros.
template <class I, class V> ONKEL_INLINE V pick(I mask, V a, V b) { return mask ? a : b; }
// The larger and the smaller; a NaN in `a` stays (comparisons with it are false).
template <class V> ONKEL_INLINE V at_least(V a, V low) { return a < low ? low : a; }
template <class V> ONKEL_INLINE V at_most(V a, V high) { return a > high ? high : a; }
template <class V> ONKEL_INLINE V magnitude(V a) { return a < 0 ? -a : a; }

// Is a < b false in any lane? (A NaN counts.)
#if defined(__AVX512F__)
ONKEL_INLINE bool any_not_less(Simd<float>::V a, Simd<float>::V b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NLT_UQ) != 0;
}
ONKEL_INLINE bool any_not_less(Simd<double>::V a, Simd<double>::V b) {
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_NLT_UQ) != 0;
}
ONKEL_INLINE Simd<float>::V root(Simd<float>::V a) { return (Simd<float>::V)_mm512_maskz_sqrt_ps(0xffff, (__m512)a); }
ONKEL_INLINE Simd<double>::V root(Simd<double>::V a) { return (Simd<double>::V)_mm512_maskz_sqrt_pd(0xff, (__m512d)a); }
#elif defined(__AVX2__)
ONKEL_INLINE bool any_not_less(Simd<float>::V a, Simd<float>::V b) {
  return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_NLT_UQ)) != 0;
}
ONKEL_INLINE bool any_not_less(Simd<double>::V a, Simd<double>::V b) {
  return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_NLT_UQ)) != 0;
}
ONKEL_INLINE Simd<float>::V root(Simd<float>::V a) { return (Simd<float>::V)_mm256_sqrt_ps((__m256)a); }
ONKEL_INLINE Simd<double>::V root(Simd<double>::V a) { return (Simd<double>::V)_mm256_sqrt_pd((__m256d)a); }
#else
template <class V> ONKEL_INLINE bool any_not_less(V a, V b) {
  const auto less = a < b;
  bool any = false;
  for (unsigned i = 0; i < sizeof(V) / sizeof(less[0]); ++i) any |= less[i] == 0;
  return any;
}
template <class V> ONKEL_INLINE V root(V a) {
  for (unsigned i = 0; i < sizeof(V) / sizeof(a[0]); ++i)
    a[i] = sizeof(a[0]) == 4 ? __builtin_sqrtf(float(a[i])) : __builtin_sqrt(double(a[i]));
  return a;
}
#endif

}}  // namespace onkel::ONKEL_TARGET
