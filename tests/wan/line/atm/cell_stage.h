// SPDX-License-Identifier: Apache-2.0
// What the tests of ATM share: bytes out of text, packets, and ends that keep what comes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "wan/line/atm/cell.h"
#include "wan/line/octet_stream.h"

namespace weft::wan::atm {

using Octets = std::vector<std::byte>;

inline constexpr Channel kChannel{.vpi = 0, .vci = 100};

inline Octets from_hex(std::string_view text) {
  Octets bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
    bytes.push_back(
        static_cast<std::byte>(std::stoul(std::string(text.substr(at, 2)), nullptr, 16)));
  }
  return bytes;
}

inline std::string to_hex(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    std::array<char, 3> digits{};
    (void)std::snprintf(digits.data(), digits.size(), "%02x", std::to_integer<unsigned>(byte));
    text += digits.data();
  }
  return text;
}

inline Octets random_octets(Random& random, std::size_t size) {
  Octets bytes(size);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(random.next());
  return bytes;
}

struct KeptCells final : CellSink {
  struct Kept {
    CellHeader header;
    Octets payload;
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  void take_cells(const CellRun& run) override {
    for (std::size_t i = 0; i < run.count; ++i)
      cells.push_back({run.header, Octets(run.payload(i).begin(), run.payload(i).end())});
  }
  std::vector<Kept> cells;
};

// Cells that are to go, one after the other.
struct QueuedCells final : CellFeed {
  std::size_t put_cells(MutableBytes to) override {
    std::size_t count = 0;
    for (; !cells.empty() && to.size() >= (count + 1) * kCellSize; ++count) {
      std::ranges::copy(cells.front(), to.subspan(count * kCellSize).begin());
      cells.pop_front();
    }
    return count;
  }
  void push(const CellHeader& header, Bytes payload) {
    Octets cell(kCellSize);
    write_header(header, cell);
    std::ranges::copy(payload, cell.begin() + kHeaderSize);
    cells.push_back(cell);
  }
  std::deque<Octets> cells;
};

struct QueuedPackets final : PacketSource {
  Bytes next() override {
    if (at == packets.size()) return {};
    return packets[at++];
  }
  std::vector<Octets> packets;
  std::size_t at = 0;
};

}  // namespace weft::wan::atm
