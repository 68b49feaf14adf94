// SPDX-License-Identifier: Apache-2.0
// What a datagram between two parts of a lab holds; docs/fabric.md has the format. All numbers are
// big-endian.
//
//   0  "WL"  2  version  3  kind  4  key (8)  12  sequence (4)  16  contents
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "link/channel.h"

namespace weft::carrier {

enum class DatagramKind : std::uint8_t {
  kHello = 1,
  kHeartbeat = 2,
  kPacket = 3,
  kFlowControl = 4,
  kGoodbye = 5,
};

struct DatagramHead {
  static constexpr std::size_t kSize = 16;

  DatagramKind kind = DatagramKind::kHeartbeat;
  // The receiver's, by which it knows link and sender; in a hello 0 as long as it is not known.
  std::uint64_t key = 0;
  std::uint32_t sequence = 0;  // of packets of both kinds; else 0

  // `out` has room for it.
  void write(MutableBytes out) const;
};

// The contents of a hello.
struct Hello {
  static constexpr std::size_t kSize = 20;

  std::uint64_t own_key = 0;  // by which the sender wants to be addressed; not 0
  std::uint64_t link = 0;     // which link of the lab: the same number at both ends
  bool wants_answer = false;  // the sender has not heard its key back yet
  link::Training training{};  // of the sender's port

  void write(MutableBytes out) const;
};

inline constexpr std::size_t kLongestDatagram = DatagramHead::kSize + link::kLongestPacket;

struct Datagram {
  DatagramHead head;
  Hello hello;     // of a hello
  Bytes contents;  // of the two kinds of packets, of a length that they can have

  // Nothing: not a datagram of this format.
  [[nodiscard]] static std::optional<Datagram> parse(Bytes bytes);
};

}  // namespace weft::carrier
