// SPDX-License-Identifier: Apache-2.0
// The memory of two rings (carrier/ring_memory.h) between two processes: a file for each of them,
// which the other one can only read, and which nobody can resize.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "carrier/ring_memory.h"
#include "io/shared_mapping.h"
#include "io/unique_fd.h"

namespace weft::daemon {

// One side's. What is in `theirs` may be anything, and may change at any time.
class RingMappings {
 public:
  static constexpr std::size_t kFiles = 2;

  // Of the side that makes them. The files are for the other side, in this order.
  static Expected<RingMappings> make(std::vector<io::UniqueFd>& files);
  // Of the other side: kFiles of them. bad_message: they are no such memory.
  static Expected<RingMappings> take(std::span<const io::UniqueFd> files);

  RingMappings() = default;
  [[nodiscard]] carrier::RingMemory& ours() const {
    return *static_cast<carrier::RingMemory*>(ours_.begin());
  }
  [[nodiscard]] const carrier::RingMemory& theirs() const {
    return *static_cast<const carrier::RingMemory*>(theirs_.begin());
  }

 private:
  static Expected<RingMappings> map(const io::UniqueFd& ours, const io::UniqueFd& theirs);

  io::SharedMapping ours_;
  io::SharedMapping theirs_;
};

}  // namespace weft::daemon
