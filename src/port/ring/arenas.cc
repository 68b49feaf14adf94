// SPDX-License-Identifier: Apache-2.0
#include "port/ring/fabric_shared.h"

namespace weft::port {

Expected<void> Arenas::add(std::uint32_t arena, int file) {
  auto mapping = io::SharedMapping::map(file, sizeof(ring::ProgramMemory), io::Access::kRead);
  if (!mapping) return tl::unexpected(mapping.error());
  const std::lock_guard guard(mutex_);
  mappings_[arena] = std::move(*mapping);
  return {};
}

void Arenas::remove(std::uint32_t arena) {
  const std::lock_guard guard(mutex_);
  mappings_.erase(arena);
}

Bytes Arenas::block(std::uint32_t arena, std::uint32_t number) const {
  const auto found = mappings_.find(arena);
  if (found == mappings_.end() || number >= ring::kBlocks) return {};
  return static_cast<const ring::ProgramMemory*>(found->second.begin())->blocks[number];
}

}  // namespace weft::port
