// SPDX-License-Identifier: Apache-2.0
// A rate for each tenant: what a tenant sends beyond its rate and burst is dropped, so that
// reliable connections slow down and nobody else does. A tenant is a partition, or an end.
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
  };
  struct Options {
    By by = By::kPartition;
    Rate usual{};                // of each tenant that has none of its own
    bool usual_limited = true;   // false: those are not limited
    std::size_t tenants = 4096;  // that are remembered; one that is new begins with a whole burst
  };
  explicit Limiter(const Options& options) : options_(options), buckets_(options.tenants) {}

  // Of one partition, or of one source; it counts from the next packet on.
  void limit(PKey partition, const Rate& rate) { rates_[tenant_of(partition)] = rate; }
  void limit(const Gid& source, const Rate& rate) { rates_[source] = rate; }

  [[nodiscard]] std::string_view name() const override { return "limiter"; }
  [[nodiscard]] std::span<const CounterInfo> drop_reasons() const override { return kReasons; }
  [[nodiscard]] Verdict handle(Packet& packet, Time now) override;

 private:
  static constexpr std::array<CounterInfo, 1> kReasons{
      {{"over_rate", "packets of tenants that had used up their rate and burst"}}};
  // In bytes times nanoseconds a second, so that nothing is lost to rounding.
  struct Bucket {
    std::uint64_t bytes = 0;
    std::uint64_t rest = 0;  // billionths of a byte
    Time filled{};
  };
  [[nodiscard]] static Gid tenant_of(PKey partition) {
    const std::uint16_t number = partition.value() & 0x7FFF;
    return Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, static_cast<std::uint8_t>(number >> 8),
                static_cast<std::uint8_t>(number)}};
  }
  static void fill(Bucket& bucket, const Rate& rate, Time now);

  const Options options_;
  std::unordered_map<Gid, Rate> rates_;
  LruMap<Gid, Bucket> buckets_;
};

}  // namespace weft::service
