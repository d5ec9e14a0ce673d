// Changes that take effect together or not at all: onkel/_core/transaction.py.
//
// commit() first looks at everything it is given, and may refuse it; then it writes. While it writes it holds the GIL,
// and it runs no Python code: what is replaced is kept alive until the end. So neither a signal handler nor another
// thread can come between two writes. It allocates only where a target gets an attribute that it did not have.
#include <cstring>
#include <stdexcept>
#include <string>

#include "bind/arrays.h"
#include "bind/right.h"
#include "product/pack.h"

namespace onkel { namespace bind {
namespace {

using Target = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Source = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Places = In1<int64_t>;

// Rows of one array that are written over rows of another: row i of `from` goes to row places[i] of `to`.
struct Copy {
  char* to;
  const char* from;
  const int64_t* places;
  size_t count, bytes;  // rows, and bytes of a row
};
// Rows that are written into packed panels (product/types.h).
struct Pack {
  void* panels;
  const void* rows;
  const int64_t* places;
  int64_t count, d;
  bool is_float;
};

// A row of a packed right-hand side (bind/right.h), which follows what is written into its panels.
struct Replace {
  nb::handle right;
  const void* x;
  int64_t place, d;
  bool is_float;
};

template <class A> size_t row_bytes(const A& array) {
  size_t bytes = array.itemsize();
  for (size_t k = 1; k < array.ndim(); ++k) bytes *= array.shape(k);
  return bytes;
}

void check_places(const Places& places, size_t count, size_t room) {
  bool fits = places.shape(0) == count;
  for (size_t i = 0; fits && i < count; ++i) fits = places.data()[i] >= 0 && size_t(places.data()[i]) < room;
  if (!fits) throw std::invalid_argument("commit: each row needs a place within the array that it is written to.");
}

Copy checked_copy(const nb::tuple& write) {
  const auto to = nb::cast<Target>(write[0], false);
  const auto places = nb::cast<Places>(write[1], false);
  const auto from = nb::cast<Source>(write[2], false);
  if (to.ndim() < 1 || to.dtype() != from.dtype() || to.ndim() != from.ndim() || row_bytes(to) != row_bytes(from))
    throw std::invalid_argument("commit: rows must have the dtype and the length of the array they are written to.");
  check_places(places, from.shape(0), to.shape(0));
  return {static_cast<char*>(to.data()), static_cast<const char*>(from.data()), places.data(), from.shape(0),
          row_bytes(to)};
}

Pack checked_pack(const nb::tuple& write) {
  const auto panels = nb::cast<Target>(write[0], false);
  const auto places = nb::cast<Places>(write[1], false);
  const auto rows = nb::cast<Source>(write[2], false);
  const bool is_float = rows.dtype() == nb::dtype<float>();
  const size_t width = size_t(is_float ? onkel::kPanel<float> : onkel::kPanel<double>);
  if (panels.dtype() != rows.dtype() || (!is_float && rows.dtype() != nb::dtype<double>()) || panels.ndim() != 3 ||
      rows.ndim() != 2 || panels.shape(1) != rows.shape(1) || panels.shape(2) != width)
    throw std::invalid_argument("commit: rows must have the dtype and the features of the panels.");
  check_places(places, rows.shape(0), panels.shape(0) * width);
  return {panels.data(), rows.data(), places.data(), int64_t(rows.shape(0)), int64_t(rows.shape(1)), is_float};
}

Replace checked_replace(const nb::tuple& write) {
  const nb::handle right = write[0];
  const auto place = nb::cast<int64_t>(write[1], false);
  const auto x = nb::cast<Source>(write[2], false);
  const bool is_float = x.dtype() == nb::dtype<float>(), is_row = x.ndim() == 2 && x.shape(0) == 1;
  const int64_t d = is_row ? int64_t(x.shape(1)) : -1;
  if ((!is_float && x.dtype() != nb::dtype<double>()) ||
      !(is_float ? can_replace_in_right<float>(right, place, d) : can_replace_in_right<double>(right, place, d)))
    throw std::invalid_argument("commit: a right-hand side must have the dtype and the features of the row, and its place.");
  return {right, x.data(), place, d, is_float};
}

void apply(const Copy& copy) {
  for (size_t i = 0; i < copy.count; ++i)
    std::memcpy(copy.to + size_t(copy.places[i]) * copy.bytes, copy.from + i * copy.bytes, copy.bytes);
}

template <class T> void apply_pack(const Pack& pack) {
  constexpr int64_t P = onkel::kPanel<T>;
  T* panels = static_cast<T*>(pack.panels);
  const T* rows = static_cast<const T*>(pack.rows);
  for (int64_t i = 0; i < pack.count; ++i) {
    bool whole = pack.places[i] % P == 0 && i + P <= pack.count;  // a whole panel is packed faster at once
    for (int64_t j = 1; whole && j < P; ++j) whole = pack.places[i + j] == pack.places[i] + j;
    if (whole) {
      onkel::pack_dense(rows + i * pack.d, P, pack.d, panels + pack.places[i] * pack.d);
      i += P - 1;
      continue;
    }
    T* column = panels + pack.places[i] / P * P * pack.d + pack.places[i] % P;
    for (int64_t k = 0; k < pack.d; ++k) column[k * P] = rows[i * pack.d + k];
  }
}

void apply(const Replace& replace) {
  if (replace.is_float)
    replace_in_right(replace.right, replace.place, static_cast<const float*>(replace.x), replace.d);
  else
    replace_in_right(replace.right, replace.place, static_cast<const double*>(replace.x), replace.d);
}

// The values that the changes of attributes replace.
nb::list values_of(const nb::list& attributes) {
  nb::list kept;
  for (nb::handle change : attributes)
    for (nb::handle key : nb::cast<nb::dict>(nb::cast<nb::tuple>(change)[1]).keys())
      if (PyObject* value = PyDict_GetItem(PyTuple_GET_ITEM(change.ptr(), 0), key.ptr())) kept.append(nb::borrow(value));
  return kept;
}

}  // namespace

void bind_transaction(nb::module_& m) {
  m.def(
      "commit",
      [](const nb::list& attributes, const nb::list& copies, const nb::list& packs, const nb::list& rights) {
        std::vector<Copy> to_copy;
        std::vector<Pack> to_pack;
        std::vector<Replace> to_replace;
        for (nb::handle write : copies) to_copy.push_back(checked_copy(nb::cast<nb::tuple>(write)));
        for (nb::handle write : packs) to_pack.push_back(checked_pack(nb::cast<nb::tuple>(write)));
        for (nb::handle write : rights) to_replace.push_back(checked_replace(nb::cast<nb::tuple>(write)));
        for (nb::handle change : attributes) {
          const auto pair = nb::cast<nb::tuple>(change);
          if (!PyDict_CheckExact(pair[0].ptr()) || !PyDict_CheckExact(pair[1].ptr()))
            throw std::invalid_argument("commit: attributes must be pairs of dicts.");
        }
        const nb::list kept = values_of(attributes);
        for (const Copy& copy : to_copy) apply(copy);
        for (const Pack& pack : to_pack) pack.is_float ? apply_pack<float>(pack) : apply_pack<double>(pack);
        for (const Replace& replace : to_replace) apply(replace);
        for (nb::handle change : attributes)
          if (PyDict_Update(PyTuple_GET_ITEM(change.ptr(), 0), PyTuple_GET_ITEM(change.ptr(), 1)) != 0)
            throw nb::python_error();
      },
      "attributes"_a, "copies"_a, "packs"_a, "rights"_a);
  m.def(
      "replace_all",  // the contents of a dict by those of another
      [](const nb::dict& target, const nb::dict& source) {
        const nb::list kept = target.values();  // alive until the end: no finalizer runs in between
        std::vector<nb::object> gone;
        for (nb::handle key : target.keys())
          if (!source.contains(key)) gone.push_back(nb::borrow(key));
        if (PyDict_Update(target.ptr(), source.ptr()) != 0) throw nb::python_error();
        for (const nb::object& key : gone)
          if (PyDict_DelItem(target.ptr(), key.ptr()) != 0) throw nb::python_error();
      },
      "target"_a, "source"_a);
}

}}  // namespace onkel::bind
