// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/emulated_direction.h"

#include <algorithm>

#include "wire/ip.h"

namespace weft::daemon {
namespace {

void flip(MutableBytes bytes, std::uint64_t bit) {
  bytes[bit / 8] ^= std::byte{1} << (bit % 8);
}

}  // namespace

void EmulatedDirection::carry_datagrams(MutableBytes run, std::size_t segment,
                                        std::uint8_t traffic_class, std::uint32_t flow, Time now) {
  const bool capable = (traffic_class & wire::kEcnBits) != 0;
  if (segment == 0) segment = run.size();
  const std::size_t whole = run.size();
  bool taken = false;
  do {
    const MutableBytes packet = run.first(std::min(segment, run.size()));
    run = run.subspan(packet.size());
    const auto fate = model.carry(packet.size(), capable, now);
    if (!fate.arrives) continue;
    // With what is dropped of the run, whose place is free when the block is.
    if (!taken) line.take(whole);
    taken = true;
    if (fate.wrong_bit) flip(packet, *fate.wrong_bit);
    const std::uint8_t goes_as =
        fate.marked ? traffic_class | wire::kCongestionExperienced : traffic_class;
    if (fate.again) line.hold(packet, *fate.again, flow, goes_as);
    if (fate.overtaken) {
      line.hold_late(packet, *fate.arrives, flow, goes_as);
    } else {
      line.hold(packet, *fate.arrives, flow, goes_as);
    }
  } while (!run.empty());
}

void EmulatedDirection::carry_stream(MutableBytes piece, std::uint32_t flow, Time now) {
  const auto fate = model.carry_stream(piece.size(), now);
  line.take(piece.size());
  if (fate.wrong_bit) flip(piece, *fate.wrong_bit);
  line.hold(piece, *fate.arrives, flow, 0);
}

std::optional<Time> EmulatedDirection::deadline() const {
  const auto due = line.due();
  if (!due) return std::nullopt;
  return std::max(*due, sent_at + kGrain);
}

nlohmann::json EmulatedDirection::report(Time now) {
  nlohmann::json counts = nlohmann::json::object();
  for (const CounterValue& counter : model.counters().snapshot())
    counts[std::string(counter.name)] = counter.value;
  for (const CounterValue& counter : counters.snapshot())
    counts[std::string(counter.name)] = counter.value;
  return {{"emulation", wan::to_string(model.emulation())},
          {"out", model.out(now)},
          {"waiting_bytes", model.waiting(now)},
          {"under_way", line.packets()},
          {"under_way_bytes", line.bytes()},
          {"memory_bytes", line.memory()},
          {"counters", std::move(counts)}};
}

}  // namespace weft::daemon
