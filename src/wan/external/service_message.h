// SPDX-License-Identifier: Apache-2.0
// What the two ends of the way to an external server tell each other beside the packets that a data
// service is to see: the place of the service in the fabric, and the server where it works. A raw
// packet (IBA 5.3) that does not leave the tunnel between the two:
//
//   0-7   LRH: LNH 0, DLID and SLID permissive, as no packet of the fabric has them that comes to a
//         service                                 8-11  raw header: EtherType 0x88B6
//   12    version: 1
//   13    type: 1 path question, 2 path answer, 3 paths changed, 4 record, 5 counters, 6 subnet
//   14-15 bytes of the body
//   16-   the body, zeros to a multiple of 4 bytes, at least 4, and the VCRC
//
// Bodies, all numbers big-endian:
//
//   path question   0-7 number   8-23 SGID   24-39 DGID   40-41 P_Key   42 SL   43 whose it is
//                   (PathWhose)   44-45 LID by which the packet came   46-47 0
//   path answer     0-7 number   8 1: there is a path, 0: there is none   9 SL   10-11 DLID
//                   12-13 SLID   14-15 0
//   paths changed   none
//   record          0-1 which service of the place, 0xFFFF the runtime's own   2- the record
//   counters        0 of what (CounterTopic)   1 how many follow; of each 1 byte length of its
//                   name, the name, 8 bytes value
//   subnet          0-7 its GID prefix, or 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::wan {

// On whose behalf a path is asked for.
enum class PathWhose : std::uint8_t {
  kSender = 0,   // of a packet that came by the LID `via`
  kOwn = 1,      // the place's port's own: `sgid` is zero
  kBrought = 2,  // of a sender in another subnet, whose packet the service brings into this one
};

// The server asks for a path.
struct ServicePathQuestion {
  std::uint64_t number = 0;
  Gid sgid{};
  Gid dgid{};
  PKey pkey{};
  Sl sl{};
  Lid via{};
  PathWhose whose = PathWhose::kSender;
  friend bool operator==(const ServicePathQuestion&, const ServicePathQuestion&) = default;
};

struct ServicePathAnswer {
  std::uint64_t number = 0;
  bool found = false;  // else the rest says nothing
  Lid dlid{};          // unicast
  Lid slid{};          // of a service, or 0
  Sl sl{};
  friend bool operator==(const ServicePathAnswer&, const ServicePathAnswer&) = default;
};

// What was answered before may be otherwise by now.
struct ServicePathsChanged {
  friend bool operator==(const ServicePathsChanged&, const ServicePathsChanged&) = default;
};

// What one instance of the service tells the others.
struct ServiceRecord {
  static constexpr std::uint16_t kRuntime = 0xFFFF;
  static constexpr std::size_t kMost = 1024;  // bytes
  std::uint16_t service = 0;
  Bytes record{};  // where it was read: until the packet goes
};

enum class CounterTopic : std::uint8_t {
  kRuntime = 0,  // of the runtime
  kDrops = 1,    // of the service, by its reasons
  kService = 2,  // its own
};

// So that who looks at the lab sees what the server has counted.
struct ServiceCounters {
  static constexpr std::size_t kMost = 64;      // at a time
  static constexpr std::size_t kMostName = 48;  // bytes: a-z, 0-9 and _
  struct Counter {
    std::string_view name;  // where it was read: until the packet goes
    std::uint64_t value = 0;
    friend bool operator==(const Counter&, const Counter&) = default;
  };
  CounterTopic topic = CounterTopic::kRuntime;
  std::vector<Counter> counters{};
};

// The place says which subnet its port is in: when the server comes, and when it is another one.
struct ServiceSubnet {
  std::uint64_t prefix = 0;  // of its GIDs; 0: the port is not Active
  friend bool operator==(const ServiceSubnet&, const ServiceSubnet&) = default;
};

using ServiceMessage = std::variant<ServicePathQuestion, ServicePathAnswer, ServicePathsChanged,
                                    ServiceRecord, ServiceCounters, ServiceSubnet>;

inline constexpr std::uint16_t kServiceEtherType = 0x88B6;

// Whether it is one, whatever it says: by its LRH and raw header.
[[nodiscard]] bool is_service_message(Bytes packet);
// LRH through VCRC, sealed. What it says is within the bounds above.
[[nodiscard]] std::vector<std::byte> write(const ServiceMessage& message);
// Of such a packet, whole. Nothing: a version, type, length or value that cannot be.
[[nodiscard]] std::optional<ServiceMessage> parse_service_message(Bytes packet);

// Whether a counter may be told by that name.
[[nodiscard]] bool is_counter_name(std::string_view name);

}  // namespace weft::wan
