// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/add_drop.h"

#include <algorithm>
#include <optional>

#include "wan/line/sonet/overhead.h"

namespace weft::wan::sonet {
namespace {

constexpr std::size_t index_of(Side side) {
  return static_cast<std::size_t>(side);
}
constexpr Side other_side(Side side) {
  return side == Side::kWest ? Side::kEast : Side::kWest;
}

}  // namespace

// The payload of an unequipped path.
class AddDropMultiplexer::Nothing final : public OctetSource, public OctetSink {
 public:
  void fill(MutableBytes octets) override { std::ranges::fill(octets, std::byte{}); }
  void take(Bytes /*octets*/) override {}
};

// Built from its inner parts outwards: both lines have to be there before one can be listened to.
struct AddDropMultiplexer::Line {
  Defects defects;
  SonetCounters counters;
  std::optional<VcRelay> relay;  // what comes from the other line and goes to this one
  std::optional<PathReceiver> path_receiver;
  std::optional<PathTransmitter> path_transmitter;
  std::optional<LineReceiver> receiver;
  std::optional<LineTransmitter> transmitter;

  void end_path(Level level, const LocalPath& path) {
    path_receiver.emplace(level, path.expected_trace, path.label, *path.drop, defects, counters);
    path_transmitter.emplace(level, path.trace, path.label, kAlignedPointer, *path.add,
                             &*path_receiver);
  }
  void open(const AddDropOptions& options, Side side, VcSink& sink, VcSource& source) {
    receiver.emplace(options.level, options.expected_traces[index_of(side)], sink, defects,
                     counters);
    transmitter.emplace(options.level, options.traces[index_of(side)], options.sdh, source,
                        &*receiver, counters);
  }
};

AddDropMultiplexer::AddDropMultiplexer(const AddDropOptions& options)
    : lines_{std::make_unique<Line>(), std::make_unique<Line>()} {
  for (const auto& line : lines_)
    line->relay.emplace(options.level, line->counters);
  for (const Side side : {Side::kWest, Side::kEast}) {
    Line& line = *lines_[index_of(side)];
    Line& other = *lines_[index_of(other_side(side))];
    line.open(options, side, *other.relay, *line.relay);
    other.relay->listen(*line.receiver);
  }
}

AddDropMultiplexer::AddDropMultiplexer(const AddDropOptions& options, Side side,
                                       const LocalPath& path)
    : nothing_(std::make_unique<Nothing>()),
      lines_{std::make_unique<Line>(), std::make_unique<Line>()} {
  const LocalPath unequipped{.label = label::kUnequipped,
                             .trace = {},
                             .expected_trace = {},
                             .add = nothing_.get(),
                             .drop = nothing_.get()};
  for (const Side each : {Side::kWest, Side::kEast}) {
    Line& line = *lines_[index_of(each)];
    line.end_path(options.level, each == side ? path : unequipped);
    line.open(options, each, *line.path_receiver, *line.path_transmitter);
  }
}

AddDropMultiplexer::~AddDropMultiplexer() = default;

OctetSink& AddDropMultiplexer::from(Side side) {
  return *lines_[index_of(side)]->receiver;
}
OctetSource& AddDropMultiplexer::to(Side side) {
  return *lines_[index_of(side)]->transmitter;
}
void AddDropMultiplexer::lose_signal(Side side) {
  lines_[index_of(side)]->receiver->lose_signal();
}
const Defects& AddDropMultiplexer::defects(Side side) const {
  return lines_[index_of(side)]->defects;
}
const SonetCounters& AddDropMultiplexer::counters(Side side) const {
  return lines_[index_of(side)]->counters;
}

}  // namespace weft::wan::sonet
