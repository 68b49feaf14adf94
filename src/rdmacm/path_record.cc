// SPDX-License-Identifier: Apache-2.0
#include "rdmacm/path_record.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>

#include "base/bytes.h"
#include "rdmacm/abi.h"
#include "wire/endian.h"

namespace weft::rdmacm {
namespace {

// Offsets within the SA's path record.
constexpr std::size_t kDgid = 8;
constexpr std::size_t kSgid = 24;
constexpr std::size_t kDlid = 40;
constexpr std::size_t kSlid = 42;
constexpr std::size_t kFlowLabelHopLimit = 44;
constexpr std::size_t kTrafficClass = 48;
constexpr std::size_t kReversiblePaths = 49;
constexpr std::size_t kPKey = 50;
constexpr std::size_t kSl = 52;
constexpr std::size_t kMtu = 54;
constexpr std::size_t kRate = 55;
constexpr std::size_t kPacketLife = 56;
constexpr std::uint8_t kExactly = 2;       // selector of an attribute
constexpr std::uint8_t kValueBits = 0x3F;  // below the selector
constexpr std::uint8_t kReversible = 0x80;

struct Rate {
  std::uint64_t mbps;
  std::uint8_t code;
};
constexpr std::array<Rate, 9> kRates{{{10'000, 3},
                                      {20'000, 6},
                                      {25'000, 15},
                                      {40'000, 7},
                                      {50'000, 20},
                                      {100'000, 16},
                                      {200'000, 17},
                                      {400'000, 21},
                                      {800'000, 23}}};

std::uint8_t code_of_rate(const PathRecord& record) {
  return record.rate != 0 ? record.rate : rate_code(record.rate_mbps);
}

Gid load_gid(Bytes raw, std::size_t at) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), raw.data() + at, bytes.size());
  return Gid(bytes);
}

}  // namespace

std::uint8_t mtu_code(std::uint32_t bytes) {
  std::uint8_t code = 1;
  while (code < 5 && mtu_bytes(static_cast<std::uint8_t>(code + 1)) <= bytes)
    ++code;
  return code;
}

std::uint32_t mtu_bytes(std::uint8_t code) {
  return 128U << std::clamp<std::uint8_t>(code, 1, 5);
}

std::uint8_t rate_code(std::uint64_t mbps) {
  std::uint8_t code = kRates[0].code;
  for (const Rate& rate : kRates) {
    if (rate.mbps <= mbps) code = rate.code;
  }
  return code;
}

PathRecord PathRecord::parse(const ib_path_rec_data& data) {
  return parse(std::as_bytes(std::span(data.path_rec)));
}

PathRecord PathRecord::parse(Bytes raw) {
  assert(raw.size() >= kSize);
  PathRecord out;
  out.dgid = load_gid(raw, kDgid);
  out.sgid = load_gid(raw, kSgid);
  out.dlid = Lid{wire::load_be16(raw.data() + kDlid)};
  out.slid = Lid{wire::load_be16(raw.data() + kSlid)};
  const std::uint32_t flow_hop = wire::load_be32(raw.data() + kFlowLabelHopLimit);
  out.flow_label = flow_hop >> 8 & 0xFFFFF;
  out.hop_limit = static_cast<std::uint8_t>(flow_hop);
  out.traffic_class = wire::load_u8(raw.data() + kTrafficClass);
  out.pkey = PKey{wire::load_be16(raw.data() + kPKey)};
  out.sl = Sl{static_cast<std::uint8_t>(wire::load_be16(raw.data() + kSl) & 0xF)};
  out.mtu = mtu_bytes(wire::load_u8(raw.data() + kMtu) & kValueBits);
  out.rate = wire::load_u8(raw.data() + kRate) & kValueBits;
  out.packet_life = wire::load_u8(raw.data() + kPacketLife) & kValueBits;
  return out;
}

ib_path_rec_data PathRecord::packed() const {
  ib_path_rec_data out{};
  out.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
  const MutableBytes raw = std::as_writable_bytes(std::span(out.path_rec));
  const auto exactly = [](std::uint8_t value) {
    return static_cast<std::uint8_t>(kExactly << 6 | value);
  };
  std::memcpy(raw.data() + kDgid, dgid.bytes().data(), dgid.bytes().size());
  std::memcpy(raw.data() + kSgid, sgid.bytes().data(), sgid.bytes().size());
  wire::store_be16(raw.data() + kDlid, dlid.value());
  wire::store_be16(raw.data() + kSlid, slid.value());
  wire::store_be32(raw.data() + kFlowLabelHopLimit, flow_label << 8 | hop_limit);
  raw[kTrafficClass] = std::byte{traffic_class};
  raw[kReversiblePaths] = std::byte{kReversible | 1};
  wire::store_be16(raw.data() + kPKey, pkey.value());
  wire::store_be16(raw.data() + kSl, sl.value());
  raw[kMtu] = std::byte{exactly(mtu_code(mtu))};
  raw[kRate] = std::byte{exactly(code_of_rate(*this))};
  raw[kPacketLife] = std::byte{exactly(packet_life)};
  return out;
}

ib_user_path_rec PathRecord::unpacked() const {
  ib_user_path_rec out{};
  std::copy(dgid.bytes().begin(), dgid.bytes().end(), out.dgid);
  std::copy(sgid.bytes().begin(), sgid.bytes().end(), out.sgid);
  out.dlid = abi::network_order(dlid.value());
  out.slid = abi::network_order(slid.value());
  out.flow_label = abi::network_order(flow_label);
  out.reversible = 1;
  out.mtu = mtu_code(mtu);
  out.pkey = abi::network_order(pkey.value());
  out.hop_limit = hop_limit;
  out.traffic_class = traffic_class;
  out.numb_path = 1;
  out.sl = sl.value();
  out.mtu_selector = kExactly;
  out.rate_selector = kExactly;
  out.rate = code_of_rate(*this);
  out.packet_life_time_selector = kExactly;
  out.packet_life_time = packet_life;
  return out;
}

}  // namespace weft::rdmacm
