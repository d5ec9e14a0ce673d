// The extension module onkel._core._native: what Python may call of the core, one function bind_... per room.
//
// bind/ is the only folder that knows Python. Contiguous arrays and numbers come in, and results go to arrays that
// the caller owns; no argument is converted, as results would go to a lost copy. What stays the same over many calls
// (the support of products, a learner and its arrays) is bound once, as an object that refers to the caller's arrays
// and keeps them alive.
//
// nanobind checks element types, numbers of dimensions and, where arrays.h asks for it, contiguity: else a TypeError.
// The functions here check that arrays fit each other as the headers of the core say, and that numbers which become
// addresses are in range (check.h): else a ValueError. The rest of the core relies on these checks.
#include <string>
#include <vector>

#include "bind/arrays.h"
#include "target/dispatch.h"

namespace onkel { namespace bind {

void bind_rows(nb::module_& m);
void bind_product(nb::module_& m);
void bind_counts(nb::module_& m);
void bind_perceptron(nb::module_& m);
void bind_prank(nb::module_& m);
void bind_budget(nb::module_& m);
void bind_projectron(nb::module_& m);
void bind_svm(nb::module_& m);
void bind_lasvm(nb::module_& m);
void bind_sequence(nb::module_& m);
void bind_lock(nb::module_& m);
void bind_transaction(nb::module_& m);
void bind_text(nb::module_& m);
void bind_strings(nb::module_& m);

}}  // namespace onkel::bind

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_native, m) {
  m.def("simd_targets", [] {
    int count = 0;
    const onkel::Target* const* found = onkel::targets(&count);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.emplace_back(found[i]->name);
    return names;
  });
  m.def("simd_target", [] { return std::string(onkel::current_target().name); });
  m.def("select_simd", [](const std::string& name) { return onkel::select_target(name.c_str()); }, "name"_a);
  nb::set_leak_warnings(false);  // what lives at the end of a process goes with it
  onkel::bind::bind_rows(m);
  onkel::bind::bind_product(m);
  onkel::bind::bind_counts(m);  // first, as other records derive from it
  onkel::bind::bind_perceptron(m);
  onkel::bind::bind_prank(m);
  onkel::bind::bind_budget(m);
  onkel::bind::bind_projectron(m);
  onkel::bind::bind_svm(m);
  onkel::bind::bind_lasvm(m);
  onkel::bind::bind_sequence(m);
  onkel::bind::bind_lock(m);
  onkel::bind::bind_transaction(m);
  onkel::bind::bind_text(m);
  onkel::bind::bind_strings(m);
}
