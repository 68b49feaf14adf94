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

BufferRef Landing::owner(Bytes bytes) const {
  const Bytes block = block_.bytes();
  const std::less_equal<const std::byte*> before;
  const bool inside = before(block.data(), bytes.data()) &&
                      before(bytes.data() + bytes.size(), block.data() + block.size());
  return inside && !bytes.empty() ? block_ : BufferRef();
}

}  // namespace weft::wan
