// SPDX-License-Identifier: Apache-2.0
// The daemon's side of the memory between it and a program, as a test plays it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "io/shared_mapping.h"
#include "io/unique_fd.h"
#include "port/ring/shared_memory.h"

namespace weft::port::test {

class FakeDaemon {
 public:
  FakeDaemon() {
    program_file = *io::make_shared_file("test-program", sizeof(ring::ProgramMemory));
    daemon_file = *io::make_shared_file("test-daemon", sizeof(ring::DaemonMemory));
    program_map_ = *io::SharedMapping::map(program_file.get(), sizeof(ring::ProgramMemory),
                                           io::Access::kWrite);
    daemon_map_ =
        *io::SharedMapping::map(daemon_file.get(), sizeof(ring::DaemonMemory), io::Access::kWrite);
    doorbell.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) ADD_FAILURE() << "pipe2";
    arrivals.reset(ends[0]);
    wake.reset(ends[1]);
  }

  [[nodiscard]] ring::ProgramMemory& program() const {
    return *static_cast<ring::ProgramMemory*>(program_map_.begin());
  }
  [[nodiscard]] ring::DaemonMemory& daemon() const {
    return *static_cast<ring::DaemonMemory*>(daemon_map_.begin());
  }

  [[nodiscard]] std::uint64_t sent() const { return program().page.sent.load(); }
  // The packet of number `n`, as one stretch.
  [[nodiscard]] std::vector<std::byte> packet(std::uint64_t n) const {
    const ring::SendSlot& slot = program().slots[n % ring::kSlots];
    std::vector<std::byte> out(slot.header.begin(), slot.header.begin() + slot.header_size);
    if (slot.block != ring::kNoBlock) {
      const auto& block = program().blocks[slot.block];
      out.insert(out.end(), block.begin(), block.begin() + slot.payload_size);
    }
    out.insert(out.end(), slot.trailer.begin(), slot.trailer.begin() + slot.trailer_size);
    return out;
  }
  [[nodiscard]] const ring::SendSlot& slot(std::uint64_t n) const {
    return program().slots[n % ring::kSlots];
  }
  void accept(std::uint64_t count) { daemon().page.accepted.fetch_add(count); }
  void free_block(std::uint32_t number) {
    ring::DaemonMemory& memory = daemon();
    const std::uint64_t n = memory.page.freed.load();
    memory.freed[n % ring::kBlocks] = number;
    memory.page.freed.store(n + 1);
  }
  // Takes over all that was sent, and frees its blocks.
  void accept_all() {
    for (std::uint64_t n = daemon().page.accepted.load(); n < sent(); ++n) {
      if (slot(n).block != ring::kNoBlock) free_block(slot(n).block);
      accept(1);
    }
  }

  // A packet for the program: a header of at most 128 bytes, the last 6 bytes as trailer, what is
  // between in block `block` of the daemon.
  void push(Bytes packet, std::size_t header, std::uint32_t block = 0, std::uint8_t unsealed = 0) {
    ring::ArrivalSlot slot{};
    slot.unsealed = unsealed;
    const Bytes trailer = packet.last(6);
    const Bytes payload = packet.subspan(header, packet.size() - header - trailer.size());
    slot.port = 1;
    slot.arena = ring::kDaemonArena;
    slot.block = payload.empty() ? ring::kNoBlock : block;
    slot.payload_size = static_cast<std::uint32_t>(payload.size());
    slot.header_size = static_cast<std::uint8_t>(header);
    slot.trailer_size = static_cast<std::uint8_t>(trailer.size());
    std::copy(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(header),
              slot.header.begin());
    std::copy(trailer.begin(), trailer.end(), slot.trailer.begin());
    std::copy(payload.begin(), payload.end(), daemon().blocks[block].begin());
    push(slot);
  }
  void push(const ring::ArrivalSlot& slot) {
    ring::DaemonMemory& memory = daemon();
    const std::uint64_t n = memory.page.arrived.load();
    memory.slots[n % ring::kSlots] = slot;
    memory.page.arrived.store(n + 1);
  }
  [[nodiscard]] bool doorbell_rang() const {
    std::uint64_t value = 0;
    return read(doorbell.get(), &value, sizeof value) == sizeof value;
  }

  io::UniqueFd program_file;
  io::UniqueFd daemon_file;
  io::UniqueFd doorbell;
  io::UniqueFd arrivals;  // the program's end
  io::UniqueFd wake;      // the daemon's

 private:
  io::SharedMapping program_map_;
  io::SharedMapping daemon_map_;
};

}  // namespace weft::port::test
