// Columns of tokens and their features: sequence/conll.h and sequence/templates.h in Python.
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bind/check.h"
#include "sequence/conll.h"
#include "sequence/templates.h"

namespace onkel { namespace bind {
namespace {

using sequence::Columns;
using sequence::ConllReader;
using sequence::FeatureIndex;
using sequence::Rows;
using sequence::Template;

// ---- CoNLL files

// A reader keeps the bytes that it reads from: the keys of its tables point into them.
struct Reader {
  nb::bytes text;
  ConllReader reader;

  Reader(nb::bytes bytes, int64_t n_columns, const std::string& separator, const std::string& comment, bool conllu,
         const std::vector<int32_t>& kept)
      : text(std::move(bytes)),
        reader(static_cast<const char*>(text.data()), int64_t(text.size()), n_columns,
               {separator.empty() ? '\0' : separator[0], comment, conllu, kept}) {
    const Check check{"ConllReader"};
    check.least("n_columns", n_columns, kept.empty() ? 0 : 1);
    check.that(separator.size() <= 1, "separator must be a single byte, or empty");
    for (const int32_t column : kept) check.index("kept", column, n_columns);
  }

  bool read(int64_t most) {
    Check{"ConllReader.read"}.least("most", most, 1);
    const nb::gil_scoped_release released;
    return reader.read(most);
  }
  void codes(int64_t column, const Out1<int32_t>& out) const {
    const Check check{"ConllReader.codes"};
    check.index("column", column, reader.n_kept());
    const std::vector<int32_t>& found = reader.codes(size_t(column));
    check.shape("out", out, int64_t(found.size()));
    std::copy(found.begin(), found.end(), out.data());
  }
  void starts(const Out1<int64_t>& out) const {
    const Check check{"ConllReader.starts"};
    check.shape("out", out, int64_t(reader.starts().size()));
    std::copy(reader.starts().begin(), reader.starts().end(), out.data());
  }
  // The distinct values of a column, or None at one that is not UTF-8: then `malformed` says where it is.
  nb::object values(int64_t column) {
    Check{"ConllReader.values"}.index("column", column, reader.n_kept());
    nb::list all;
    for (const sequence::Text& value : reader.values(size_t(column))) {
      PyObject* text = PyUnicode_DecodeUTF8(value.begin, Py_ssize_t(value.size), nullptr);
      if (!text) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw nb::python_error();
        PyErr_Clear();
        reader.not_utf8(value, reader.column_of(size_t(column)));
        return nb::none();
      }
      all.append(nb::steal(text));
    }
    return all;
  }
  nb::object malformed() const {
    const sequence::Malformed& found = reader.malformed();
    if (found.defect == sequence::Defect::kNone) return nb::none();
    static const char* const kNames[] = {"", "columns", "empty", "nul", "number", "utf8"};
    return nb::make_tuple(kNames[int(found.defect)], found.line, found.begin, found.end, found.got);
  }
};

// ---- templates

using Parts = std::vector<std::pair<int32_t, int32_t>>;

std::vector<Template> made(const std::vector<Parts>& parts, const std::vector<bool>& inside, int64_t n_columns,
                           int64_t reach, const Check& check) {
  check.that(inside.size() == parts.size(), "parts and inside must have the same length");
  check.that(parts.size() < 1 << 16, "there must be fewer than 65536 templates");
  std::vector<Template> templates;
  for (size_t m = 0; m < parts.size(); ++m) {
    templates.push_back({{}, inside[m]});
    for (const auto& [column, offset] : parts[m]) {
      check.index("column", column, n_columns);
      check.between("offset", offset, -reach, reach);
      templates.back().parts.push_back({column, offset});
    }
  }
  return templates;
}

// What both kinds of features need: rows of a run, with room for all their ids.
template <class T>
Columns<T> checked(const Check& check, const In2<T>& values, int64_t n_columns, const Indptr& starts,
                   const std::vector<T>& edges, T absent, const Out1<int64_t>& indptr, const Out1<int32_t>& ids,
                   int64_t n_templates) {
  const int64_t tokens = int64_t(values.shape(1)), sentences = int64_t(starts.shape(0)) - 1;
  check.shape("values", values, n_columns, kAny);
  check.room("starts", starts, 1);
  const int64_t* at = starts.data();
  bool ascend = at[0] == 0 && at[sentences] == tokens;
  for (int64_t s = 0; s < sentences; ++s) ascend &= at[s] <= at[s + 1];
  check.that(ascend, "starts must ascend from 0 to the number of tokens");
  check.shape("indptr", indptr, tokens);
  check.room("ids", ids, tokens * n_templates);
  return {values.data(), tokens, at, sentences, edges.data(), int64_t(edges.size() / 2), absent};
}

class Index {
 public:
  Index(const std::vector<Parts>& parts, const std::vector<bool>& inside, int64_t n_columns, int64_t reach)
      : index_(made(parts, inside, n_columns, reach, Check{"FeatureIndex"})),
        n_columns_(n_columns), edges_(size_t(2 * reach)) {
    std::iota(edges_.begin(), edges_.end(), 0);
  }

  int64_t size() const { return index_.size(); }
  int64_t n_codes() const { return index_.n_codes(); }

  // `sizes` holds the number of codes of each column.
  int64_t run(bool add, const In2<int32_t>& codes, const In1<int64_t>& sizes, const Indptr& starts, bool skip_first,
              int64_t base, const Out1<int64_t>& indptr, const Out1<int32_t>& ids) {
    const Check check{add ? "FeatureIndex.add" : "FeatureIndex.find"};
    const int64_t n_templates = int64_t(index_.templates().size());
    const Columns<int32_t> columns =
        checked<int32_t>(check, codes, n_columns_, starts, edges_, -1, indptr, ids, n_templates);
    check.shape("sizes", sizes, n_columns_);
    check.that(size() + columns.tokens * n_templates < INT32_MAX, "there must be fewer than 2^31 features");
    const nb::gil_scoped_release released;
    for (int64_t c = 0; c < n_columns_; ++c) check_codes(check, codes.data() + c * columns.tokens, columns.tokens, sizes.data()[c]);
    const Rows rows{indptr.data(), ids.data(), base, skip_first};
    return add ? index_.add(columns, rows) : std::as_const(index_).find(columns, rows);
  }

  // Features by their codes, in the order of their ids.
  void load(const In1<uint16_t>& templates, const In1<int32_t>& codes, const In1<int64_t>& sizes) {
    const Check check{"FeatureIndex.load"};
    check.shape("sizes", sizes, n_columns_);
    check.that(size() + int64_t(templates.shape(0)) < INT32_MAX, "there must be fewer than 2^31 features");
    const int64_t n = int64_t(templates.shape(0)), n_codes = int64_t(codes.shape(0));
    int64_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
      check.index("templates", templates.data()[i], int64_t(index_.templates().size()));
      const auto& parts = index_.templates()[templates.data()[i]].parts;
      if (at + int64_t(parts.size()) > n_codes) check.fail("codes must hold one number for each part of each feature");
      for (size_t p = 0; p < parts.size(); ++p) check.index("codes", codes.data()[at + int64_t(p)], sizes.data()[parts[p].column]);
      if (!index_.add_feature(templates.data()[i], codes.data() + at)) check.fail("each feature must come only once");
      at += int64_t(parts.size());
    }
    check.that(at == n_codes, "codes must hold one number for each part of each feature");
  }
  void export_to(const Out1<uint16_t>& templates, const Out1<int32_t>& codes) const {
    const Check check{"FeatureIndex.export"};
    check.shape("templates", templates, size());
    check.shape("codes", codes, n_codes());
    const nb::gil_scoped_release released;
    index_.export_to(templates.data(), codes.data());
  }

 private:
  FeatureIndex index_;
  int64_t n_columns_;
  std::vector<int32_t> edges_;

  static void check_codes(const Check& check, const int32_t* codes, int64_t n, int64_t size) {
    int32_t most = -1;
    for (int64_t i = 0; i < n; ++i) most = codes[i] > most ? codes[i] : most;
    if (most < size) return;
    check.index("codes", most, size);
  }
};

int64_t hash_run(const std::vector<Parts>& parts, const std::vector<bool>& inside, const In1<uint64_t>& seeds,
                 int64_t n_bits, const In1<uint64_t>& edges, const In2<uint64_t>& hashes, const Indptr& starts,
                 bool skip_first, int64_t base, const Out1<int64_t>& indptr, const Out1<int32_t>& ids) {
  const Check check{"hash_features"};
  const int64_t n_columns = int64_t(hashes.shape(0));
  const std::vector<Template> templates = made(parts, inside, n_columns, int64_t(edges.shape(0)) / 2, check);
  check.shape("seeds", seeds, int64_t(templates.size()));
  check.between("n_bits", n_bits, 1, 30);
  const std::vector<uint64_t> beyond(edges.data(), edges.data() + edges.shape(0));
  const Columns<uint64_t> columns =
      checked<uint64_t>(check, hashes, n_columns, starts, beyond, 0, indptr, ids, int64_t(templates.size()));
  const nb::gil_scoped_release released;
  return sequence::hash_features(templates, seeds.data(), int(n_bits), columns, {indptr.data(), ids.data(), base, skip_first});
}

}  // namespace

void bind_text(nb::module_& m) {
  nb::class_<Reader>(m, "ConllReader")
      .def(nb::init<nb::bytes, int64_t, const std::string&, const std::string&, bool, const std::vector<int32_t>&>(),
           "text"_a, "n_columns"_a, "separator"_a, "comment"_a, "conllu"_a, "kept"_a)
      .def("read", &Reader::read, "most"_a)
      .def("codes", &Reader::codes, "column"_a, "out"_a.noconvert())
      .def("starts", &Reader::starts, "out"_a.noconvert())
      .def("values", &Reader::values, "column"_a)
      .def("malformed", &Reader::malformed)
      .def_prop_ro("text", [](const Reader& self) { return self.text; })
      .def_prop_ro("n_columns", [](const Reader& self) { return self.reader.n_columns(); })
      .def_prop_ro("n_tokens",
                   [](const Reader& self) { return self.reader.n_kept() ? int64_t(self.reader.codes(0).size()) : 0; })
      .def_prop_ro("n_starts", [](const Reader& self) { return int64_t(self.reader.starts().size()); });

  const auto run = [](bool add) {
    return [add](Index& self, const In2<int32_t>& codes, const In1<int64_t>& sizes, const Indptr& starts,
                 bool skip_first, int64_t base, const Out1<int64_t>& indptr, const Out1<int32_t>& ids) {
      return self.run(add, codes, sizes, starts, skip_first, base, indptr, ids);
    };
  };
  nb::class_<Index>(m, "FeatureIndex")
      .def(nb::init<const std::vector<Parts>&, const std::vector<bool>&, int64_t, int64_t>(), "parts"_a, "inside"_a,
           "n_columns"_a, "reach"_a)
      .def("add", run(true), "codes"_a.noconvert(), "sizes"_a.noconvert(), "starts"_a.noconvert(), "skip_first"_a,
           "base"_a, "indptr"_a.noconvert(), "ids"_a.noconvert())
      .def("find", run(false), "codes"_a.noconvert(), "sizes"_a.noconvert(), "starts"_a.noconvert(), "skip_first"_a,
           "base"_a, "indptr"_a.noconvert(), "ids"_a.noconvert())
      .def("load", &Index::load, "templates"_a.noconvert(), "codes"_a.noconvert(), "sizes"_a.noconvert())
      .def("export_to", &Index::export_to, "templates"_a.noconvert(), "codes"_a.noconvert())
      .def("copy", [](const Index& self) { return Index(self); })
      .def_prop_ro("size", &Index::size)
      .def_prop_ro("n_codes", &Index::n_codes);
  m.def("hash_features", &hash_run, "parts"_a, "inside"_a, "seeds"_a.noconvert(), "n_bits"_a, "edges"_a.noconvert(),
        "hashes"_a.noconvert(), "starts"_a.noconvert(), "skip_first"_a, "base"_a, "indptr"_a.noconvert(),
        "ids"_a.noconvert());
}

}}  // namespace onkel::bind
