// SPDX-License-Identifier: Apache-2.0
#include "wan/fibre_lane_code.h"

#include <algorithm>

#include "wan/fibre_framing.h"
#include "wire/lrh.h"

namespace weft::wan {
namespace {

constexpr std::size_t kStepSymbols = 4;

}  // namespace

void FibreLaneCode::restart() {
  lane_.emplace(counters_);
}

// --- towards the line ----------------------------------------------------------------------------

bool FibreLaneCode::put_packet(std::vector<std::byte>& out, const link::Packet& packet) {
  if (packet.lrh().packet_bytes() + wire::kVcrcSize != packet.size()) return false;
  scratch_.resize(packet.size());
  packet.copy_to(scratch_);
  lane_->transmitter.send_packet(phy::PacketKind::kData, scratch_);
  flush(out);
  return true;
}

void FibreLaneCode::put_flow_control(std::vector<std::byte>& out, link::SignalBytes packet) {
  lane_->transmitter.send_packet(phy::PacketKind::kLink, packet);
  flush(out);
}

void FibreLaneCode::put_training(std::vector<std::byte>& out, const TrainingSet& set) {
  scratch_.clear();
  wan::put_training(scratch_, set);
  std::vector<phy::Character> characters;
  for (const std::byte symbol : scratch_)
    characters.push_back({std::to_integer<std::uint8_t>(symbol), characters.empty()});
  lane_->transmitter.send_columns(characters);
  flush(out);
}

void FibreLaneCode::put_skip(std::vector<std::byte>& out) {
  lane_->transmitter.send_columns(std::array{phy::kCom, phy::kSkp, phy::kSkp, phy::kSkp});
  flush(out);
}

// All that is sent is in steps of four symbols, which are five octets.
void FibreLaneCode::flush(std::vector<std::byte>& out) {
  const std::size_t over = lane_->transmitter.symbol_times() % kStepSymbols;
  if (over != 0) lane_->transmitter.send_idle(kStepSymbols - over);
  const Bytes octets = lane_->transmitter.bits(0).bytes;
  out.insert(out.end(), octets.begin(), octets.end());
  lane_->transmitter.clear();
}

// --- from the line -------------------------------------------------------------------------------

tl::expected<std::size_t, FibreError> FibreLaneCode::read(Bytes bytes, FibreSink& sink) {
  sink_ = &sink;
  symbols_.clear();
  lane_->receiver.receive({bytes, 8 * bytes.size()}, symbols_);
  for (const phy::LaneSymbol& symbol : symbols_)
    take(symbol);
  const bool aligned = lane_->receiver.aligned();
  if (lane_->was_aligned && !aligned) tell({.item = FibreItem::kLost});
  lane_->was_aligned = aligned;
  sink_ = nullptr;
  return bytes.size();
}

void FibreLaneCode::take(const phy::LaneSymbol& symbol) {
  watch_for_training(symbol);
  phy::Column column{};
  column[0] = symbol;
  lane_->packets.read(column, *this);
}

void FibreLaneCode::watch_for_training(const phy::LaneSymbol& symbol) {
  std::size_t& trained = lane_->trained;
  if (symbol.error) trained = 0;
  if (!symbol.error && symbol.character == phy::kCom) {
    lane_->training[0] = std::byte{phy::kCom.value};
    trained = 1;
    return;
  }
  if (trained == 0) return;
  if (symbol.character.control) {
    trained = 0;
    return;
  }
  lane_->training[trained] = std::byte{symbol.character.value};
  if (++trained < TrainingSet::kSize) return;
  trained = 0;
  const auto record = parse_fibre(lane_->training);
  if (record && record->item == FibreItem::kTraining) tell(*record);
}

void FibreLaneCode::tell(const FibreRecord& record) {
  if (sink_ != nullptr && !sink_->arrived(record)) sink_ = nullptr;
}

void FibreLaneCode::receive(const phy::ReceivedPacket& packet) {
  if (packet.fault != phy::PacketFault::kNone) return tell({.item = FibreItem::kBadPacket});
  if (packet.kind == phy::PacketKind::kLink) {
    return tell({.item = FibreItem::kFlowControl, .bytes = packet.bytes});
  }
  const auto lrh = wire::Lrh::parse(packet.bytes);
  const bool fits = lrh && packet.bytes.size() >= link::kShortestPacket &&
                    lrh->packet_bytes() + wire::kVcrcSize == packet.bytes.size();
  tell({.item = fits ? FibreItem::kPacket : FibreItem::kBadPacket, .bytes = packet.bytes});
}

}  // namespace weft::wan
