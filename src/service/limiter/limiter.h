// SPDX-License-Identifier: Apache-2.0
// A rate for each tenant: what a tenant sends beyond its rate and burst is dropped, so that
// reliable connections slow down and nobody else does. A tenant is a partition, an end, or a pair
// of ends, of which the one sends to the other.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/lru_map.h"
#include "service/service.h"

namespace weft::service {

enum class LimiterDrop : std::uint8_t { kOverRate, kCount };

class Limiter final : public Service {
 public:
  struct Rate {
    std::uint64_t bytes_per_s = 0;  // LRH through VCRC; 0: nothing may pass
    std::uint64_t burst = 65'536;   // bytes at once, after a pause; at least one packet
  };
  enum class By : std::uint8_t {
    kPartition,  // the P_Key's low 15 bits; packets without one are of partition 0
    kSource,     // the SGID, or the SLID where there is none
    kPair,       // the same and the DGID, or the DLID; the way back is another one
  };
  struct Options {
    By by = By::kPartition;
    Rate usual{};                // of each tenant that has none of its own
    bool usual_limited = true;   // false: those are not limited
    std::size_t tenants = 4096;  // that are remembered; one that is new begins with a whole burst
    bool mirrors = false;        // copies of what it drops go to the mirror
  };
  explicit Limiter(const Options& options) : options_(options), buckets_(options.tenants) {}

  // Of one partition, one source, or what one source sends to one destination; it counts from the
  // next packet on.
  void limit(PKey partition, const Rate& rate) { rates_[tenant_of(partition)] = rate; }
  void limit(const Gid& source, const Rate& rate) { rates_[{source, {}}] = rate; }
  void limit(const Gid& source, const Gid& destination, const Rate& rate) {
    rates_[{source, destination}] = rate;
  }

  [[nodiscard]] std::string_view name() const override { return "limiter"; }
  [[nodiscard]] std::span<const CounterInfo> drop_reasons() const override { return kReasons; }
  [[nodiscard]] Verdict handle(Packet& packet, Time now) override;

  // What became of those that have a rate, who was seen last first.
  struct Tenant {
    PKey partition{};   // without the membership; of By::kPartition
    Gid source{};       // end_of() the SLID where packets have no GRH; not of By::kPartition
    Gid destination{};  // likewise; of By::kPair
    Rate rate{};
    std::uint64_t packets = 0;  // that have passed
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;  // packets
  };
  [[nodiscard]] By by() const { return options_.by; }
  [[nodiscard]] std::vector<Tenant> tenants(std::size_t most) const;
  static constexpr std::array<CounterInfo, 1> kReasons{
      {{"over_rate", "packets of tenants that had used up their rate and burst"}}};

 private:
  // In bytes times nanoseconds a second, so that nothing is lost to rounding.
  struct Bucket {
    std::uint64_t bytes = 0;
    std::uint64_t rest = 0;  // billionths of a byte
    Time filled{};
    // What became of its packets.
    std::uint64_t passed = 0;
    std::uint64_t passed_bytes = 0;
    std::uint64_t dropped = 0;
  };
  struct Key {
    Gid from{};  // or the partition
    Gid to{};    // of pairs
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      const std::uint64_t sum = std::hash<Gid>{}(key.from) * 0x9E37'79B9'7F4A'7C15;
      return (sum ^ std::hash<Gid>{}(key.to)) * 0x94D0'49BB'1331'11EB;
    }
  };
  [[nodiscard]] static Key tenant_of(PKey partition) {
    const std::uint16_t number = partition.value() & 0x7FFF;
    return {Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, static_cast<std::uint8_t>(number >> 8),
                 static_cast<std::uint8_t>(number)}},
            {}};
  }
  [[nodiscard]] Key tenant_of(const Fields& fields) const;
  [[nodiscard]] static PKey partition_of(const Key& tenant) {
    const auto number = tenant.from.bytes()[14] << 8 | tenant.from.bytes()[15];
    return PKey{static_cast<std::uint16_t>(number)};
  }
  [[nodiscard]] const Rate& rate_of(const Key& tenant) const {
    const auto own = rates_.find(tenant);
    return own == rates_.end() ? options_.usual : own->second;
  }
  static void fill(Bucket& bucket, const Rate& rate, Time now);

  const Options options_;
  std::unordered_map<Key, Rate, KeyHash> rates_;
  LruMap<Key, Bucket, KeyHash> buckets_;
};

}  // namespace weft::service
