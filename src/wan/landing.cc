// SPDX-License-Identifier: Apache-2.0
#include "wan/landing.h"

#include <cassert>
#include <functional>
#include <utility>

namespace weft::wan {

MutableBytes Landing::room() {
  if (block_.unique()) used_ = 0;
  if (!block_ || kBlock - used_ < kRoom) {
    block_.reset();
    auto block = memory_.acquire();
    if (!block) return {};
    block_ = std::move(*block);
    used_ = 0;
  }
  return block_.bytes().subspan(used_);
}

void Landing::landed(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  assert(block_ && bytes <= kBlock - used_);
  used_ += (bytes + kLine - 1) / kLine * kLine;
}

bool Landing::holds(Bytes bytes) const {
  const Bytes block = block_.bytes();
  const std::less_equal<const std::byte*> before;
  return !bytes.empty() && before(block.data(), bytes.data()) &&
         before(bytes.data() + bytes.size(), block.data() + block.size());
}

BufferRef Landing::owner(Bytes bytes) const {
  return holds(bytes) ? block_ : BufferRef();
}

MutableBytes Landing::writable(Bytes bytes) const {
  if (!holds(bytes)) return {};
  const MutableBytes block = block_.bytes();
  return block.subspan(static_cast<std::size_t>(bytes.data() - block.data()), bytes.size());
}

}  // namespace weft::wan
