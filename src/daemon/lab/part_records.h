// SPDX-License-Identifier: Apache-2.0
// What instances of a data service tell each other that are in different parts of a lab: records of
// services, which only these understand.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace weft::daemon {

struct PartRecord {
  static constexpr std::uint32_t kRuntime = 0xFFFF'FFFF;
  std::uint64_t service = 0;  // its number in the lab, as LabServices has it
  std::uint32_t which = 0;    // of the services at its places, or kRuntime: the runtime's own
  Bytes record{};             // at most service::Host::kMostRecord bytes
};

// Another part, or all of them.
class PartRecordSink {
 public:
  virtual ~PartRecordSink() = default;
  // One that is not there, or that has no room, does not hear it.
  virtual void tell(const PartRecord& record) = 0;
};

class PartRecordUser {
 public:
  virtual ~PartRecordUser() = default;
  // Another part is there anew, and knows nothing of what was told before.
  virtual void part_came(PartRecordSink& part) = 0;
  virtual void record_came(const PartRecord& record) = 0;
};

}  // namespace weft::daemon
