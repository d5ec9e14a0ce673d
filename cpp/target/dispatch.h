// Chooses the SIMD target that runs: the best that this CPU supports, unless another one was selected.
#pragma once
#include "target/target.h"

namespace onkel {

// The targets that this CPU supports, best first; `count` gets their number.
const Target* const* targets(int* count);

const Target& current_target();
bool select_target(const char* name);  // false if this CPU does not support it

}  // namespace onkel
