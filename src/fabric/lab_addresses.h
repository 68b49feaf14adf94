// SPDX-License-Identifier: Apache-2.0
// IP addresses of a lab's ports. No IP packet ever goes through a lab: they are the names by which
// programs of rdma_cm find each other, as they find neighbours by IP over InfiniBand elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace weft::fabric {

using Ipv4 = Id<struct Ipv4Tag, std::uint32_t, 32>;  // in host order; 0: none

struct Ipv4Network {
  static constexpr unsigned kShortest = 8;  // bits of a prefix
  static constexpr unsigned kLongest = 30;

  Ipv4 base{0x0AFE'0000};  // 10.254.0.0
  std::uint8_t bits = 16;  // kShortest to kLongest; all below them are 0 in `base`

  // What a host may have: not the network's own address, and not its last, which is broadcast's.
  [[nodiscard]] Ipv4 first() const { return Ipv4{base.value() + 1}; }
  [[nodiscard]] Ipv4 last() const { return Ipv4{base.value() + (~0U >> bits) - 1}; }
  [[nodiscard]] bool has_host(Ipv4 address) const {
    return address >= first() && address <= last();
  }
  friend bool operator==(const Ipv4Network&, const Ipv4Network&) = default;
};

// A host that is not of the lab, and which its programs can call by an IP address all the same.
struct LabHost {
  Ipv4 address;
  Gid gid;
  friend bool operator==(const LabHost&, const LabHost&) = default;
};

// "10.254.0.1", "10.254.0.0/16"; nothing when it is no such text, or the network is none that hosts
// can have.
[[nodiscard]] std::optional<Ipv4> parse_ipv4(std::string_view text);
[[nodiscard]] std::optional<Ipv4Network> parse_network(std::string_view text);
[[nodiscard]] std::string to_string(Ipv4 address);
[[nodiscard]] std::string to_string(const Ipv4Network& network);

}  // namespace weft::fabric
