// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "hca/memory_table.h"
#include "hca/types.h"

namespace weft::daemon {

// Memory for messages that come, in slots of one length: a region of an adapter's table. The system
// gives the memory as it is used.
class ReceiveSlots {
 public:
  // The table outlives it, and whatever is posted does not. Its regions are fewer than it can have.
  ReceiveSlots(hca::MemoryTable& table, std::size_t slots, std::size_t length)
      : slots_(slots),
        length_(length),
        memory_(std::make_unique_for_overwrite<std::byte[]>(slots * length)),
        region_(table
                    .add({.base = memory_.get(),
                          .iova = reinterpret_cast<std::uintptr_t>(memory_.get()),
                          .length = slots * length,
                          .access = hca::kLocalWrite})
                    .value()) {}

  [[nodiscard]] std::size_t count() const { return slots_; }
  [[nodiscard]] Bytes bytes(std::size_t slot) const {
    assert(slot < slots_);
    return {memory_.get() + slot * length_, length_};
  }
  // The whole slot, for a receive request.
  [[nodiscard]] hca::Sge piece(std::size_t slot) const {
    return {reinterpret_cast<std::uintptr_t>(bytes(slot).data()),
            static_cast<std::uint32_t>(length_), LKey{region_.key}};
  }

 private:
  const std::size_t slots_;
  const std::size_t length_;
  const std::unique_ptr<std::byte[]> memory_;
  const hca::MemoryRegion region_;
};

}  // namespace weft::daemon
