// The scalar map of each kernel, written once, on vectors of either precision.
//
// Given t, the sum over features of Op (types.h), for distances t = -|x - z|^2 / 2; the result is the kernel value.
// exp, log2 and tanh are short polynomials. The error of exp is at most 2 ulp at its rounded argument in float32, and
// 1e-13 relative in float64 (where the rounding of the argument dominates). Overflow gives inf, and NaN stays NaN.
// A rate or scale that T cannot hold becomes the largest that it can, so that the distance 0 still gives 1.
// Below the smallest normal number float32 gives 0; so does float64, except in decaying kernels, where distant points
// keep their subnormal values, because the sign of a score may depend on them.
// The coefficients interpolate at Chebyshev nodes, which is within a factor 2 of minimax.
#pragma once
#include "product/types.h"
#include "product/simd.h"

namespace onkel { namespace ONKEL_TARGET {

template <class T> struct Constants;
template <> struct Constants<float> {
  static constexpr int kMantissa = 23, kBias = 127;
  static constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float kHighest = 128.0f, kLowest = -126.0f;  // of 2^t that is normal
  static constexpr float kExp2[] = {0.693147188026228781f, 0.240226507605681269f,
      0.0555035711421907782f, 0.00961808255727785149f, 0.00133908633646712344f,
      0.000154531629451206902f};                                            // 5e-9
  static constexpr float kLog2[] = {2.88539007980333633f, 0.961798838802110004f,
      0.576715186019023427f, 0.43171769745887384f};                         // 7e-10
  static constexpr float kTanh[] = {-0.333333303327315471f, 0.133329153669874534f,
      -0.0538739488486433336f, 0.0211109590495147896f, -0.00626911971964972917f};  // 1e-8
};
template <> struct Constants<double> {
  static constexpr int kMantissa = 52, kBias = 1023;
  static constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double kHighest = 1024.0, kLowest = -1022.0;
  static constexpr double kExp2[] = {0.693147180559946159, 0.240226506959100761,
      0.055504108664651672, 0.00961812910761866557, 0.00133335582007945926,
      0.000154035304247765276, 0.0000152526729248507364, 1.32154516332214344e-6,
      1.02059054137655958e-7, 7.07097786650813856e-9};                      // 6e-16
  static constexpr double kLog2[] = {2.88539008177792681, 0.961796693925989729,
      0.577078016345520229, 0.412198585840900534, 0.320598534913959861,
      0.262334352504183019, 0.220913084231176796, 0.213658956943192694};    // 1e-18
  static constexpr double kTanh[] = {-0.333333333333333332, 0.133333333333332063,
      -0.0539682539680853062, 0.0218694885273681084, -0.00886323529280328939,
      0.00359212425000869239, -0.00145579588557346344, 0.000589768099468826773,
      -0.000237952013839249947, 0.0000933243223384744719, -0.0000320866140379359905,
      6.93404642098895339e-6};                                              // 6e-19
};

// c[0] + c[1] x + ... by Horner's rule.
template <class T, int N> ONKEL_INLINE typename Simd<T>::V horner(const T (&c)[N], typename Simd<T>::V x) {
  typename Simd<T>::V p = splat(c[N - 1]);
#pragma GCC unroll 16
  for (int i = N - 2; i >= 0; --i) p = p * x + c[i];
  return p;
}

// 2^t for normal 2^t. With n = round(t) and f = t - n in [-1/2, 1/2]:
// 2^t = 2^n (1 + f q(f)), exactly 1 at 0. For other t the result is undefined, and callers replace it.
template <class T> ONKEL_INLINE typename Simd<T>::V exp2_inside(typename Simd<T>::V t) {
  typedef Constants<T> C;
  typedef typename Simd<T>::V V;
  typedef typename Simd<T>::U U;      // sums of bits may wrap around
  const V rounded = t + C::kRounder;  // its low mantissa bits are n
  const V f = t - (rounded - C::kRounder);
  const V p = f * horner(C::kExp2, f) + T(1);
  return (V)((U)p + ((U)rounded << C::kMantissa));
}

template <class T> ONKEL_INLINE typename Simd<T>::V exp2v(typename Simd<T>::V t) {
  typedef Constants<T> C;
  const auto y = pick(t < C::kLowest, typename Simd<T>::V{}, exp2_inside<T>(t));
  return pick(t >= C::kHighest, splat(T(__builtin_inf())), pick(t != t, t, y));
}

// 2^t for t <= 0, as in every decaying kernel.
template <class T> ONKEL_INLINE typename Simd<T>::V exp2_decay(typename Simd<T>::V t) {
  typedef typename Simd<T>::V V;
  const V lowest = splat(Constants<T>::kLowest);
  V y = pick(t >= lowest, exp2_inside<T>(t), V{});
  if (sizeof(T) == 8 && __builtin_expect(any_not_less(lowest, t), 0)) {
    const V far = exp2_inside<T>(at_least(t, splat(T(-1100))) + T(128)) * T(0x1p-64) * T(0x1p-64);
    y = pick(t < lowest, far, y);
  }
  return y;
}

// log2(1 + u) for u >= 0 and finite 1 + u = x: x = 2^e m with m in [1/sqrt 2, sqrt 2), s = (m - 1) / (m + 1). Where
// e = 0, m - 1 is u itself, whose digits 1 + u has lost.
template <class T> ONKEL_INLINE typename Simd<T>::V log2_1p(typename Simd<T>::V u) {
  typedef Constants<T> C;
  typedef typename Simd<T>::V V;
  typedef typename Simd<T>::I I;
  const V x = T(1) + u;
  const I root_half = bits(splat(T(0.70710678118654752)));
  const I e = (bits(x) - root_half) >> C::kMantissa;
  const V m = value(bits(x) - (e << C::kMantissa));
  const V above = pick(e == 0, u, m - T(1)), s = above / (above + T(2));
  return __builtin_convertvector(e, V) + s * horner(C::kLog2, s * s);
}

// tanh: an odd polynomial near 0, elsewhere 1 - 2 / (e^2|x| + 1) with the sign of x.
template <class T> ONKEL_INLINE typename Simd<T>::V tanhv(typename Simd<T>::V x) {
  typedef Constants<T> C;
  typedef typename Simd<T>::V V;
  const V a = magnitude(x), u = x * x;
  const V near = x + x * u * horner(C::kTanh, u);
  const V far = T(1) - T(2) / (exp2v<T>(a * T(2.8853900817779268)) + T(1));
  return pick(a < T(0.6), near, pick(x < 0, -far, far));
}

// base^degree by squaring, for a degree >= 1.
template <class V> ONKEL_INLINE V power(V base, int64_t degree) {
  V y = base - base + 1;
  for (;; base *= base) {
    if (degree & 1) y *= base;
    if ((degree >>= 1) == 0) return y;
  }
}

// ---------------------------------------------------------------- the maps
// Each is made from params (types.h, Map) and applied to vectors of sums t.

// A number in T, within its range.
template <class T> ONKEL_INLINE T held(double p) {
  constexpr double kMost = sizeof(T) == 4 ? 3.4028234e38 : 1.7976931348623157e308;
  return T(p > kMost ? kMost : p < -kMost ? -kMost : p);
}

template <class T> struct IdentityMap {
  typedef typename Simd<T>::V V;
  explicit IdentityMap(const double*) {}
  V operator()(V t) const { return t; }
};

template <class T> struct SquaredDistanceMap {
  typedef typename Simd<T>::V V;
  explicit SquaredDistanceMap(const double*) {}
  V operator()(V t) const { return T(-2) * t; }
};

template <class T> struct PolynomialMap {  // params: degree, gamma, coef0
  typedef typename Simd<T>::V V;
  int64_t degree;
  T gamma, coef0;
  explicit PolynomialMap(const double* p) : degree(int64_t(p[0])), gamma(T(p[1])), coef0(T(p[2])) {}
  V operator()(V t) const {
    const V u = gamma * t + coef0;
    switch (degree) {
      case 2: return u * u;
      case 3: return u * u * u;
      default: return power(u, degree);
    }
  }
};

template <class T> struct TanhMap {  // params: gamma, coef0
  typedef typename Simd<T>::V V;
  T gamma, coef0;
  explicit TanhMap(const double* p) : gamma(T(p[0])), coef0(T(p[1])) {}
  V operator()(V t) const { return tanhv<T>(gamma * t + coef0); }
};

constexpr double kLog2E = 1.4426950408889634;

template <class T> struct ExponentialMap {  // params: gamma; exp(-gamma t)
  typedef typename Simd<T>::V V;
  T rate;
  explicit ExponentialMap(const double* p) : rate(held<T>(-p[0] * kLog2E)) {}
  V operator()(V t) const { return exp2_decay<T>(rate * t); }
};

template <class T> struct GaussianMap {  // params: gamma; t = -|x - z|^2 / 2
  typedef typename Simd<T>::V V;
  T rate;
  explicit GaussianMap(const double* p) : rate(held<T>(2 * p[0] * kLog2E)) {}
  V operator()(V t) const { return exp2_decay<T>(rate * t); }
};

// Matern, nu = 1/2, 3/2, 5/2 by kTerms = 1, 2, 3; params: scale = sqrt(2 nu) / length_scale.
template <class T, int kTerms> struct MaternMap {
  typedef typename Simd<T>::V V;
  T scale;
  explicit MaternMap(const double* p) : scale(held<T>(p[0])) {}
  V operator()(V t) const {
    const V r = at_most(scale * root(T(-2) * t), splat(T(2000)));  // e^-2000 is 0 in any precision
    const V decay = exp2_decay<T>(r * T(-kLog2E));
    if (kTerms == 1) return decay;
    if (kTerms == 2) return (T(1) + r) * decay;
    return (T(1) + r * (T(1) + r * T(1.0 / 3))) * decay;
  }
};

template <class T> struct RationalQuadraticMap {  // params: alpha, 1 / (2 alpha length_scale^2)
  typedef typename Simd<T>::V V;
  T alpha, scale;
  explicit RationalQuadraticMap(const double* p) : alpha(held<T>(p[0])), scale(held<T>(-2 * p[1])) {}
  V operator()(V t) const {
    const V u = scale * t;
    return pick(u <= splat(held<T>(__builtin_inf())), exp2_decay<T>(-alpha * log2_1p<T>(u)), V{});
  }
};

}}  // namespace onkel::ONKEL_TARGET
