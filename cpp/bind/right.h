// The packed right-hand sides of products that Python caches with its rows (Right32 and Right64 of product.cpp), as
// other bindings see them.
#pragma once
#include "bind/arrays.h"

namespace onkel { namespace bind {

// Whether an object is such a right-hand side, of values of type T and with d features, whose row `place` can be written:
// one of its rows, or the next one if its last panel is not full yet. While some row is out of T's range, no row can be
// written: the range of norms only widens, and would stay too wide when that row is gone. The caller packs the rows anew.
template <class T> bool can_replace_in_right(nb::handle object, int64_t place, int64_t d);

// Updates it after x (d) was written to row `place` of its panels.
template <class T> void replace_in_right(nb::handle right, int64_t place, const T* x, int64_t d);

}}  // namespace onkel::bind
