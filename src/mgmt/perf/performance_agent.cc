// SPDX-License-Identifier: Apache-2.0
#include "mgmt/perf/performance_agent.h"

#include <algorithm>
#include <vector>

#include "wire/class_port_info.h"
#include "wire/endian.h"
#include "wire/perf.h"

namespace weft::mgmt {
namespace {

using wire::MadStatus;
using wire::PerfAttribute;

constexpr std::uint8_t kPerformanceAgentResponseTime = 13;  // 4.096 us * 2^13 = 34 ms

std::uint64_t largest(unsigned bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

std::uint64_t load(const CounterField& field, const std::byte* data) {
  const std::byte* at = data + field.byte;
  switch (field.bits) {
    case 4:
      return field.high ? wire::load_u8(at) >> 4 : wire::load_u8(at) & 0xF;
    case 8:
      return wire::load_u8(at);
    case 16:
      return wire::load_be16(at);
    case 32:
      return wire::load_be32(at);
    default:
      return wire::load_be64(at);
  }
}

void store(const CounterField& field, std::byte* data, std::uint64_t count) {
  std::byte* at = data + field.byte;
  const std::uint64_t value = std::min(count, largest(field.bits));
  switch (field.bits) {
    case 4: {
      const std::uint8_t before = wire::load_u8(at);
      const auto half = static_cast<unsigned>(value);
      wire::store_u8(at, static_cast<std::uint8_t>(field.high ? (before & 0x0F) | half << 4
                                                              : (before & 0xF0) | half));
      break;
    }
    case 8:
      wire::store_u8(at, static_cast<std::uint8_t>(value));
      break;
    case 16:
      wire::store_be16(at, static_cast<std::uint16_t>(value));
      break;
    case 32:
      wire::store_be32(at, static_cast<std::uint32_t>(value));
      break;
    default:
      wire::store_be64(at, value);
  }
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~std::uint64_t{0} : sum;
}

}  // namespace

MadStatus PerformanceAgent::handle(bool set, PortNumber arrival, wire::MutableMadBytes mad,
                                   Time now) {
  const MutableBytes data = wire::perf::data(mad);
  switch (static_cast<PerfAttribute>(wire::load_be16(mad.data() + 16))) {
    case PerfAttribute::kClassPortInfo:
      return class_port_info(set, data);
    case PerfAttribute::kPortSamplesControl:
      return samples(set, true, arrival, data, now);
    case PerfAttribute::kPortSamplesResult:
      return samples(set, false, arrival, data, now);
    case PerfAttribute::kPortCounters:
      return counters(set, arrival, kPortCounters, 18, 1, short_origins_,
                      data.first(kPortCountersSize));
    case PerfAttribute::kPortCountersExtended:
      return counters(set, arrival, kPortCountersExtended, 4, 4, extended_origins_,
                      data.first(kPortCountersExtendedSize));
    default:
      return MadStatus::kBadMethodAttribute;
  }
}

// PortSamplesResult names no port: it is of the one that was sampled last.
MadStatus PerformanceAgent::samples(bool set, bool control, PortNumber arrival, MutableBytes data,
                                    Time now) {
  if (!control) {
    sampler_.run(now);
    return sampler_.result(set, sampled_, data);
  }
  const wire::NodeInfo node = node_.node_info(arrival);
  const PortNumber port = wire::load_u8(data.data() + 1);
  const PortNumber lowest = node.type == wire::NodeType::kSwitch ? 0 : 1;
  if (port < lowest || port > node.ports) return MadStatus::kInvalidValue;
  const MadStatus status = sampler_.control(set, port, data, now);
  if (set && status == MadStatus::kOk) sampled_ = port;
  return status;
}

MadStatus PerformanceAgent::class_port_info(bool set, MutableBytes data) const {
  if (set) return MadStatus::kBadMethodAttribute;  // there are no traps to be sent elsewhere
  std::fill(data.begin(), data.end(), std::byte{0});
  wire::ClassPortInfo{.class_version = wire::kPerfClassVersion,
                      .capability_mask = wire::kPerfAllPortSelect | wire::kPerfExtendedWidth |
                                         wire::kPerfTransmitWait | wire::kPerfQp1Drop,
                      .capability_mask2 = wire::kPerfAdditionalExtended,
                      .response_time = kPerformanceAgentResponseTime}
      .write(data);
  return MadStatus::kOk;
}

MadStatus PerformanceAgent::counters(bool set, PortNumber arrival,
                                     std::span<const CounterField> layout, std::size_t select2_at,
                                     std::size_t select2_bytes, Origins& origins,
                                     MutableBytes data) {
  const wire::NodeInfo node = node_.node_info(arrival);
  const std::uint8_t asked = wire::load_u8(data.data() + 1);
  const std::uint16_t select = wire::load_be16(data.data() + 2);
  const std::uint32_t select2 = select2_bytes == 1 ? wire::load_u8(data.data() + select2_at)
                                                   : wire::load_be32(data.data() + select2_at);
  const PortNumber lowest = node.type == wire::NodeType::kSwitch ? 0 : 1;
  PortNumber first = asked;
  PortNumber last = asked;
  if (asked == wire::perf::kAllPorts) {
    first = 1;
    last = node.ports;
  } else if (asked < lowest || asked > node.ports) {
    return MadStatus::kInvalidValue;
  }
  if (set) {
    const std::uint64_t selected = select | std::uint64_t{select2} << 16;
    for (unsigned port = first; port <= last; ++port) {
      write_counts(static_cast<PortNumber>(port), layout, selected, origins, data);
    }
  }
  PortCounts sum;
  for (unsigned port = first; port <= last; ++port) {
    const PortCounts counts = node_.port_counts(static_cast<PortNumber>(port));
    const auto origin = origins.find(static_cast<PortNumber>(port));
    for (const CounterField& field : layout) {
      const std::uint64_t before = origin == origins.end() ? 0 : origin->second.*field.count;
      sum.*field.count = saturating_sum(sum.*field.count, counts.*field.count - before);
    }
  }
  std::fill(data.begin(), data.end(), std::byte{0});
  wire::store_u8(data.data() + 1, asked);
  wire::store_be16(data.data() + 2, select);
  if (select2_bytes == 1) {
    wire::store_u8(data.data() + select2_at, static_cast<std::uint8_t>(select2));
  } else {
    wire::store_be32(data.data() + select2_at, select2);
  }
  for (const CounterField& field : layout)
    store(field, data.data(), sum.*field.count);
  return MadStatus::kOk;
}

void PerformanceAgent::write_counts(PortNumber port, std::span<const CounterField> layout,
                                    std::uint64_t selected, Origins& origins, Bytes data) {
  const PortCounts counts = node_.port_counts(port);
  PortCounts& origin = origins[port];
  for (const CounterField& field : layout) {
    if ((selected >> field.select & 1) == 0) continue;
    origin.*field.count = counts.*field.count - load(field, data.data());
  }
}

}  // namespace weft::mgmt
