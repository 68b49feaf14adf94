// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/advertisement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "wire/endian.h"
#include "wire/sm/smp.h"

namespace weft::phy {
namespace {

using wire::MadHeader;

constexpr std::uint32_t kABit = 1U << 31;
constexpr std::uint32_t kSerDesConfBit = 1U << 30;
constexpr std::uint32_t kNoSweepBit = 1U << 29;
constexpr std::uint32_t k5GBit = 1U << 0;
constexpr std::uint32_t kReservedBits = ~(kABit | kSerDesConfBit | kNoSweepBit | k5GBit);

constexpr std::size_t kBandwidthOffset = 0x4;
constexpr std::size_t kDurationOffset = 0x8;
constexpr std::size_t kIterationsOffset = 0xC;
constexpr std::size_t kFieldsSize = 0x10;

Advertisement read_advertisement(Bytes data) {
  const std::byte* at = data.data();
  const std::uint32_t flags = wire::load_be32(at);
  const Bytes rest = data.subspan(kFieldsSize);
  const bool rest_zero =
      std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; });
  return {.acknowledge = (flags & kABit) != 0,
          .serdes_configured = (flags & kSerDesConfBit) != 0,
          .no_sweep = (flags & kNoSweepBit) != 0,
          .ddr = (flags & k5GBit) != 0,
          .bandwidth = wire::load_be32(at + kBandwidthOffset),
          .iteration_ms = wire::load_be32(at + kDurationOffset),
          .iterations = wire::load_be32(at + kIterationsOffset),
          .reserved_set = (flags & kReservedBits) != 0 || !rest_zero};
}

std::optional<AdvertisementFault> header_fault(const MadHeader& header) {
  using enum AdvertisementFault;
  if (header.mgmt_class != wire::MgmtClass::kSubnDirected ||
      header.attribute_id != kAdvertisementAttribute) {
    return kOtherAttribute;
  }
  if (header.base_version != MadHeader::kBaseVersion ||
      header.class_version != wire::kSmClassVersion) {
    return kVersion;
  }
  if (header.method != wire::MadMethod::kSend) return kMethod;
  if (header.attribute_modifier != kAdvertisementModifier) return kModifier;
  return std::nullopt;
}

// What stands beside 5G = 0 means nothing, but for the bandwidth, which is always the same.
std::optional<AdvertisementFault> field_fault(const Advertisement& advertisement) {
  using enum AdvertisementFault;
  if (advertisement.bandwidth != kDdrBandwidth) return kBandwidth;
  if (!advertisement.ddr) return std::nullopt;
  if (advertisement.names_choice()) {
    if (advertisement.iterations > kLastIteration) return kChoice;
    return std::nullopt;
  }
  if (advertisement.iterations == 0) return kNoIterations;
  if (advertisement.iterations > kMaxIterations) return kTooManyIterations;
  return std::nullopt;
}

}  // namespace

void Advertisement::write(MutableBytes data) const {
  assert(data.size() == wire::smp::kDataSize);
  std::fill(data.begin(), data.end(), std::byte{0});
  std::uint32_t flags = 0;
  if (acknowledge) flags |= kABit;
  if (serdes_configured) flags |= kSerDesConfBit;
  if (no_sweep) flags |= kNoSweepBit;
  if (ddr) flags |= k5GBit;
  wire::store_be32(data.data(), flags);
  wire::store_be32(data.data() + kBandwidthOffset, bandwidth);
  wire::store_be32(data.data() + kDurationOffset, iteration_ms);
  wire::store_be32(data.data() + kIterationsOffset, iterations);
}

wire::MadBuffer make_advertisement_mad(const AdvertisementMad& mad) {
  wire::MadBuffer bytes{};
  const MadHeader header{.mgmt_class = wire::MgmtClass::kSubnDirected,
                         .class_version = wire::kSmClassVersion,
                         .method = wire::MadMethod::kSend,
                         .transaction_id = mad.transaction_id,
                         .attribute_id = kAdvertisementAttribute,
                         .attribute_modifier = kAdvertisementModifier};
  header.write(bytes);
  wire::smp::set_dr_lids(bytes, wire::kPermissiveLid, wire::kPermissiveLid);
  mad.advertisement.write(wire::smp::data(wire::MutableMadBytes(bytes)));
  return bytes;
}

std::variant<AdvertisementMad, AdvertisementFault> parse_advertisement_mad(Bytes mad) {
  if (mad.size() != wire::kMadSize) return AdvertisementFault::kSize;
  const wire::MadBytes bytes = mad.first<wire::kMadSize>();
  const MadHeader header = *MadHeader::parse(bytes);
  if (const auto fault = header_fault(header)) return *fault;
  if (wire::smp::dr_slid(bytes) != wire::kPermissiveLid ||
      wire::smp::dr_dlid(bytes) != wire::kPermissiveLid) {
    return AdvertisementFault::kRoute;
  }
  const Advertisement advertisement = read_advertisement(wire::smp::data(bytes));
  if (const auto fault = field_fault(advertisement)) return *fault;
  return AdvertisementMad{advertisement, header.transaction_id};
}

std::string_view fault_text(AdvertisementFault fault) {
  switch (fault) {
    case AdvertisementFault::kSize:
      return "not of 256 bytes";
    case AdvertisementFault::kOtherAttribute:
      return "of another class or attribute";
    case AdvertisementFault::kVersion:
      return "of another version of the base or the class";
    case AdvertisementFault::kMethod:
      return "method is not Send";
    case AdvertisementFault::kModifier:
      return "modifier is not 0x2C9";
    case AdvertisementFault::kRoute:
      return "LIDs are not permissive";
    case AdvertisementFault::kBandwidth:
      return "bandwidth is not 5000";
    case AdvertisementFault::kNoIterations:
      return "no iterations";
    case AdvertisementFault::kTooManyIterations:
      return "more than 9 iterations";
    case AdvertisementFault::kChoice:
      return "chosen iteration above 8";
  }
  return "";
}

std::string_view advertisement_name(const Advertisement& advertisement) {
  if (advertisement.serdes_configured) {
    return advertisement.acknowledge ? "Result Advertisement + ACK" : "Result Advertisement";
  }
  return advertisement.acknowledge ? "Capabilities Advertisement + ACK"
                                   : "Capabilities Advertisement";
}

std::string advertisement_text(const Advertisement& advertisement) {
  if (!advertisement.ddr) return advertisement.no_sweep ? "not 5G, NoSweep" : "not 5G";
  const char* const sweep = advertisement.no_sweep ? "5G, NoSweep" : "5G";
  if (advertisement.names_choice()) {
    return fmt::format("{}, chosen iteration {}", sweep, advertisement.iterations);
  }
  return fmt::format("{}, {} iterations of {} ms", sweep, advertisement.iterations,
                     advertisement.iteration_ms);
}

}  // namespace weft::phy
