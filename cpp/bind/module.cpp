// The border with Python: arrays and numbers in, caller's arrays out. What is the same in many calls is
// bound once, as an object; it refers to the caller's arrays, and owns nothing.
// The only folder that knows Python. Sizes are checked by the door in onkel/_core/__init__.py.
#include <string>
#include <vector>

#include "bind/arrays.h"
#include "target/dispatch.h"

namespace onkel { namespace bind {

void bind_product(nb::module_& m);
void bind_perceptron(nb::module_& m);
void bind_budget(nb::module_& m);
void bind_projectron(nb::module_& m);
void bind_svm(nb::module_& m);

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
  onkel::bind::bind_product(m);
  onkel::bind::bind_perceptron(m);
  onkel::bind::bind_budget(m);
  onkel::bind::bind_projectron(m);
  onkel::bind::bind_svm(m);
}
