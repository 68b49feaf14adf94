// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/frame_memory.h"

#include <functional>
#include <new>

namespace weft::daemon {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

FrameMemory::Places::Places(std::size_t count, std::size_t size)
    : length((size + kLine - 1) / kLine * kLine),
      memory(static_cast<std::byte*>(::operator new (count* length, std::align_val_t{kLine}))) {
  free.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    blocks.emplace_back(MutableBytes(memory.get() + i * length, length),
                        BufferBlock::Threads::kInTurn);
  // The first one is taken first.
  for (auto at = blocks.rbegin(); at != blocks.rend(); ++at)
    free.push_back(&*at);
}

void FrameMemory::Places::returned(BufferBlock& block) {
  free.push_back(&block);
  if (left && all_free()) delete this;
}

FrameMemory::FrameMemory(std::size_t places, std::size_t place)
    : places_(new Places(places, place)) {
}

FrameMemory::~FrameMemory() {
  if (places_->all_free()) {
    delete places_;
  } else {
    places_->left = true;
  }
}

void FrameMemory::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kLine});
}

MutableBytes FrameMemory::all() {
  return {places_->memory.get(), places_->blocks.size() * places_->length};
}

BufferRef FrameMemory::take() {
  if (places_->free.empty()) return {};
  BufferBlock& block = *places_->free.back();
  places_->free.pop_back();
  return block.lend(*places_);
}

BufferRef FrameMemory::share(Bytes bytes) {
  const MutableBytes whole = all();
  const std::less<const std::byte*> before;
  if (before(bytes.data(), whole.data()) || !before(bytes.data(), whole.data() + whole.size())) {
    return {};
  }
  const auto at = static_cast<std::size_t>(bytes.data() - whole.data());
  BufferBlock& block = places_->blocks[at / places_->length];
  if (!block.lent()) return {};
  return block.share();
}

}  // namespace weft::daemon
