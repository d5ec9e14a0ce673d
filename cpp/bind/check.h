// Checks at the border: arrays from Python must fit each other, and numbers that become addresses must be in range, or
// the core would read or write past an end. A function of the border says its name once and then what it expects:
//
//   const Check check{"perceptron_pass"};
//   check.shape("F", F, c, b);              exactly this shape; kAny where any size will do
//   check.room("data", data, count);        at least this shape
//   check.index("place", place, rows);      0 <= place < rows
//   check.indices("which", which, rows);    the same for every number of an array, in one pass over it
//   check.below("place", place, rows);      as well, but negative numbers are allowed
//
// An optional array is checked if it is there. A failed check raises a ValueError that says what was expected and what
// came: "perceptron_pass: F must have shape (3, 256); got (3, 255)". A check that holds costs a few comparisons.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "bind/arrays.h"

namespace onkel { namespace bind {

constexpr int64_t kAny = INT64_MIN;  // a size that is not checked

struct Check {
  const char* function;

  // What the other checks do not say; `expected` is the rest of a sentence: "A and scores must be given together".
  void that(bool holds, const char* expected) const {
    if (__builtin_expect(!holds, 0)) fail(expected);
  }

  template <class A, class... Sizes> void shape(const char* name, const A& array, Sizes... sizes) const {
    if (__builtin_expect(!fits<true>(array, {int64_t(sizes)...}), 0)) wrong_shape(name, array, "", {int64_t(sizes)...});
  }
  template <class A, class... Sizes>
  void shape(const char* name, const std::optional<A>& array, Sizes... sizes) const {
    if (array) shape(name, *array, sizes...);
  }
  template <class A, class... Sizes> void room(const char* name, const A& array, Sizes... sizes) const {
    if (__builtin_expect(!fits<false>(array, {int64_t(sizes)...}), 0))
      wrong_shape(name, array, "at least ", {int64_t(sizes)...});
  }
  template <class A, class... Sizes> void room(const char* name, const std::optional<A>& array, Sizes... sizes) const {
    if (array) room(name, *array, sizes...);
  }

  void between(const char* name, int64_t value, int64_t low, int64_t high) const {
    if (__builtin_expect(value < low || value > high, 0))
      wrong_number(name, "be between " + text(low) + " and " + text(high), value);
  }
  void least(const char* name, int64_t value, int64_t low) const {
    if (__builtin_expect(value < low, 0)) wrong_number(name, "be at least " + text(low), value);
  }
  void index(const char* name, int64_t value, int64_t count) const {
    if (__builtin_expect(value < 0 || value >= count, 0)) wrong_number(name, "be an index " + range(count), value);
  }

  // Every number of a one-dimensional array is an index, or also negative: "nowhere".
  template <class A> void indices(const char* name, const A& array, int64_t count) const {
    every<false>(name, array.data(), int64_t(array.shape(0)), count);
  }
  template <class A> void below(const char* name, const A& array, int64_t count) const {
    every<true>(name, array.data(), int64_t(array.shape(0)), count);
  }

  // The values of a row of a block lie side by side (arrays.h).
  template <class A> void block(const char* name, const A& array) const {
    if (__builtin_expect(array.shape(1) > 1 && array.stride(1) != 1, 0))
      fail(std::string(name) + " must have contiguous rows");
  }

  // CSR rows: n of them, whose entries lie within `indices` and `data`.
  template <class I, class A>
  void csr(const char* name, const Indptr& indptr, int64_t n, const I& indices, const A& data) const {
    room(name, indptr, 1);
    shape(name, indptr, n + 1);
    const int64_t* at = indptr.data();
    bool wrong = at[0] < 0;
    for (int64_t i = 0; i < n; ++i) wrong |= at[i + 1] < at[i];
    if (__builtin_expect(wrong, 0)) fail(std::string(name) + " must not decrease, nor begin below 0");
    const int64_t entries = indices.shape(0) < data.shape(0) ? int64_t(indices.shape(0)) : int64_t(data.shape(0));
    if (__builtin_expect(at[n] > entries, 0))
      wrong_number(name, "end within its indices and data, which hold " + text(entries), at[n]);
  }

  // Every entry of CSR rows that passed `csr` is in one of d columns; what lies beyond their end does not matter.
  void csr_columns(const char* name, const Indptr& indptr, const Indices& indices, int64_t d) const {
    const int64_t begin = indptr.data()[0], end = indptr.data()[indptr.shape(0) - 1];
    every<false>(name, indices.data() + begin, end - begin, d);
  }

  // The same where a pass over all entries would cost too much: the first and the last entry of each row. Those between
  // are in range, too, if the columns of a row ascend, as onkel.checks makes them.
  void csr_ends(const char* name, const Indptr& indptr, const Indices& indices, int64_t d) const {
    const int64_t *at = indptr.data(), n = int64_t(indptr.shape(0)) - 1;
    for (int64_t i = 0; i < n; ++i) {
      if (at[i] == at[i + 1]) continue;
      index(name, indices.data()[at[i]], d);
      index(name, indices.data()[at[i + 1] - 1], d);
    }
  }

  [[noreturn]] __attribute__((noinline, cold)) void fail(const std::string& what) const {
    throw nb::value_error((std::string(function) + ": " + what).c_str());
  }

 private:
  template <bool kExactly, class A> static bool fits(const A& array, std::initializer_list<int64_t> sizes) {
    bool fits = array.ndim() == sizes.size();
    size_t i = 0;
    for (const int64_t size : sizes) {
      const int64_t got = int64_t(array.shape(i++));
      fits &= size == kAny || (kExactly ? got == size : got >= size);
    }
    return fits;
  }

  // Signs instead of comparisons, which vectors of the least target do not have for all integers: v | (last - v) is
  // negative if v is too small or too large, ~v & (last - v) only if it is too large.
  template <bool kNegative, class I>
  void every(const char* name, const I* values, int64_t size, int64_t count) const {
    typedef std::make_unsigned_t<I> U;
    const U last = U(count <= int64_t(std::numeric_limits<I>::max()) ? count - 1 : std::numeric_limits<I>::max());
    U wrong = 0;
    for (int64_t i = 0; i < size; ++i) {
      const U v = U(values[i]);
      wrong |= kNegative ? ~v & (last - v) : v | (last - v);
    }
    if (__builtin_expect(I(wrong) >= 0, 1)) return;
    int64_t i = 0;
    while (values[i] < count && (kNegative || values[i] >= 0)) ++i;
    wrong_number(name, kNegative ? "hold indices below " + text(count) : "hold indices " + range(count), values[i]);
  }

  static std::string text(int64_t number) { return std::to_string(number); }
  static std::string range(int64_t count) { return "from 0 to below " + text(count); }

  [[noreturn]] __attribute__((noinline, cold)) void wrong_number(const char* name, const std::string& expected,
                                                                 int64_t got) const {
    fail(std::string(name) + " must " + expected + "; got " + text(got));
  }

  template <class A>
  [[noreturn]] __attribute__((noinline, cold)) void wrong_shape(const char* name, const A& array, const char* how,
                                                                std::initializer_list<int64_t> sizes) const {
    std::vector<int64_t> got;
    for (size_t i = 0; i < array.ndim(); ++i) got.push_back(int64_t(array.shape(i)));
    fail(std::string(name) + " must have " + how + "shape " + tuple(sizes) + "; got " + tuple(got));
  }
  static std::string tuple(const std::vector<int64_t>& sizes) {  // as Python prints a shape
    std::string all = "(";
    for (size_t i = 0; i < sizes.size(); ++i)
      all += (i ? ", " : "") + (sizes[i] == kAny ? std::string("any") : text(sizes[i]));
    return all + (sizes.size() == 1 ? ",)" : ")");
  }
};

}}  // namespace onkel::bind
