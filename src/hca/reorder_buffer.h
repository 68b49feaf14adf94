// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "hca/in_packet.h"

namespace weft::hca {

// Packets of a connection that arrived after a gap, as copies, until the gap closes. It takes
// memory as it needs it, at most kMaxBytes of packets, and gives all of it back.
class ReorderBuffer {
 public:
  static constexpr std::uint32_t kMaxPackets = 2048;  // beyond the packet that is expected
  static constexpr std::size_t kMaxBytes = std::size_t{3} << 20;

  enum class Insert : std::uint8_t { kKept, kDuplicate, kNoRoom };

  // `packet` must be newer than `expected`.
  Insert insert(const InPacket& packet, Psn expected);
  // Nothing when it is not there. Good until remove() or clear().
  [[nodiscard]] const InPacket* find(Psn psn) const;
  void remove(Psn psn);
  // Forgets packets that are older than `expected`: repetitions of what came another way.
  void remove_before(Psn from, Psn expected);

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // One beyond the newest packet. Not when empty.
  [[nodiscard]] Psn end() const { return end_; }

  [[nodiscard]] bool has_memory() const { return !slots_.empty(); }

  void clear() { *this = ReorderBuffer{}; }
  // Gives the memory back if it is empty, and was so since the last call.
  void rest();

 private:
  struct Slot {
    InPacket packet;
    std::vector<std::byte> bytes;  // extended headers, payload
  };
  [[nodiscard]] static std::size_t index(Psn psn) { return psn.value() % kMaxPackets; }

  std::vector<std::unique_ptr<Slot>> slots_;  // by the low bits of the PSN; none at first
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  bool used_ = false;
  Psn end_{};
};

}  // namespace weft::hca
