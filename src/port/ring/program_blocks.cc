// SPDX-License-Identifier: Apache-2.0
#include "port/ring/program_blocks.h"

#include <typeinfo>
#include <utility>

namespace weft::port::ring {

ProgramBlocks::ProgramBlocks(std::uint32_t arena, io::UniqueFd file, io::SharedMapping mapping)
    : arena_(arena),
      file_(std::move(file)),
      mapping_(std::move(mapping)),
      memory_(static_cast<const ProgramMemory*>(mapping_.begin())) {
}

Expected<std::shared_ptr<ProgramBlocks>> ProgramBlocks::create(std::uint32_t arena) {
  auto file = io::make_shared_file("weft-program", sizeof(ProgramMemory));
  if (!file) return tl::unexpected(file.error());
  if (auto ended = io::end_sealing(file->get()); !ended) return tl::unexpected(ended.error());
  auto mapping = io::SharedMapping::map(file->get(), sizeof(ProgramMemory), io::Access::kRead);
  if (!mapping) return tl::unexpected(mapping.error());
  return std::shared_ptr<ProgramBlocks>(
      new ProgramBlocks(arena, std::move(*file), std::move(*mapping)));
}

ProgramBlocks* ProgramBlocks::of(const BufferRef& owner) {
  if (!owner) return nullptr;
  // Whoever lent it is this or a pool; asking so costs less than a cast that looks for it.
  const BufferOwner& lender = *owner.block()->owner();
  if (typeid(lender) != typeid(ProgramBlocks)) return nullptr;
  return const_cast<ProgramBlocks*>(static_cast<const ProgramBlocks*>(&lender));
}

BufferRef ProgramBlocks::lend(std::uint32_t block) {
  if (block >= kBlocks || blocks_[block].lent()) return {};
  if (lent_++ == 0) self_ = shared_from_this();
  return blocks_[block].lend(*this);
}

void ProgramBlocks::returned(BufferBlock& block) {
  if (home_ != nullptr) home_->freed(number_of(block));
  if (--lent_ == 0) self_.reset();  // and perhaps this
}

}  // namespace weft::port::ring
