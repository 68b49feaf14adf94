// SPDX-License-Identifier: Apache-2.0
#include "port/ring/program_end.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace weft::port {
namespace {

using namespace ring;

// False when nobody is left to write.
bool drain(int fd) {
  std::array<char, 64> bytes;
  ssize_t got = 0;
  do {
    got = read(fd, bytes.data(), bytes.size());
  } while (got == static_cast<ssize_t>(bytes.size()));
  return got != 0;
}

// Fails only where a wake-up is pending already.
void signal_event(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(event, &one, sizeof one);
}

}  // namespace

Expected<std::unique_ptr<ProgramEnd>> ProgramEnd::map(int program, int daemon,
                                                      io::UniqueFd doorbell,
                                                      io::UniqueFd arrivals) {
  auto own = io::SharedMapping::map(program, sizeof(ProgramMemory), io::Access::kWrite);
  if (!own) return tl::unexpected(own.error());
  auto other = io::SharedMapping::map(daemon, sizeof(DaemonMemory), io::Access::kRead);
  if (!other) return tl::unexpected(other.error());
  io::UniqueFd woken(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!woken) return fail_errno(errno, "eventfd");
  return std::unique_ptr<ProgramEnd>(new ProgramEnd(std::move(*own), std::move(*other),
                                                    std::move(doorbell), std::move(arrivals),
                                                    std::move(woken)));
}

ProgramEnd::ProgramEnd(io::SharedMapping program, io::SharedMapping daemon, io::UniqueFd doorbell,
                       io::UniqueFd arrivals, io::UniqueFd woken)
    : program_(std::move(program)),
      daemon_(std::move(daemon)),
      doorbell_(std::move(doorbell)),
      arrivals_(std::move(arrivals)),
      woken_(std::move(woken)) {
  for (std::uint32_t number = kBlocks; number > 0; --number)
    give_back(number - 1);
}

bool ProgramEnd::break_off() {
  broken_.store(true, std::memory_order_relaxed);
  return false;
}

// The block that came back last is given out first: it is still in a cache.
void ProgramEnd::collect_blocks() {
  const std::uint64_t freed = memory_of_daemon().page.freed.load(std::memory_order_acquire);
  if (freed - freed_ > kBlocks) {
    break_off();
    return;
  }
  for (; freed_ != freed; ++freed_) {
    const std::uint32_t number =
        *static_cast<const volatile std::uint32_t*>(&memory_of_daemon().freed[freed_ % kBlocks]);
    if (number >= kBlocks || !handed_over_[number]) {
      break_off();
      return;
    }
    handed_over_.reset(number);
    give_back(number);
  }
}

bool ProgramEnd::has_room(std::size_t packets, std::size_t blocks) {
  if (is_broken()) return false;
  if (sent_ - accepted_ + packets > kSlots) {
    const std::uint64_t accepted = memory_of_daemon().page.accepted.load(std::memory_order_acquire);
    if (accepted - accepted_ > sent_ - accepted_) return break_off();
    accepted_ = accepted;
  }
  if (blocks > 0) collect_blocks();
  return sent_ - accepted_ + packets <= kSlots && blocks <= free_count_ && !is_broken();
}

void ProgramEnd::publish(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (const std::uint32_t number = slot(i).block; number != kNoBlock) handed_over_.set(number);
  }
  sent_ += count;
  memory_of_program().page.sent.store(sent_, std::memory_order_seq_cst);
  const std::uint32_t sleeps = memory_of_daemon().page.sleeps.load(std::memory_order_seq_cst);
  if ((sleeps & kUntilSent) != 0) signal_event(doorbell_.get());
}

std::size_t ProgramEnd::arrived() {
  if (is_broken()) return 0;
  const std::uint64_t arrived = memory_of_daemon().page.arrived.load(std::memory_order_acquire);
  if (arrived - taken_ <= kSlots) return static_cast<std::size_t>(arrived - taken_);
  break_off();
  return 0;
}

void ProgramEnd::take(std::size_t count) {
  taken_ += count;
  memory_of_program().page.taken.store(taken_, std::memory_order_seq_cst);
  const std::uint32_t sleeps = memory_of_daemon().page.sleeps.load(std::memory_order_seq_cst);
  if ((sleeps & kUntilTaken) != 0) signal_event(doorbell_.get());
}

std::vector<int> ProgramEnd::descriptors() const {
  if (abandoned_.load(std::memory_order_relaxed)) return {woken_.get()};
  return {arrivals_.get(), woken_.get()};
}

void ProgramEnd::wait() {
  if (!drain(arrivals_.get())) abandoned_.store(true, std::memory_order_relaxed);
  drain(woken_.get());
  ProgramPage& page = memory_of_program().page;
  page.waits.fetch_add(1, std::memory_order_seq_cst);
  const std::uint64_t arrived = memory_of_daemon().page.arrived.load(std::memory_order_seq_cst);
  // A broken end has nothing to say, and would say so for ever.
  if (arrived != page.taken.load(std::memory_order_relaxed) && !is_broken())
    signal_event(woken_.get());
}

}  // namespace weft::port
