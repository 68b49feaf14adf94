// SPDX-License-Identifier: Apache-2.0
// The captures of tests/data/ppp.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../line_stage.h"
#include "wire/endian.h"

namespace weft::wan {

inline Packet contents_of(const std::string& name) {
  std::ifstream file(std::string(WEFT_TEST_DATA) + "/ppp/" + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// What pppd's record says was sent (1) or received (2), all of it: records of 1 and 2 have a length
// and octets; 5 and 7 have four octets of time, 6 has one; 3 and 4 nothing.
inline Packet recorded(unsigned direction) {
  const Packet file = contents_of("hdlc_fcs16.pppd");
  Packet stream;
  for (std::size_t at = 0; at < file.size();) {
    const auto kind = std::to_integer<unsigned>(file[at++]);
    if (kind == 5 || kind == 7) at += 4;
    if (kind == 6) at += 1;
    if (kind > 2) continue;
    const std::size_t size = wire::load_be16(file.data() + at);
    at += 2;
    const auto from = file.begin() + static_cast<std::ptrdiff_t>(at);
    if (kind == direction)
      stream.insert(stream.end(), from, from + static_cast<std::ptrdiff_t>(size));
    at += size;
  }
  return stream;
}

// Packets of a pcapng file: its enhanced packet blocks, little-endian.
inline std::vector<Packet> captured() {
  const Packet file = contents_of("lcp_ipv6cp.pcapng");
  std::vector<Packet> packets;
  for (std::size_t at = 0; at + 12 <= file.size();) {
    const std::uint32_t size = wire::load_le32(file.data() + at + 4);
    if (wire::load_le32(file.data() + at) == 6) {
      const auto from = file.begin() + static_cast<std::ptrdiff_t>(at + 28);
      const std::uint32_t octets = wire::load_le32(file.data() + at + 20);
      packets.emplace_back(from, from + static_cast<std::ptrdiff_t>(octets));
    }
    at += size;
  }
  return packets;
}

}  // namespace weft::wan
