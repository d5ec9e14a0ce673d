// Support vector machines: learn/smo.h in Python.
#include "bind/check.h"
#include "target/dispatch.h"

#include <utility>
#include <vector>

namespace onkel { namespace bind {
namespace {

int64_t run_smo(bool pairs, const float* K, const onkel::Block& block, double tol, int64_t most, double* gap) {
  return onkel::current_target().smo32(pairs, K, block, tol, most, gap);
}
int64_t run_smo(bool pairs, const double* K, const onkel::Block& block, double tol, int64_t most, double* gap) {
  return onkel::current_target().smo64(pairs, K, block, tol, most, gap);
}

template <class T> void bind_smo(nb::module_& m) {
  m.def(
      "smo",
      [](In2<T> K, int64_t size, In1<double> low, In1<double> high, Out1<double> b, Out1<double> v, bool pairs,
         double tol, int64_t most) {
        const size_t room = K.shape(1);
        const Check check{"smo"};
        check.least("size", size, 0);
        check.room("K", K, size, (size + onkel::kBlockStep - 1) / onkel::kBlockStep * onkel::kBlockStep);
        check.room("low", low, size);
        check.room("high", high, size);
        check.room("b", b, size);
        check.room("v", v, size);
        std::vector<double> wide(2 * room);
        std::vector<float> rough(2 * room);
        double gap = 0;
        int64_t steps = 0;
        {
          const nb::gil_scoped_release released;
          const onkel::Block block{size, int64_t(K.shape(1)), low.data(), high.data(), b.data(), v.data(),
                                   wide.data(), wide.data() + room, rough.data(), rough.data() + room};
          steps = run_smo(pairs, K.data(), block, tol, most, &gap);
        }
        return std::make_pair(steps, gap);
      },
      "K"_a.noconvert(), "size"_a, "low"_a.noconvert(), "high"_a.noconvert(), "b"_a.noconvert(), "v"_a.noconvert(),
      "pairs"_a, "tol"_a, "most"_a);
}

}  // namespace

void bind_svm(nb::module_& m) {
  bind_smo<float>(m);
  bind_smo<double>(m);
}

}}  // namespace onkel::bind
