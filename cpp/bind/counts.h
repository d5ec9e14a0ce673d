// Records of numbers that Python reads and the core changes (learn/counts.h): classes with an attribute for each number,
// which are copied to learn on a copy, and passed to a pass by reference. Pickles hold their bytes.
#pragma once
#include <cstring>

#include "bind/check.h"

namespace onkel { namespace bind {

template <class Record, class... Base> nb::class_<Record, Base...> bind_record(nb::module_& m, const char* name) {
  static_assert(std::is_trivially_copyable<Record>::value, "its bytes are all that it is");
  return nb::class_<Record, Base...>(m, name)
      .def(nb::init<>())
      .def("copy", [](const Record& record) { return Record(record); })
      .def("__getstate__",
           [](const Record& record) { return nb::bytes(reinterpret_cast<const char*>(&record), sizeof(Record)); })
      .def("__setstate__", [name](Record& record, const nb::bytes& bytes) {
        Check{name}.that(bytes.size() == sizeof(Record), "a pickle must have the bytes of this version");
        std::memcpy(static_cast<void*>(new (&record) Record()), bytes.c_str(), sizeof(Record));
      });
}

}}  // namespace onkel::bind
