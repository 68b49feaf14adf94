// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/frame_memory.h"

#include <functional>
#include <new>

namespace weft::daemon {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

FrameMemory::FrameMemory(std::size_t places, std::size_t place)
    : place_((place + kLine - 1) / kLine * kLine),
      memory_(static_cast<std::byte*>(::operator new (places* place_, std::align_val_t{kLine}))) {
  free_.reserve(places);
  for (std::size_t i = 0; i < places; ++i)
    places_.emplace_back(MutableBytes(memory_.get() + i * place_, place_),
                         BufferBlock::Threads::kInTurn);
  // The first one is taken first.
  for (auto at = places_.rbegin(); at != places_.rend(); ++at)
    free_.push_back(&*at);
}

void FrameMemory::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kLine});
}

BufferRef FrameMemory::take() {
  if (free_.empty()) return {};
  BufferBlock& block = *free_.back();
  free_.pop_back();
  return block.lend(*this);
}

BufferRef FrameMemory::share(Bytes bytes) {
  const std::byte* const begin = memory_.get();
  const std::byte* const end = begin + places_.size() * place_;
  const std::less<> before;
  if (before(bytes.data(), begin) || !before(bytes.data(), end)) return {};
  BufferBlock& block = places_[static_cast<std::size_t>(bytes.data() - begin) / place_];
  if (!block.lent()) return {};
  return block.share();
}

}  // namespace weft::daemon
