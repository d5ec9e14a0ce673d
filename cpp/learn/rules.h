// Update rules: the step that one output makes on one example,  f <- f + step k(x, .)
//
// Each formula has a twin of the same name in onkel.learners.rules; the docstrings there give the equations.
// Rosenblatt's perceptron; passive-aggressive, Crammer et al. 2006; NORMA, Kivinen, Smola and Williamson 2004.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace onkel {

inline double positive(double x) { return x > 0 ? x : 0.0; }
inline double sign(double x) { return x < 0 ? -1.0 : 1.0; }

// The perceptron errs on an example with y f <= 0; y is -1 or +1.
inline bool is_mistake(double f, double y) { return y * f <= 0; }

// U of a budget B, the largest norm of a competitor in the Forgetron's bound.    Dekel, Shalev-Shwartz, Singer 2008
inline double forgetron_radius(double B) { return 0.25 * std::sqrt((B + 1) / std::log(B + 1)); }

enum class Rule {
  kPerceptron,
  kPa, kPa1, kPa2,                                        // passive-aggressive, to classify
  kPaRegression, kPa1Regression, kPa2Regression,          // and to regress
  kSoftMargin, kEpsilonInsensitive, kSquared, kHuber, kNovelty,  // NORMA
};

// What a rule declares. `name` is that of its twin in Python.
struct RuleTraits {
  Rule rule;
  const char* name;
  bool signs;        // the targets are -1 or +1, so that y f <= 0 is a mistake
  bool regularised;  // NORMA's: eta, lambda, a margin that may move and an offset
  bool widens;       // an example outside of the margin widens it
};
constexpr RuleTraits kRules[] = {
    {Rule::kPerceptron, "perceptron", true, false, false},
    {Rule::kPa, "pa", true, false, false},
    {Rule::kPa1, "pa1", true, false, false},
    {Rule::kPa2, "pa2", true, false, false},
    {Rule::kPaRegression, "pa_regression", false, false, false},
    {Rule::kPa1Regression, "pa1_regression", false, false, false},
    {Rule::kPa2Regression, "pa2_regression", false, false, false},
    {Rule::kSoftMargin, "soft_margin", true, true, false},
    {Rule::kEpsilonInsensitive, "epsilon_insensitive", false, true, true},
    {Rule::kSquared, "squared", false, true, false},
    {Rule::kHuber, "huber", false, true, false},
    {Rule::kNovelty, "novelty", false, true, false},
};

// The entry of a table of traits that has a name, or null.
template <class Traits, size_t n> const Traits* named(const Traits (&table)[n], const char* name) {
  for (const Traits& traits : table)
    if (std::strcmp(traits.name, name) == 0) return &traits;
  return nullptr;
}

// The parameters of a rule, as far as it has them.
struct RuleParams {
  double C, epsilon;       // of the passive-aggressive rules
  double eta, lambda, nu;  // of NORMA; nu is NaN if the margin is fixed
  bool root_schedule, intercept;

  double rate(int64_t round) const { return root_schedule ? eta / std::sqrt(double(round)) : eta; }  // eta_t, t >= 1
};

inline double pa_step(double loss, double sq_norm) { return loss > 0 && sq_norm > 0 ? loss / sq_norm : 0.0; }
inline double pa1_step(double loss, double sq_norm, double C) { return std::fmin(C, pa_step(loss, sq_norm)); }
inline double pa2_step(double loss, double sq_norm, double C) {
  return loss > 0 && sq_norm > 0 ? loss / (sq_norm + 1 / (2 * C)) : 0.0;
}
inline double hinge(double f, double y) { return positive(1 - y * f); }
inline double insensitive(double f, double y, double epsilon) { return positive(std::fabs(y - f) - epsilon); }

// f includes the offset; sq_norm is k(x, x), w the weight of the example, margin NORMA's rho or epsilon.
inline double step_of(Rule rule, const RuleParams& p, double f, double y, double sq_norm, double w, double eta,
                      double margin) {
  const double C = p.C * w;
  switch (rule) {
    case Rule::kPerceptron: return is_mistake(f, y) ? w * y : 0.0;
    case Rule::kPa: return y * pa_step(hinge(f, y), sq_norm);
    case Rule::kPa1: return y * pa1_step(hinge(f, y), sq_norm, C);
    case Rule::kPa2: return y * pa2_step(hinge(f, y), sq_norm, C);
    case Rule::kPaRegression: return sign(y - f) * pa_step(insensitive(f, y, p.epsilon), sq_norm);
    case Rule::kPa1Regression: return sign(y - f) * pa1_step(insensitive(f, y, p.epsilon), sq_norm, C);
    case Rule::kPa2Regression: return sign(y - f) * pa2_step(insensitive(f, y, p.epsilon), sq_norm, C);
    case Rule::kSoftMargin: return y * f <= margin ? eta * w * y : 0.0;
    case Rule::kEpsilonInsensitive: return std::fabs(y - f) > margin ? eta * w * sign(y - f) : 0.0;
    case Rule::kSquared: return eta * w * (y - f);
    case Rule::kHuber: return eta * w * (std::fabs(y - f) <= margin ? (y - f) / margin : sign(y - f));
    case Rule::kNovelty: return f < margin ? eta * w : 0.0;
  }
  return 0.0;
}

// The margin after an example, which was outside of it (sigma = 1) or not (0): rho + eta (nu - sigma), and
// epsilon + eta (sigma - nu) if it widens.
inline double move_margin(double margin, bool outside, double eta, double nu, bool widens) {
  const double sigma = outside ? 1.0 : 0.0;
  return margin + eta * (widens ? sigma - nu : nu - sigma);
}

}  // namespace onkel
