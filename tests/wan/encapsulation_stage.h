// SPDX-License-Identifier: Apache-2.0
// Two ends of a tunnel, and packets as hexadecimal text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wan/encapsulation/stack.h"

namespace weft::wan {

inline std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> out;
  std::string digits;
  for (const char c : hex) {
    if (c == ' ' || c == '\n') continue;
    digits += c;
    if (digits.size() < 2) continue;
    out.push_back(static_cast<std::byte>(std::stoul(digits, nullptr, 16)));
    digits.clear();
  }
  return out;
}

inline std::string hex_of(Bytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte b : bytes) {
    if (!out.empty()) out += ' ';
    out += kDigits[std::to_integer<unsigned>(b) >> 4];
    out += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return out;
}

inline Gid ipv6(std::uint8_t last) {
  return Gid{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}

// fd00::1 or 192.0.2.1, port 4000, at this end; fd00::2 or 192.0.2.2, port 5000, at the other.
inline Ends here(bool ipv4) {
  return {.local = ipv4 ? Gid::from_ipv4(0xC0000201) : ipv6(1),
          .remote = ipv4 ? Gid::from_ipv4(0xC0000202) : ipv6(2),
          .local_port = 4000,
          .remote_port = 5000,
          .local_mac = {2, 0, 0, 0, 0, 1},
          .remote_mac = {2, 0, 0, 0, 0, 2},
          .flow_label = 0x12345,
          .labels = {100016, 300},
          .own_labels = {17}};
}

inline Ends there(bool ipv4) {
  const Ends ends = here(ipv4);
  Ends other = ends;
  std::swap(other.local, other.remote);
  std::swap(other.local_port, other.remote_port);
  std::swap(other.local_mac, other.remote_mac);
  std::swap(other.labels, other.own_labels);
  return other;
}

inline bool is_ipv4(std::string_view stack) {
  return stack.find("ipv4") != std::string_view::npos;
}

inline Stack stack_of(std::string_view text, const Ends& ends) {
  auto stack = Stack::parse(text, ends);
  EXPECT_TRUE(stack) << stack.error().message;
  return std::move(*stack);
}

// What the stack makes of the frame; in two pieces, the first of an odd number of bytes.
inline std::vector<std::byte> wrapped(const Stack& stack, Bytes frame, Bytes options = {},
                                      std::uint8_t traffic_class = 0) {
  const std::size_t cut = frame.size() / 2 | 1U;
  const std::array<Bytes, 2> pieces{frame.first(std::min(cut, frame.size())),
                                    frame.subspan(std::min(cut, frame.size()))};
  OutPacket packet(pieces);
  packet.options = options;
  packet.traffic_class = traffic_class;
  EXPECT_TRUE(stack.wrap(packet));
  std::vector<std::byte> out;
  for (const Bytes piece : packet.pieces())
    out.insert(out.end(), piece.begin(), piece.end());
  EXPECT_EQ(out.size(), packet.size());
  return out;
}

}  // namespace weft::wan
