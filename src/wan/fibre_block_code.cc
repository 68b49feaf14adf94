// SPDX-License-Identifier: Apache-2.0
#include "wan/fibre_block_code.h"

#include <algorithm>

#include "wire/endian.h"
#include "wire/lrh.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kCreditMessage = 1;
constexpr std::uint8_t kTrainingMessage = 2;
constexpr std::byte kBlockTrainingVersion{1};
constexpr unsigned kCountBits = 12;

constexpr std::uint64_t kStartType = 0x78;
constexpr std::size_t kInStart = 7;  // octets of a packet that the block of its start has

constexpr XgmiiWord kRemoteFaultWord{
    std::uint64_t{to_column({OrderedSet::Code::kSequence, kRemoteFaultValue})} * 0x1'0000'0001,
    0x11};

void store_be24(std::byte* to, std::uint32_t value) {
  to[0] = static_cast<std::byte>(value >> 16);
  wire::store_be16(to + 1, static_cast<std::uint16_t>(value));
}

std::uint32_t load_be24(const std::byte* from) {
  return std::to_integer<std::uint32_t>(from[0]) << 16 | wire::load_be16(from + 1);
}

std::optional<TrainingSet> training_of(const SetMessage& message) {
  const std::byte* const bytes = message.content.data();
  if (bytes[0] != kBlockTrainingVersion) return std::nullopt;
  TrainingSet set{.own = wire::load_be16(bytes + 1), .heard = wire::load_be16(bytes + 3)};
  const auto flags = std::to_integer<unsigned>(bytes[5]);
  const auto scale = std::to_integer<std::uint8_t>(bytes[6]);
  if ((flags & 1) != 0 && scale <= link::CreditFormat::kMostScale) {
    set.format = link::CreditFormat{.scale = scale, .wide = (flags & 2) != 0};
  }
  return set;
}

}  // namespace

void FibreBlockCode::restart() {
  line_.emplace(static_cast<FrameSink&>(*this), counters_);
}

// --- towards the line ----------------------------------------------------------------------------

void FibreBlockCode::put(const XgmiiWord& word) {
  const Block block = encode_block(word).block;
  payloads_.push_back(block.payload);
  headers_.push_back(block.header);
}

// The octets of a packet lie in payloads as they do in memory, but that the first one is the type
// of the block, and so is that of the last one, which the rest makes room for.
bool FibreBlockCode::put_packet(std::vector<std::byte>& out, const link::Packet& packet) {
  const std::size_t size = packet.size();
  if (packet.lrh().packet_bytes() + wire::kVcrcSize != size || size < kInStart) return false;
  const std::size_t whole = (size - kInStart) / 8;
  const std::size_t rest = (size - kInStart) % 8;
  payloads_.resize(2 + whole);
  const MutableBytes octets = std::as_writable_bytes(std::span(payloads_));
  packet.copy_to(octets.subspan(1, size));
  octets[0] = std::byte{kStartType};
  std::uint64_t& last = payloads_.back();
  const std::uint64_t kept = last & ((std::uint64_t{1} << (8 * rest)) - 1);
  last = kept << 8 | kBlockLayouts[7 + rest].type;
  headers_.assign(payloads_.size(), Block::kData);
  headers_.front() = headers_.back() = Block::kControl;
  put(kIdleWord);
  flush(out);
  return true;
}

void FibreBlockCode::put_flow_control(std::vector<std::byte>& out, link::SignalBytes packet) {
  const auto parsed = wire::FlowControl::parse(packet);
  if (!parsed) return;
  std::optional<wire::FlowControl> upper;
  std::swap(upper, line_->upper_said);
  if (parsed->op == wire::FlowControl::Op::kUpper) {
    line_->upper_said = *parsed;
    return;
  }
  const bool wide = upper && upper->vl == parsed->vl;
  const wire::FlowControl high = wide ? *upper : wire::FlowControl{};
  SetMessage message{.kind = kCreditMessage};
  std::byte* const bytes = message.content.data();
  bytes[0] = static_cast<std::byte>(static_cast<unsigned>(parsed->op) << 4 | parsed->vl.value());
  store_be24(bytes + 1, std::uint32_t{high.fctbs} << kCountBits | parsed->fctbs);
  store_be24(bytes + 4, std::uint32_t{high.fccl} << kCountBits | parsed->fccl);
  bytes[7] = std::byte{wide};
  put(message);
  flush(out);
}

void FibreBlockCode::put_training(std::vector<std::byte>& out, const TrainingSet& set) {
  put_lead_in();
  SetMessage message{.kind = kTrainingMessage};
  std::byte* const bytes = message.content.data();
  bytes[0] = kBlockTrainingVersion;
  wire::store_be16(bytes + 1, set.own);
  wire::store_be16(bytes + 3, set.heard);
  const bool wide = set.format && set.format->wide;
  bytes[5] = std::byte(static_cast<std::uint8_t>((set.format ? 1 : 0) | (wide ? 2 : 0)));
  bytes[6] = std::byte{set.format.value_or(link::CreditFormat{}).scale};
  put(message);
  flush(out);
}

void FibreBlockCode::put_skip(std::vector<std::byte>& out) {
  put_lead_in();
  flush(out);
}

void FibreBlockCode::put_lead_in() {
  for (std::size_t i = 0; i < kLeadIn; ++i)
    put(line_->blocks.good() ? kIdleWord : kRemoteFaultWord);
}

void FibreBlockCode::put(const SetMessage& message) {
  const auto sets = message.sets();
  for (std::size_t n = 0; n + 1 < sets.size(); n += 2)
    put({to_column(sets[n]) | std::uint64_t{to_column(sets[n + 1])} << 32, 0x11});
  put({to_column(sets.back()) | kIdleWord.octets << 32, 0xF1});
}

// In whole octets, and so that what was put is complete for whoever reads it.
void FibreBlockCode::flush(std::vector<std::byte>& out) {
  while (payloads_.size() % kGroupBlocks != 0)
    put(kIdleWord);
  const std::size_t at = out.size();
  out.resize(at + payloads_.size() / kGroupBlocks * kGroupOctets);
  line_->scrambler.pack(payloads_, headers_, MutableBytes(out).subspan(at));
  payloads_.clear();
  headers_.clear();
}

// --- from the line -------------------------------------------------------------------------------

tl::expected<std::size_t, FibreError> FibreBlockCode::read(Bytes bytes, FibreSink& sink) {
  // In pieces, so that a line that is lost is not lost again for what lies behind.
  constexpr std::size_t kPiece = 4096;
  sink_ = &sink;
  for (Bytes rest = bytes; !rest.empty() && sink_ != nullptr;) {
    const std::size_t size = std::min(rest.size(), kPiece);
    line_->blocks.take(rest.first(size));
    rest = rest.subspan(size);
    watch();
  }
  sink_ = nullptr;
  return bytes.size();
}

void FibreBlockCode::watch() {
  const bool good = line_->blocks.good() && line_->lanes.fault() == LinkFault::kNone;
  if (line_->was_good && !good) tell({.item = FibreItem::kLost});
  line_->was_good = good;
}

void FibreBlockCode::tell(const FibreRecord& record) {
  if (sink_ != nullptr && !sink_->arrived(record)) sink_ = nullptr;
}

void FibreBlockCode::frame(Bytes octets) {
  const auto lrh = wire::Lrh::parse(octets);
  const bool fits = lrh && octets.size() >= link::kShortestPacket &&
                    lrh->packet_bytes() + wire::kVcrcSize == octets.size();
  tell({.item = fits ? FibreItem::kPacket : FibreItem::kBadPacket, .bytes = octets});
}

void FibreBlockCode::ordered_set(const OrderedSet& set) {
  const auto message = line_->messages.push(set);
  if (!message) return;
  if (message->kind == kCreditMessage) return tell_credit(*message);
  if (message->kind != kTrainingMessage) return;
  if (const auto training = training_of(*message)) {
    tell({.item = FibreItem::kTraining, .training = *training});
  }
}

void FibreBlockCode::tell_credit(const SetMessage& message) {
  const std::byte* const bytes = message.content.data();
  const auto head = std::to_integer<unsigned>(bytes[0]);
  const std::uint32_t fctbs = load_be24(bytes + 1);
  const std::uint32_t fccl = load_be24(bytes + 4);
  const Vl vl{static_cast<std::uint8_t>(head & 0xF)};
  const auto packet = [&](wire::FlowControl::Op op, unsigned shift) {
    constexpr std::uint32_t kMask = wire::FlowControl::kCountMask;
    const auto signal =
        wire::FlowControl{.op = op,
                          .vl = vl,
                          .fctbs = static_cast<std::uint16_t>(fctbs >> shift & kMask),
                          .fccl = static_cast<std::uint16_t>(fccl >> shift & kMask)}
            .bytes();
    tell({.item = FibreItem::kFlowControl, .bytes = signal});
  };
  if (head >> 4 >= static_cast<unsigned>(wire::FlowControl::Op::kUpper)) return;
  if ((std::to_integer<unsigned>(bytes[7]) & 1) != 0) {
    packet(wire::FlowControl::Op::kUpper, kCountBits);
  }
  packet(static_cast<wire::FlowControl::Op>(head >> 4), 0);
}

}  // namespace weft::wan
