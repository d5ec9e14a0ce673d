// Which SIMD target runs: the best that this machine has, or the one that was asked for.
#pragma once
#include "target/target.h"

namespace onkel {

// Targets that this machine can run, best first; `count` gets their number.
const Target* const* targets(int* count);

const Target& current_target();
bool select_target(const char* name);  // false if this machine cannot run it

}  // namespace onkel
