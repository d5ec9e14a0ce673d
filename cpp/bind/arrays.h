// Arrays as they come from Python: In is read only, Out is written; contiguous unless a block. The names that
// Python sees, of functions and of their arguments, are those of onkel/_core/_native.pyi.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>

namespace onkel { namespace bind {

namespace nb = nanobind;
using namespace nb::literals;

template <class T> using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// A block of a larger matrix: rows may lie apart, values of a row side by side.
template <class T> using InBlock = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using OutBlock = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Out3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Indptr = In1<int64_t>;
using Indices = In1<int32_t>;
// The number of rows of CSR arrays; -1 if indptr is empty, which Check::csr refuses.
inline int64_t row_count(const Indptr& indptr) { return int64_t(indptr.shape(0)) - 1; }
template <class A> auto data_or_null(const std::optional<A>& array) { return array ? array->data() : nullptr; }

}}  // namespace onkel::bind
