// SPDX-License-Identifier: Apache-2.0
// The parts of a lab: each is run by a process of its own, on one machine or on several
// (docs/fabric.md). A link between nodes of two parts is carried from one to the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace weft::fabric {

// Where the datagrams of a part arrive.
struct PartAddress {
  Gid host;                // an IPv4 address is ::ffff:a.b.c.d
  std::uint16_t port = 0;  // of UDP, not 0
  friend bool operator==(const PartAddress&, const PartAddress&) = default;
};

// "192.0.2.1:18515", "[2001:db8::1]:18515". Nothing: it is no such text, or an address that no
// machine has for itself alone.
[[nodiscard]] std::optional<PartAddress> parse_part_address(std::string_view text);
[[nodiscard]] std::string to_string(const PartAddress& address);

struct LabPart {
  std::string name;
  // Nothing: all parts are on one machine, or no link leaves this one's.
  std::optional<PartAddress> address;
  friend bool operator==(const LabPart&, const LabPart&) = default;
};

enum class PartCarrier : std::uint8_t {
  kRings,      // memory that two processes of one machine share
  kDatagrams,  // UDP between two machines
};

// What carries links between two parts: rings where neither has an address, or both have one of the
// same host. Nothing: of one it is not known on which machine it is.
[[nodiscard]] std::optional<PartCarrier> carrier_between(const LabPart& a, const LabPart& b);

}  // namespace weft::fabric
