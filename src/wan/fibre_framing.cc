// SPDX-License-Identifier: Apache-2.0
#include "wan/fibre_framing.h"

#include <algorithm>
#include <array>

#include "wire/endian.h"
#include "wire/lrh.h"

namespace weft::wan {
namespace {

constexpr std::byte kCom{0xBC};
constexpr std::byte kSdp{0xFB};
constexpr std::byte kSlp{0x5C};
constexpr std::byte kEgp{0xFD};
constexpr std::byte kEbp{0xFE};
constexpr std::byte kSkp{0x1C};
constexpr std::byte kLane0{0x00};
constexpr std::byte kTs1{0x4A};  // D10.2
constexpr std::byte kTs2{0x45};  // D5.2

constexpr std::size_t kSkipSize = 4;

// Of a training set, after COM and the lane: what it is, twice; then of this project; then what it
// is again.
constexpr std::size_t kKind = 2;
constexpr std::size_t kMark = 4;
constexpr std::uint16_t kMarkValue = 0x5766;
constexpr std::size_t kFibreFramingVersion = 6;
constexpr std::byte kThisVersion{1};
constexpr std::size_t kOwn = 7;
constexpr std::size_t kHeard = 9;
constexpr std::size_t kFlags = 11;  // bit 0: offers a format; bit 1: with wide counts
constexpr std::size_t kScale = 12;

using Parsed = tl::expected<FibreRecord, FibreError>;

Parsed delimited(Bytes bytes, std::size_t size, FibreItem good) {
  if (bytes.size() < size + 2) return tl::unexpected(FibreError::kIncomplete);
  const std::byte end = bytes[size + 1];
  if (end != kEgp && end != kEbp) return tl::unexpected(FibreError::kOutOfStep);
  return FibreRecord{.item = end == kEgp ? good : FibreItem::kBadPacket,
                     .size = size + 2,
                     .bytes = bytes.subspan(1, size)};
}

Parsed parse_packet(Bytes bytes) {
  if (bytes.size() < 1 + wire::Lrh::kSize) return tl::unexpected(FibreError::kIncomplete);
  const auto lrh = wire::Lrh::parse(bytes.subspan(1));
  const std::size_t size = lrh ? lrh->packet_bytes() + wire::kVcrcSize : 0;
  if (size < link::kShortestPacket || size > link::kLongestPacket) {
    return tl::unexpected(FibreError::kOutOfStep);
  }
  return delimited(bytes, size, FibreItem::kPacket);
}

TrainingSet read_training(Bytes bytes) {
  TrainingSet set;
  if (wire::load_be16(bytes.data() + kMark) != kMarkValue ||
      bytes[kFibreFramingVersion] != kThisVersion) {
    return set;
  }
  set.own = wire::load_be16(bytes.data() + kOwn);
  set.heard = wire::load_be16(bytes.data() + kHeard);
  const auto flags = std::to_integer<unsigned>(bytes[kFlags]);
  const auto scale = std::to_integer<std::uint8_t>(bytes[kScale]);
  if ((flags & 1) != 0 && scale <= link::CreditFormat::kMostScale) {
    set.format = link::CreditFormat{.scale = scale, .wide = (flags & 2) != 0};
  }
  return set;
}

Parsed parse_ordered_set(Bytes bytes) {
  if (bytes.size() < kSkipSize) return tl::unexpected(FibreError::kIncomplete);
  if (bytes[1] == kSkp) {
    if (bytes[2] != kSkp || bytes[3] != kSkp) return tl::unexpected(FibreError::kOutOfStep);
    return FibreRecord{.item = FibreItem::kSkip, .size = kSkipSize};
  }
  const std::byte kind = bytes[kKind];
  if (bytes[1] != kLane0 || (kind != kTs1 && kind != kTs2) || bytes[kKind + 1] != kind) {
    return tl::unexpected(FibreError::kOutOfStep);
  }
  if (bytes.size() < TrainingSet::kSize) return tl::unexpected(FibreError::kIncomplete);
  return FibreRecord{
      .item = FibreItem::kTraining, .size = TrainingSet::kSize, .training = read_training(bytes)};
}

}  // namespace

tl::expected<FibreRecord, FibreError> parse_fibre(Bytes bytes) {
  if (bytes.empty()) return tl::unexpected(FibreError::kIncomplete);
  if (bytes[0] == kSdp) return parse_packet(bytes);
  if (bytes[0] == kSlp) {
    return delimited(bytes, wire::FlowControl::kSize, FibreItem::kFlowControl);
  }
  if (bytes[0] == kCom) return parse_ordered_set(bytes);
  return tl::unexpected(FibreError::kOutOfStep);
}

bool put_packet(std::vector<std::byte>& out, const link::Packet& packet) {
  if (packet.lrh().packet_bytes() + wire::kVcrcSize != packet.size()) return false;
  const std::size_t at = out.size();
  out.resize(at + packet.size() + 2);
  out[at] = kSdp;
  packet.copy_to(MutableBytes(out).subspan(at + 1, packet.size()));
  out.back() = kEgp;
  return true;
}

void put_flow_control(std::vector<std::byte>& out, link::SignalBytes packet) {
  out.push_back(kSlp);
  out.insert(out.end(), packet.begin(), packet.end());
  out.push_back(kEgp);
}

void put_training(std::vector<std::byte>& out, const TrainingSet& set) {
  std::array<std::byte, TrainingSet::kSize> bytes;
  bytes.fill(set.heard != 0 ? kTs2 : kTs1);
  bytes[0] = kCom;
  bytes[1] = kLane0;
  wire::store_be16(bytes.data() + kMark, kMarkValue);
  bytes[kFibreFramingVersion] = kThisVersion;
  wire::store_be16(bytes.data() + kOwn, set.own);
  wire::store_be16(bytes.data() + kHeard, set.heard);
  const bool wide = set.format && set.format->wide;
  bytes[kFlags] = std::byte(static_cast<std::uint8_t>((set.format ? 1 : 0) | (wide ? 2 : 0)));
  bytes[kScale] = std::byte{set.format.value_or(link::CreditFormat{}).scale};
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_skip(std::vector<std::byte>& out) {
  out.insert(out.end(), {kCom, kSkp, kSkp, kSkp});
}

tl::expected<std::size_t, FibreError> SymbolCode::read(Bytes bytes, FibreSink& sink) {
  Bytes rest = bytes;
  for (bool goes_on = true; goes_on;) {
    const auto record = parse_fibre(rest);
    if (!record && record.error() == FibreError::kIncomplete) break;
    if (!record) return tl::unexpected(record.error());
    goes_on = sink.arrived(*record);
    rest = rest.subspan(record->size);
  }
  return bytes.size() - rest.size();
}

}  // namespace weft::wan
