// Features that are strings: sequence/string_table.h and sequence/strings.h in Python.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/check.h"
#include "sequence/string_table.h"

namespace onkel { namespace bind {
namespace {

using sequence::StringTable;

// A Python string in UTF-8. Bytes of an ASCII string are its own, those of others are made once and kept by it.
std::string_view text_of(PyObject* string) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(string, &size);  // a TypeError if it is no string
  if (!text) throw nb::python_error();
  return {text, size_t(size)};
}

// Calls f(strings, n, first) for the strings of each token, a list or tuple; `first` counts those before it.
template <class F> void each_token(const Check& check, const nb::list& tokens, const Out1<int32_t>& ids, F f) {
  int64_t first = 0;
  for (Py_ssize_t t = 0; t < PyList_GET_SIZE(tokens.ptr()); ++t) {
    PyObject* token = PyList_GET_ITEM(tokens.ptr(), t);
    if (!PyList_Check(token) && !PyTuple_Check(token)) check.fail("each token must be a list or a tuple");
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(token);
    check.room("ids", ids, first + n);
    f(PySequence_Fast_ITEMS(token), int64_t(n), first);
    first += n;
  }
  check.shape("ids", ids, first);
}

class Strings {
 public:
  int64_t size() const { return table_.size(); }

  // Writes the number of each string of all tokens. If one is no string, nothing is added.
  void add(const nb::list& tokens, const Out1<int32_t>& ids) {
    const Check check{"StringTable.add"};
    check.that(size() + int64_t(ids.shape(0)) < INT32_MAX, "there must be fewer than 2^31 strings");
    const int64_t before = size();
    try {
      each_token(check, tokens, ids, [&](PyObject** strings, int64_t n, int64_t first) {
        run(strings, n, [&](int64_t i, std::string_view text, uint64_t hash) {
          ids.data()[first + i] = table_.add(text, hash);
        });
      });
    } catch (...) {
      table_.truncate(before);
      throw;
    }
  }

  // The same; those that are unknown get -1.
  void find(const nb::list& tokens, const Out1<int32_t>& ids) const {
    each_token(Check{"StringTable.find"}, tokens, ids, [&](PyObject** strings, int64_t n, int64_t first) {
      run(strings, n, [&](int64_t i, std::string_view text, uint64_t hash) {
        ids.data()[first + i] = table_.find(text, hash);
      });
    });
  }

  nb::list names() const {
    nb::list names;
    for (int64_t id = 0; id < size(); ++id) {
      PyObject* name = PyUnicode_DecodeUTF8(table_[id].data(), Py_ssize_t(table_[id].size()), nullptr);
      if (!name) throw nb::python_error();
      names.append(nb::steal(name));
    }
    return names;
  }

  // A table of these strings only, in this order.
  Strings selected(const In1<int64_t>& ids) const {
    Check{"StringTable.selected"}.indices("ids", ids, size());
    Strings found;
    for (size_t i = 0; i < ids.shape(0); ++i) {
      const std::string_view text = table_[ids.data()[i]];
      found.table_.add(text, StringTable::hash(text));
    }
    return found;
  }

  // All strings as bytes and where each ends.
  nb::bytes bytes() const { return nb::bytes(table_.bytes().data(), table_.bytes().size()); }
  void ends(const Out1<int64_t>& out) const {
    Check{"StringTable.ends"}.shape("out", out, size());
    std::copy(table_.ends().begin(), table_.ends().end(), out.data());
  }
  static Strings load(const In1<uint8_t>& bytes, const In1<int64_t>& ends) {
    const Check check{"StringTable.load"};
    const char* text = reinterpret_cast<const char*>(bytes.data());
    Strings made;
    int64_t begin = 0;
    for (size_t i = 0; i < ends.shape(0); ++i) {
      const int64_t end = ends.data()[i];
      check.between("ends", end, begin, int64_t(bytes.shape(0)));
      const std::string_view one(text + begin, size_t(end - begin));
      made.table_.add(one, StringTable::hash(one));
      if (made.size() == int64_t(i)) check.fail("the strings must all be different");
      begin = end;
    }
    check.that(begin == int64_t(bytes.shape(0)), "ends must end with the number of bytes");
    return made;
  }

 private:
  StringTable table_;
  static constexpr int64_t kBlock = 32;  // strings that are looked up together

  // Calls f(i, text, hash) for each string, after its slot and the bytes to compare with were asked for.
  template <class F> void run(PyObject** strings, int64_t n, F f) const {
    std::string_view texts[kBlock];
    uint64_t hashes[kBlock];
    for (int64_t first = 0; first < n; first += kBlock) {
      const int64_t count = std::min(kBlock, n - first);
      for (int64_t i = 0; i < count; ++i) {
        texts[i] = text_of(strings[first + i]);
        hashes[i] = StringTable::hash(texts[i]);
        table_.prefetch(hashes[i]);
      }
      for (int64_t i = 0; i < count; ++i) table_.prefetch_bytes(hashes[i]);
      for (int64_t i = 0; i < count; ++i) f(first + i, texts[i], hashes[i]);
    }
  }
};

// The hash of each string of all tokens, below 2^n_bits and the same on every machine.
void hash_tokens(const nb::list& tokens, int64_t n_bits, const Out1<int32_t>& ids) {
  const Check check{"hash_tokens"};
  check.between("n_bits", n_bits, 1, 30);
  const uint64_t mask = (uint64_t(1) << n_bits) - 1;
  each_token(check, tokens, ids, [&](PyObject** strings, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n; ++i) {
      const std::string_view text = text_of(strings[i]);
      ids.data()[first + i] = int32_t(sequence::hash_bytes(text.data(), text.size()) & mask);
    }
  });
}

// A number for each string, the same on every machine; never 0.
void hash_strings(const nb::list& strings, const Out1<uint64_t>& out) {
  Check{"hash_strings"}.shape("out", out, int64_t(strings.size()));
  for (size_t i = 0; i < strings.size(); ++i) {
    const std::string_view text = text_of(nb::object(strings[i]).ptr());
    const uint64_t hash = sequence::hash_bytes(text.data(), text.size());
    out.data()[i] = hash ? hash : 1;
  }
}

}  // namespace

void bind_strings(nb::module_& m) {
  nb::class_<Strings>(m, "StringTable")
      .def(nb::init<>())
      .def("add", &Strings::add, "tokens"_a, "ids"_a.noconvert())
      .def("find", &Strings::find, "tokens"_a, "ids"_a.noconvert())
      .def("names", &Strings::names)
      .def("selected", &Strings::selected, "ids"_a.noconvert())
      .def("copy", [](const Strings& self) { return Strings(self); })
      .def("bytes", &Strings::bytes)
      .def("ends", &Strings::ends, "out"_a.noconvert())
      .def_static("load", &Strings::load, "bytes"_a.noconvert(), "ends"_a.noconvert())
      .def_prop_ro("size", &Strings::size);
  m.def("hash_tokens", &hash_tokens, "tokens"_a, "n_bits"_a, "ids"_a.noconvert());
  m.def("hash_strings", &hash_strings, "strings"_a, "out"_a.noconvert());
}

}}  // namespace onkel::bind
