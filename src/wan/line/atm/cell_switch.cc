// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/cell_switch.h"

#include <algorithm>
#include <cassert>

namespace weft::wan::atm {

CellSwitch::CellSwitch(const SwitchOptions& options) : options_(options), ports_(options.ports) {
  assert(options.ports >= 1 && options.queue >= 1);
}

bool CellSwitch::connect(const SwitchEnd& one, const SwitchEnd& other) {
  for (const SwitchEnd* const end : {&one, &other}) {
    if (end->port >= ports_.size() || end->channel.vci < kFirstUserVci) return false;
    if (connections_.contains(*end)) return false;
  }
  if (one == other) return false;
  connections_[one] = other;
  connections_[other] = one;
  return true;
}

void CellSwitch::disconnect(const SwitchEnd& end) {
  const auto at = connections_.find(end);
  if (at == connections_.end()) return;
  connections_.erase(at->second);
  connections_.erase(end);
}

std::optional<Channel> CellSwitch::free_channel(std::size_t port) const {
  SwitchEnd end{.port = port, .channel = {.vpi = 0, .vci = kFirstUserVci}};
  // In order: the first that is not there.
  for (auto at = connections_.lower_bound(end); at != connections_.end() && at->first == end;
       ++at) {
    if (end.channel.vci == 0xFFFF) return std::nullopt;
    ++end.channel.vci;
  }
  return end.channel;
}

void CellSwitch::take(std::size_t port, const CellRun& run) {
  const SwitchEnd from{.port = port, .channel = run.header.channel};
  const auto at = connections_.find(from);
  if (at == connections_.end()) {
    counters_.add_in_turn(SwitchCounter::kNoConnection, run.count);
    return;
  }
  if (run.header.payload_type == kOamSegment) {
    end_segment(from, run);
    return;
  }
  for (std::size_t cell = 0; cell < run.count; ++cell)
    enqueue(at->second, run.header, run.payload(cell));
}

void CellSwitch::enqueue(const SwitchEnd& to, CellHeader header, Bytes payload) {
  std::deque<Cell>& queue = ports_[to.port].queue;
  if (queue.size() >= options_.queue) {
    counters_.add_in_turn(SwitchCounter::kDroppedFull);
    return;
  }
  if (header.low_priority && queue.size() >= options_.low_priority) {
    counters_.add_in_turn(SwitchCounter::kDroppedLowPriority);
    return;
  }
  if (header.is_user_data() && queue.size() >= options_.mark_at) {
    counters_.add_in_turn(SwitchCounter::kMarked);
    header.payload_type |= kCongested;
  }
  header.gfc = 0;
  header.channel = to.channel;
  Cell& cell = queue.emplace_back();
  write_header(header, cell);
  std::ranges::copy(payload, cell.begin() + kHeaderSize);
  counters_.add_in_turn(SwitchCounter::kForwarded);
}

// The segment between a user and the switch ends here (I.610, 9.2.1.3).
void CellSwitch::end_segment(const SwitchEnd& from, const CellRun& run) {
  counters_.add_in_turn(SwitchCounter::kSegmentEnded, run.count);
  for (std::size_t i = 0; i < run.count; ++i) {
    const std::optional<OamCell> cell = read_oam(run.payload(i));
    if (!cell || !cell->loopback || !cell->loopback->to_be_looped) continue;
    OamLoopback back = *cell->loopback;
    back.to_be_looped = false;
    enqueue(from, {.payload_type = kOamSegment}, write_oam(back));
  }
}

std::size_t CellSwitch::put_cells(std::size_t port, MutableBytes cells) {
  std::deque<Cell>& queue = ports_[port].queue;
  const std::size_t count = std::min(queue.size(), cells.size() / kCellSize);
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::copy(queue.front(), cells.subspan(i * kCellSize).begin());
    queue.pop_front();
  }
  return count;
}

void CellSwitch::advance(Time now) {
  if (now < alarms_at_) return;
  alarms_at_ = now + 1s;
  const OamPayload alarm = write_oam(OamFunction::kAlarm);
  for (const auto& [from, to] : connections_) {
    if (!ports_[from.port].cut) continue;
    counters_.add_in_turn(SwitchCounter::kAlarmsSent);
    enqueue(to, {.payload_type = kOamEndToEnd}, alarm);
  }
}

}  // namespace weft::wan::atm
