// SPDX-License-Identifier: Apache-2.0
#include "wire/roce.h"

#include <array>
#include <cassert>

#include "wire/crc.h"
#include "wire/crc_polynomial.h"
#include "wire/endian.h"

namespace weft::wire {
namespace {

constexpr std::byte kOnes{0xFF};
constexpr std::size_t kPrefix = 8;  // bytes of ones for the LRH

// What a 16-bit field does to the register when so many bytes follow it, by its two bytes.
struct FieldTable {
  std::array<std::uint32_t, 256> high{};
  std::array<std::uint32_t, 256> low{};

  [[nodiscard]] std::uint32_t at(std::size_t value) const {
    return high[value >> 8 & 0xFF] ^ low[value & 0xFF];
  }
};

consteval FieldTable make_field_table(unsigned bytes_after) {
  FieldTable table;
  for (unsigned bit = 0; bit < 16; ++bit) {
    const unsigned shift = 8 * (bytes_after + (bit >= 8 ? 1 : 0));
    const detail::Polynomial effect = detail::x_power(bit % 8 + shift + 32, detail::kP32);
    // A byte's bits go in least significant first: bit k of it is x^(7-k).
    auto& half = bit >= 8 ? table.high : table.low;
    half[std::size_t{0x80} >> bit % 8] = static_cast<std::uint32_t>(detail::reflect(effect, 32));
  }
  for (std::size_t value = 1; value < 256; ++value) {
    const std::size_t lowest = value & -value;
    if (value == lowest) continue;
    table.high[value] = table.high[lowest] ^ table.high[value ^ lowest];
    table.low[value] = table.low[lowest] ^ table.low[value ^ lowest];
  }
  return table;
}

constexpr unsigned kUdp = kUdpHeaderSize;
constexpr FieldTable kIpv4Length = make_field_table(kIpv4HeaderSize - 4 + kUdp);
constexpr unsigned kAfterIdentification = kIpv4HeaderSize - 6 + kUdp;
constexpr FieldTable kIpv4Identification = make_field_table(kAfterIdentification);
constexpr FieldTable kIpv6Length = make_field_table(kIpv6HeaderSize - 6 + kUdp);
constexpr FieldTable kUdpLength = make_field_table(kUdp - 6);

// What it is to the register after `front` bytes that the BTH's byte outside the ICRC counts as
// ones and not as it is.
std::uint32_t mask_of(std::byte uncovered, std::size_t front) {
  assert(front >= Bth::kSize);
  const auto changed = std::to_integer<std::uint64_t>(~uncovered);
  return crc32_change(changed << 8 * Bth::kUncoveredByte, front - 8);
}

}  // namespace

IcrcFlow::IcrcFlow(const Gid& src, const Gid& dst, std::uint16_t src_port, std::uint16_t dst_port,
                   bool dont_fragment)
    : ipv4_(src.is_ipv4_mapped() && dst.is_ipv4_mapped()) {
  std::array<std::byte, kPrefix + kIpv6HeaderSize + kUdpHeaderSize> bytes;
  bytes.fill(kOnes);
  std::byte* const ip = bytes.data() + kPrefix;
  const std::size_t size =
      write_ip_udp_headers(MutableBytes(bytes).subspan(kPrefix), {.src = src,
                                                                  .dst = dst,
                                                                  .src_port = src_port,
                                                                  .dst_port = dst_port,
                                                                  .traffic_class = 0xFF,
                                                                  .hop_limit = 0xFF,
                                                                  .dont_fragment = dont_fragment,
                                                                  .flow_label = 0xFFFFF});
  std::byte* const udp = ip + size - kUdpHeaderSize;
  if (ipv4_) {
    store_be16(ip + 2, 0);
    store_be16(ip + 10, 0xFFFF);
  } else {
    store_be16(ip + 4, 0);
  }
  store_be16(udp + 4, 0);
  store_be16(udp + 6, 0xFFFF);
  base_ = crc32_update(kIcrcPreset, Bytes(bytes).first(kPrefix + size));
}

std::uint32_t IcrcFlow::start(std::size_t transport_size, std::uint16_t identification) const {
  const std::size_t udp = kUdpHeaderSize + transport_size;
  const std::uint32_t state = base_ ^ kUdpLength.at(udp);
  if (!ipv4_) return state ^ kIpv6Length.at(udp);
  return state ^ kIpv4Length.at(kIpv4HeaderSize + udp) ^ kIpv4Identification.at(identification);
}

std::uint32_t IcrcFlow::after_headers(std::size_t transport_size, Bytes headers,
                                      std::uint16_t identification) const {
  return IcrcRun(*this, transport_size, headers.size()).after_headers(headers, identification);
}

std::uint32_t IcrcFlow::icrc(Bytes covered, std::uint16_t identification) const {
  return IcrcRun(*this, covered.size() + kIcrcSize, covered.size()).icrc(covered, identification);
}

IcrcVerdict IcrcFlow::check(Bytes transport, std::uint16_t identification) const {
  if (transport.size() < Bth::kSize + kIcrcSize) return IcrcVerdict::bad;
  return IcrcRun(*this, transport.size(), transport.size() - kIcrcSize)
      .check(transport, identification);
}

IcrcRun::IcrcRun(const IcrcFlow& flow, std::size_t transport_size, std::size_t front)
    : transport_size_(transport_size),
      front_(front),
      start_(flow.start(transport_size)),
      mask_(mask_of(std::byte{0}, front)),
      ipv4_(flow.is_ipv4()) {
}

// One pass over the bytes as they are. The masked byte's effect depends on its value, which most
// senders leave zero, and on its distance from the end only. (A masked copy would be read as soon
// as it is written: the processor then waits until all that was stored before, such as the payload
// of the packet before, is out of its way.)
std::uint32_t IcrcRun::after_headers(Bytes headers, std::uint16_t identification) const {
  assert(headers.size() == front_);
  std::uint32_t state = start_;
  if (ipv4_ && identification != 0) state ^= kIpv4Identification.at(identification);
  const std::byte masked = headers[Bth::kUncoveredByte];
  const std::uint32_t mask = masked == std::byte{0} ? mask_ : mask_of(masked, front_);
  return crc32_update(state, headers) ^ mask;
}

std::uint32_t IcrcRun::icrc(Bytes covered, std::uint16_t identification) const {
  return crc32_finish(after_headers(covered, identification));
}

IcrcVerdict IcrcRun::check(Bytes transport, std::uint16_t identification) const {
  assert(transport.size() == transport_size_ && front_ + kIcrcSize == transport_size_);
  const std::uint32_t carried = load_le32(transport.data() + front_);
  const std::uint32_t difference = carried ^ icrc(transport.first(front_), identification);
  if (difference == 0) return IcrcVerdict::good;
  return ipv4_ && identification_difference(difference, transport.size())
             ? IcrcVerdict::other_identification
             : IcrcVerdict::bad;
}

std::optional<std::uint16_t> identification_difference(std::uint32_t icrc_difference,
                                                       std::size_t transport_size) {
  if (transport_size < kIcrcSize || transport_size > 0xFFFF - 64) return std::nullopt;
  // The field stands x^(8 * what follows it) high, and a register holds a message times x^32.
  const std::size_t shift = kAfterIdentification + transport_size - kIcrcSize + 4;
  const std::uint32_t field = crc32_unshift(icrc_difference, shift);
  // Sixteen coefficients are the field's, in the register's high half, first byte low.
  if ((field & 0xFFFF) != 0) return std::nullopt;
  return detail::swap_bytes(static_cast<std::uint16_t>(field >> 16));
}

}  // namespace weft::wire
