// SPDX-License-Identifier: Apache-2.0
#include "port/ring/daemon_end.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <numeric>
#include <utility>

#include "port/ring/block_copy.h"

namespace weft::port::ring {
namespace {

constexpr std::size_t kLeastHeader = 8;   // LRH
constexpr std::size_t kLeastTrailer = 2;  // VCRC
constexpr std::uint32_t kMostSource = 0xFFFFFF;
// Payloads of one sender that receivers may hold; what is above is copied, so that who does not
// take its packets leaves the sender blocks for others.
constexpr std::size_t kMostHeld = kBlocks / 4 * 3;

// So many arrivals are shown by one store. The program looks at their count all the time, so that
// its line travels from processor to processor for each.
constexpr std::uint64_t kShownTogether = 8;
// But a message is not kept waiting, nor is one that an acknowledgement goes with: that is shown
// with it, since a program that finds the one alone takes twice as long for both.
constexpr std::uint64_t kMessage = 2;

// A value that the program may be changing: it is read once, whatever is done with it.
template <class T>
T peek(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_RELAXED);
}

}  // namespace

DaemonEnd::DaemonEnd(std::shared_ptr<ProgramBlocks> program, io::SharedMapping mapping)
    : program_(std::move(program)),
      theirs_(program_->memory()),
      mapping_(std::move(mapping)),
      ours_(*static_cast<DaemonMemory*>(mapping_.begin())) {
  program_->set_home(this);
  std::iota(free_.rbegin(), free_.rend(), 0);
}

DaemonEnd::~DaemonEnd() {
  program_->set_home(nullptr);
  for (Held& held : held_)
    release(held);
}

Expected<std::unique_ptr<DaemonEnd>> DaemonEnd::create(std::uint32_t arena) {
  auto program = ProgramBlocks::create(arena);
  if (!program) return tl::unexpected(program.error());
  auto file = io::make_shared_file("weft-daemon", sizeof(DaemonMemory));
  if (!file) return tl::unexpected(file.error());
  auto mapping = io::SharedMapping::map(file->get(), sizeof(DaemonMemory), io::Access::kWrite);
  if (!mapping) return tl::unexpected(mapping.error());
  if (auto ended = io::end_writing(file->get()); !ended) return tl::unexpected(ended.error());
  if (auto ended = io::end_sealing(file->get()); !ended) return tl::unexpected(ended.error());
  std::unique_ptr<DaemonEnd> end(new DaemonEnd(std::move(*program), std::move(*mapping)));
  end->daemon_file_ = std::move(*file);
  end->doorbell_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!end->doorbell_) return fail_errno(errno, "eventfd");
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno(errno, "pipe2");
  end->arrivals_.reset(pipe_ends[0]);
  end->waker_.reset(pipe_ends[1]);
  return end;
}

bool DaemonEnd::lied(std::string_view what) {
  if (!lie_) lie_ = what;
  return false;
}

std::uint64_t DaemonEnd::waiting() {
  if (lie_) return 0;
  const std::uint64_t sent = theirs_.page.sent.load(std::memory_order_acquire);
  if (sent - accepted_ > kSlots || sent - accepted_ < sent_ - accepted_) {
    lied("its count of packets sent is out of range");
    return 0;
  }
  sent_ = sent;
  return sent_ - accepted_;
}

std::optional<DaemonEnd::Packet> DaemonEnd::next() {
  std::optional<Packet> packet;
  if (lie_ || (sent_ == accepted_ && waiting() == 0)) return packet;
  const SendSlot& slot = theirs_.slots[accepted_ % kSlots];
  // It comes from another processor's cache, and takes as long as a packet takes here.
  if (sent_ - accepted_ > 1) __builtin_prefetch(&theirs_.slots[(accepted_ + 1) % kSlots]);
  const std::size_t header_size = peek(slot.header_size);
  const std::size_t trailer_size = peek(slot.trailer_size);
  const std::uint32_t block = peek(slot.block);
  const std::uint32_t payload_size = peek(slot.payload_size);
  const std::uint32_t source = peek(slot.source);
  if (header_size < kLeastHeader || header_size > kMostHeader || trailer_size < kLeastTrailer ||
      trailer_size > kMostTrailer || payload_size > kBlock || source > kMostSource) {
    lied("a packet's size or queue pair is out of range");
    return packet;
  }
  if ((payload_size == 0) != (block == kNoBlock)) {
    lied("a packet has a block without a payload, or a payload without a block");
    return packet;
  }
  BufferRef owner;
  if (block != kNoBlock) {
    owner = program_->lend(block);
    if (!owner) {
      lied("a packet's block is in use, or there is no such block");
      return packet;
    }
  }
  // Filled in where it stays: to move it would be to read what has only just been written in parts.
  Packet& out = packet.emplace();
  out.epoch = peek(slot.epoch);
  out.source = source;
  out.port = peek(slot.port);
  out.sealed = peek(slot.unsealed) == 0;
  out.header = Bytes(slot.header).first(header_size);
  if (owner) out.payload = Bytes(theirs_.blocks[block]).first(payload_size);
  out.owner = std::move(owner);
  out.trailer = Bytes(slot.trailer).first(trailer_size);
  return packet;
}

bool DaemonEnd::stalled() const {
  return theirs_.page.stalls.load(std::memory_order_relaxed) != stalls_;
}

void DaemonEnd::freed(std::uint32_t block) {
  // A block is lent only once until it comes back here, so no entry that is still to be read by a
  // program that plays fair is written over.
  ours_.freed[freed_++ % kBlocks] = block;
  if (watcher_ != nullptr) watcher_->blocks_freed();
}

bool DaemonEnd::collect() {
  const std::uint64_t taken = theirs_.page.taken.load(std::memory_order_acquire);
  if (taken == taken_ || lie_) return false;
  if (taken - taken_ > arrived_ - taken_) return lied("its count of arrivals is out of range");
  for (; taken_ != taken; ++taken_)
    release(held_[taken_ % kSlots]);
  if ((sleeps_ & kUntilTaken) != 0 && holding_ == 0) {
    set_sleeps(sleeps_ & ~std::uint32_t{kUntilTaken});
  }
  return true;
}

void DaemonEnd::release(Held& held) {
  if (held.block != kNoBlock) free_[free_count_++] = std::exchange(held.block, kNoBlock);
  if (held.of == nullptr) return;
  held.of->unhold();
  held.of = nullptr;
  --holding_;
  held.owner.reset();
}

bool DaemonEnd::has_room() {
  if (arrived_ - taken_ < kSlots) return true;
  collect();
  if (arrived_ - taken_ < kSlots) return true;
  watch_taking();
  collect();
  return arrived_ - taken_ < kSlots;
}

void DaemonEnd::watch_taking() {
  set_sleeps(sleeps_ | kUntilTaken);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

Arrival DaemonEnd::arrive(std::uint8_t port, Bytes header, Bytes payload, BufferRef& owner,
                          Bytes trailer, bool sealed, Qpn raw) {
  assert(header.size() <= kMostHeader && trailer.size() <= kMostTrailer);
  assert(payload.size() <= kBlock);
  if (!has_room()) return Arrival::kNoRoom;
  const auto at = static_cast<std::uint32_t>(arrived_ % kSlots);
  ArrivalSlot& slot = ours_.slots[at];
  Arrival how = Arrival::kReferred;
  slot.arena = kDaemonArena;
  slot.block = kNoBlock;
  slot.payload_size = static_cast<std::uint32_t>(payload.size());
  ProgramBlocks* const sender = ProgramBlocks::of(owner);
  if (payload.empty()) {
    // All of it is in the header.
  } else if (sender != nullptr && has_mapped(*sender) && sender->held() < kMostHeld) {
    slot.arena = sender->arena();
    slot.block = sender->number_of(*owner.block());
    held_[at].owner = std::move(owner);
    held_[at].of = sender;
    sender->hold();
    ++holding_;
  } else {
    static_assert(kBlocks == kSlots);  // so there is one
    const std::uint32_t block = free_[--free_count_];
    slot.block = held_[at].block = block;
    copy_to_block(payload, ours_.blocks[block].data());
    // The next one is likely to be as long.
    if (free_count_ > 0) ask_for_block(ours_.blocks[free_[free_count_ - 1]].data(), payload.size());
    how = Arrival::kCopied;
  }
  slot.port = port;
  slot.unsealed = sealed ? 0 : 1;
  slot.raw = raw.value();
  slot.header_size = static_cast<std::uint8_t>(header.size());
  slot.trailer_size = static_cast<std::uint8_t>(trailer.size());
  std::copy(header.begin(), header.end(), slot.header.begin());
  std::copy(trailer.begin(), trailer.end(), slot.trailer.begin());
  ++arrived_;
  prefetch_to_write(&ours_.slots[arrived_ % kSlots]);
  if (arrived_ - announced_ == message_ || arrived_ - shown_arrived_ == kShownTogether) {
    show_arrivals();
  }
  return how;
}

void DaemonEnd::show_arrivals() {
  if (shown_arrived_ == arrived_) return;
  ours_.page.arrived.store(shown_arrived_ = arrived_, std::memory_order_release);
}

void DaemonEnd::publish() {
  const bool more_room = shown_accepted_ != accepted_ || shown_freed_ != freed_;
  if (shown_accepted_ != accepted_) {
    ours_.page.accepted.store(shown_accepted_ = accepted_, std::memory_order_release);
  }
  if (shown_freed_ != freed_) {
    ours_.page.freed.store(shown_freed_ = freed_, std::memory_order_release);
  }
  show_arrivals();
  if (!more_room && announced_ == arrived_) return;
  // Between showing it and asking who waits for it; the program does the same in reverse.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool wanted = false;
  if (more_room) {
    const std::uint64_t stalls = theirs_.page.stalls.load(std::memory_order_relaxed);
    wanted = std::exchange(stalls_, stalls) != stalls;
  }
  if (announced_ != arrived_) {
    message_ = std::min(arrived_ - announced_, kMessage);
    announced_ = arrived_;
    const std::uint64_t waits = theirs_.page.waits.load(std::memory_order_relaxed);
    wanted |= std::exchange(waits_, waits) != waits;
  }
  if (wanted) wake();
}

void DaemonEnd::wake() {
  constexpr char kByte = 1;
  // It fails when the pipe is full, and then it is readable.
  [[maybe_unused]] const ssize_t written = write(waker_.get(), &kByte, sizeof kByte);
}

void DaemonEnd::set_sleeps(std::uint32_t sleeps) {
  if (sleeps == sleeps_) return;
  sleeps_ = sleeps;
  ours_.page.sleeps.store(sleeps, std::memory_order_seq_cst);
}

bool DaemonEnd::sleep() {
  set_sleeps(sleeps_ | kUntilSent);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (waiting() == 0 && !lie_) return true;
  look();
  return false;
}

}  // namespace weft::port::ring
