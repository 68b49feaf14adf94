// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/buffer_pool.h"
#include "base/error.h"
#include "io/shared_mapping.h"
#include "io/unique_fd.h"
#include "port/ring/shared_memory.h"

namespace weft::port::ring {

// A program's memory as the daemon has it: to be read only, and with payload blocks that packets
// refer to. It lasts until the last of them is back, however early the program goes. Everything
// happens in one thread.
class ProgramBlocks final : public BufferOwner, public std::enable_shared_from_this<ProgramBlocks> {
 public:
  // Is told of blocks that are free again.
  class Home {
   public:
    virtual ~Home() = default;
    virtual void freed(std::uint32_t block) = 0;
  };

  // `arena`: the number by which the lab knows it.
  static Expected<std::shared_ptr<ProgramBlocks>> create(std::uint32_t arena);

  // Null unless the payload that `owner` keeps alive is in a program's memory.
  [[nodiscard]] static ProgramBlocks* of(const BufferRef& owner);

  [[nodiscard]] const ProgramMemory& memory() const { return *memory_; }
  [[nodiscard]] std::uint32_t arena() const { return arena_; }
  [[nodiscard]] int file() const { return file_.get(); }

  // Null: nobody is told from now on. `home` lasts until then.
  void set_home(Home* home) { home_ = home; }

  // The first reference to a block; empty when there is no such block or it is in use.
  [[nodiscard]] BufferRef lend(std::uint32_t block);
  [[nodiscard]] std::uint32_t number_of(const BufferBlock& block) const {
    return static_cast<std::uint32_t>(&block - blocks_.data());
  }

  // References that programs hold rather than the fabric: for how long is up to them.
  [[nodiscard]] std::size_t held() const { return held_; }
  void hold() { ++held_; }
  void unhold() { --held_; }

 private:
  ProgramBlocks(std::uint32_t arena, io::UniqueFd file, io::SharedMapping mapping);
  void returned(BufferBlock& block) override;

  const std::uint32_t arena_;
  io::UniqueFd file_;
  io::SharedMapping mapping_;
  const ProgramMemory* memory_;
  Home* home_ = nullptr;
  std::array<BufferBlock, kBlocks> blocks_;
  std::size_t lent_ = 0;
  std::size_t held_ = 0;
  std::shared_ptr<ProgramBlocks> self_;  // while some are lent
};

}  // namespace weft::port::ring
