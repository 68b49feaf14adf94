// SPDX-License-Identifier: Apache-2.0
// What lab files say of services of one type alone: of each type what its keys are, in one table by
// which they are read and written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"

namespace weft::fabric {

// A port by the name of its node.
struct LabPort {
  std::string node;
  std::uint8_t port = 1;
  friend bool operator==(const LabPort&, const LabPort&) = default;
};

struct LabBalancer {
  // The service or a server where no lab is known: its GID, and the IP address by which programs of
  // rdma_cm know it.
  struct End {
    Gid gid{};
    std::optional<Gid> address{};
    friend bool operator==(const End&, const End&) = default;
  };
  std::vector<LabPort> servers{};
  // Instead of these and of the port that it is at, outside of a lab's daemon.
  End service{};
  std::vector<End> ends{};
  bool least = false;  // connections go to who has the fewest; else by a hash
  friend bool operator==(const LabBalancer&, const LabBalancer&) = default;
};

// How much a monitor remembers.
struct LabMonitor {
  std::uint32_t flows = 1024;
  std::uint32_t senders = 256;
  friend bool operator==(const LabMonitor&, const LabMonitor&) = default;
};

// Files that are used in turn.
struct LabCapture {
  std::string file{};  // what they are called, a number before the last dot; empty: as the service
  std::uint32_t files = 4;
  std::uint64_t size = std::uint64_t{64} << 20;  // bytes of packets in each
  Duration time{};                               // for each; zero: as long as it takes to fill it
  friend bool operator==(const LabCapture&, const LabCapture&) = default;
};

struct LabLimiter {
  // What a tenant is. Of a pair, what the one sends to the other.
  enum class By : std::uint8_t { kPartition, kSource, kPair };
  // A GID, or a node by its name with all GIDs that its GUIDs make.
  using End = std::variant<Gid, std::string>;
  struct Pair {
    End from{};
    End to{};
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  // Who has a rate of its own.
  struct Tenant {
    std::variant<PKey, End, Pair> who{};
    std::uint64_t bytes_per_s = 0;
    friend bool operator==(const Tenant&, const Tenant&) = default;
  };
  By by = By::kPartition;
  // Bytes a second, of who has none of its own; none: no limit.
  std::optional<std::uint64_t> rate{};
  std::uint64_t burst = 65'536;  // bytes at once, after a pause
  std::vector<Tenant> rates{};
  friend bool operator==(const LabLimiter&, const LabLimiter&) = default;
};

struct LabService;
class Value;

// A key of [service.NAME] that some types have.
struct ServiceKey {
  std::string_view name;
  std::span<const std::string_view> types;
  Expected<void> (*read)(LabService&, const Value&);
  // What stands behind "NAME = "; empty: it is as is usual.
  std::string (*write)(const LabService&);
  [[nodiscard]] bool is_of(std::string_view type) const;
};
[[nodiscard]] std::span<const ServiceKey> service_keys();

// What is missing of a service, or does not go together with its `select`; empty: nothing.
[[nodiscard]] std::string trouble_of(const LabService& service);

}  // namespace weft::fabric
