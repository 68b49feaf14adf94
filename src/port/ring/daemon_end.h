// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "base/buffer_pool.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/shared_mapping.h"
#include "io/unique_fd.h"
#include "port/ring/program_blocks.h"
#include "port/ring/shared_memory.h"

namespace weft::port::ring {

enum class Arrival : std::uint8_t {
  kReferred,  // the program reads the payload where it is, or there is none
  kCopied,
  kNoRoom,  // the program will ring when there is some
};

// The daemon's end of the rings that it shares with a program. Believes nothing that the program
// wrote: what makes no sense is a lie(), after which there is nothing more to be had from it.
// Everything happens in one thread.
class DaemonEnd final : private ProgramBlocks::Home {
 public:
  // A packet that the program has handed over. Its bytes are where the program can change them at
  // any time: copy header and trailer, then judge the copy.
  struct Packet {
    std::uint32_t epoch = 0;
    std::uint32_t source = 0;  // 24 bits
    std::uint8_t port = 0;     // as the program says
    bool sealed = true;        // with its CRCs
    Bytes header;              // 8 to kMostHeader bytes
    Bytes payload;             // up to kBlock
    BufferRef owner;           // of the payload
    Bytes trailer;             // 2 to kMostTrailer
  };

  // `arena`: the number of the program's memory in the lab.
  static Expected<std::unique_ptr<DaemonEnd>> create(std::uint32_t arena);
  DaemonEnd(const DaemonEnd&) = delete;
  DaemonEnd& operator=(const DaemonEnd&) = delete;
  ~DaemonEnd() override;

  // Is told when blocks of the program are free again, which publish() shows it.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void blocks_freed() = 0;
  };
  // Null: nobody.
  void set_watcher(Watcher* watcher) { watcher_ = watcher; }

  // What the program gets: the first of File in attach_protocol.h, in their order.
  [[nodiscard]] std::array<int, 4> files() const {
    return {program_->file(), daemon_file_.get(), doorbell_.get(), arrivals_.get()};
  }
  // Readable when the program has rung; need not be read, if it is watched for edges (EPOLLET).
  [[nodiscard]] int doorbell() const { return doorbell_.get(); }
  [[nodiscard]] ProgramBlocks& program() { return *program_; }
  // In words for a person.
  [[nodiscard]] std::optional<std::string_view> lie() const { return lie_; }

  // --- what the program sends ------------------------------------------------------------------
  // The next packet, which accept() takes out. Nothing: there is none, or a lie.
  [[nodiscard]] std::optional<Packet> next();
  void accept() { ++accepted_; }
  // How many it has handed over that were not taken out. 0 after a lie.
  [[nodiscard]] std::uint64_t waiting();
  // It has run out of slots or blocks, and waits for more.
  [[nodiscard]] bool stalled() const;

  // --- what arrives for it -----------------------------------------------------------------------
  // Copies of it are spared when the payload is in memory that the program has mapped, as long as
  // programs do not hold most of that memory's blocks: then `owner` is moved from. The program sees
  // it at the latest with publish(): the first since the last of these at once, or the first
  // two together if there were more than one before that; others together. `raw`: the raw queue
  // pair that it is for; 0: the one that it names.
  [[nodiscard]] Arrival arrive(std::uint8_t port, Bytes header, Bytes payload, BufferRef& owner,
                               Bytes trailer, bool sealed, Qpn raw = {});
  // The program has mapped the memory of that number, besides its own.
  void mapped(std::uint32_t arena) {
    mapped_.insert(arena);
    mapped_last_ = arena;
  }
  void unmapped(std::uint32_t arena) {
    mapped_.erase(arena);
    if (mapped_last_ == arena) mapped_last_.reset();
  }
  [[nodiscard]] bool has_mapped(const ProgramBlocks& sender) const {
    return sender.arena() == mapped_last_ || &sender == program_.get() ||
           (!mapped_.empty() && mapped_.contains(sender.arena()));
  }
  // Takes back what the program is done with. True: something was.
  bool collect();
  // It has blocks of other programs.
  [[nodiscard]] bool holds_blocks() const { return holding_ > 0; }
  // Others wait for what it holds: it rings when it has taken something.
  void watch_taking();

  // --- both -------------------------------------------------------------------------------------
  // Shows the program what has changed, and wakes it if it waits for that.
  void publish();
  // Lets the program ring when it sends; false, and nothing done, when it has sent meanwhile.
  [[nodiscard]] bool sleep();
  void look() { set_sleeps(sleeps_ & ~std::uint32_t{kUntilSent}); }

 private:
  // A payload until the packet is taken: in the memory of a program, or in a block of ours.
  struct Held {
    BufferRef owner;
    ProgramBlocks* of = nullptr;
    std::uint32_t block = kNoBlock;
  };

  DaemonEnd(std::shared_ptr<ProgramBlocks> program, io::SharedMapping mapping);
  void freed(std::uint32_t block) override;
  void set_sleeps(std::uint32_t sleeps);
  [[nodiscard]] bool has_room();
  void release(Held& held);
  bool lied(std::string_view what);
  void wake();
  void show_arrivals();

  std::shared_ptr<ProgramBlocks> program_;
  const ProgramMemory& theirs_;
  io::SharedMapping mapping_;
  DaemonMemory& ours_;
  io::UniqueFd daemon_file_;
  io::UniqueFd doorbell_;
  io::UniqueFd waker_;     // the end of the pipe that is written to
  io::UniqueFd arrivals_;  // kept, so that writing to the other end never raises a signal
  Watcher* watcher_ = nullptr;
  std::optional<std::string_view> lie_;

  // The daemon's own, of which the shared counts are copies: nobody else decides what they are.
  std::uint64_t accepted_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t freed_ = 0;
  std::uint32_t sleeps_ = 0;
  // What was last believed of the program's.
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t waits_ = 0;
  std::uint64_t stalls_ = 0;

  std::uint64_t shown_accepted_ = 0;
  std::uint64_t shown_freed_ = 0;
  std::uint64_t shown_arrived_ = 0;
  std::uint64_t announced_ = 0;  // arrivals of which a program that waits was told
  std::uint64_t message_ = 1;    // so many of them the last time, up to a few: as many are awaited
  std::unordered_set<std::uint32_t> mapped_;
  std::optional<std::uint32_t> mapped_last_;  // one of these, which most packets are from
  std::array<Held, kSlots> held_;             // of the arrival in each slot
  std::size_t holding_ = 0;                   // of these, in the memory of programs
  // Blocks of ours. The one that came back last is used first: it is still in a cache.
  std::array<std::uint32_t, kBlocks> free_;
  std::size_t free_count_ = kBlocks;
};

}  // namespace weft::port::ring
