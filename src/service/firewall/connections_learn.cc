// SPDX-License-Identifier: Apache-2.0
// What is learned from messages that rules have let through.
#include <algorithm>
#include <cassert>
#include <utility>

#include "service/firewall/connections.h"

namespace weft::service::firewall {
namespace {

using wire::CmMessage;

}  // namespace

std::uint32_t Connections::pass_message(const Fields& fields, const Found& found,
                                        const MatchKey& key, Bytes private_data, Time now) {
  const CmMessage message = fields.cm.message;
  if (message == CmMessage::kReq || message == CmMessage::kSidrReq) {
    if (found.connection != kNone) return found.connection;  // sent again
    return begin(fields, key, private_data, now);
  }
  if (found.connection == kNone) return kNone;
  const std::uint32_t place = found.connection;
  Connection& connection = table_[place];
  if (connection.phase != Phase::closing) connection.last = now;
  switch (message) {
    case CmMessage::kRep:
      if (connection.phase == Phase::asked) learn_answer(place, fields, now);
      break;
    case CmMessage::kSidrRep:
      if (fields.cm.reason != 0) {  // IBA 12.11.1.4: any status but "valid"
        forget(place);
        return kNone;
      }
      if (connection.phase == Phase::asked) learn_answer(place, fields, now);
      break;
    case CmMessage::kRtu:
      if (connection.phase == Phase::answered) become(place, Phase::established, now);
      break;
    case CmMessage::kDreq:
      become(place, Phase::closing, now);
      break;
    case CmMessage::kRej:
    case CmMessage::kDrep:
      forget(place);
      return kNone;
    default:
      break;
  }
  return place;
}

std::uint32_t Connections::begin(const Fields& fields, const MatchKey& key, Bytes private_data,
                                 Time now) {
  const CmFields& cm = fields.cm;
  const bool sidr = cm.message == CmMessage::kSidrReq;
  // Another exchange of the same number that has not been answered goes: its maker has given it up.
  const MessageId id{sender_of(fields), cm.local_comm_id.value(), sidr};
  if (const auto known = by_message_.find(id); known != by_message_.end()) forget(known->second);
  Connection made;
  made.sidr = sidr;
  made.transport = cm.transport;
  made.active.party = sender_of(fields);
  made.active.lid = fields.slid;
  made.active.gid = fields.global ? fields.sgid : cm.primary_local_gid;
  made.active.qpn = cm.local_qp;
  made.active.comm_id = cm.local_comm_id;
  made.active.partitions = {partition_of(cm.pkey), partition_of(fields.pkey)};
  made.passive.party = receiver_of(fields);
  made.passive.gid = fields.global ? fields.dgid : cm.primary_remote_gid;
  made.passive.partitions = {partition_of(cm.pkey), partition_of(cm.pkey)};
  made.request = key;
  made.private_data.assign(private_data.begin(), private_data.end());
  return add(std::move(made), now);
}

std::uint32_t Connections::add(Connection made, Time now) {
  const bool half_open = made.phase == Phase::asked || made.phase == Phase::answered;
  const bool full = half_open && half_open_.size() >= limits_.most_half_open;
  if (size_ >= limits_.most || full) {
    if (half_open_.empty()) return kNone;
    forget(half_open_.front());
    ++evicted_;
  }
  std::uint32_t place = 0;
  if (free_.empty()) {
    place = static_cast<std::uint32_t>(table_.size());
    table_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  made.used = true;
  made.tag = next_tag_++;
  made.last = now;
  if (half_open) {
    half_open_.push_back(place);
    made.half_open = std::prev(half_open_.end());
  }
  by_message_.emplace(message_id(made), place);
  table_[place] = std::move(made);
  ++size_;
  return place;
}

void Connections::restore(Connection said, Time now) {
  if (by_message_.contains(message_id(said))) return;
  const bool answered = said.phase != Phase::asked;
  const std::uint32_t place = add(std::move(said), now);
  if (place != kNone && answered) learn_ends(place);
}

void Connections::learn_answer(std::uint32_t place, const Fields& fields, Time now) {
  Connection& connection = table_[place];
  connection.passive.lid = fields.slid;
  connection.passive.qpn = fields.cm.local_qp;
  connection.passive.comm_id = fields.cm.local_comm_id;
  connection.passive.partitions[1] = partition_of(fields.pkey);
  connection.qkey = fields.cm.qkey;
  if (fields.global) connection.passive.gid = fields.sgid;
  learn_ends(place);
  become(place, connection.sidr ? Phase::established : Phase::answered, now);
}

void Connections::learn_ends(std::uint32_t place) {
  for (const FlowDirection direction : {FlowDirection::original, FlowDirection::reply}) {
    // Datagrams go back to any queue pair of whoever asked: place_of() finds them.
    if (table_[place].sidr && direction == FlowDirection::reply) continue;
    for (const DataId& id : data_ids(table_[place], direction)) {
      if (id.from == Wide{} || id.to == Wide{}) continue;
      // The same queue pair of the same end: it has been made anew, and the older one is stale.
      const auto known = by_data_.find(id);
      if (known != by_data_.end() && known->second.place != place) forget(known->second.place);
      by_data_[id] = {place, direction};
    }
  }
}

void Connections::become(std::uint32_t place, Phase phase, Time now) {
  Connection& connection = table_[place];
  const auto half_open = [](Phase which) {
    return which == Phase::asked || which == Phase::answered;
  };
  if (half_open(connection.phase) && !half_open(phase)) half_open_.erase(connection.half_open);
  connection.phase = phase;
  connection.last = now;
}

void Connections::pass_data(const Found& found, Time now) {
  if (found.connection == kNone) return;
  Connection& connection = table_[found.connection];
  // The passive end may see data before the RTU: whoever sends it has had the REP. Data of the
  // passive end alone proves nothing.
  if (connection.phase == Phase::answered && found.direction == FlowDirection::original) {
    become(found.connection, Phase::established, now);
  }
  if (connection.phase != Phase::closing) connection.last = now;
}

void Connections::forget(std::uint32_t place) {
  Connection& connection = table_[place];
  assert(connection.used);
  owner_.gone(connection);
  by_message_.erase(message_id(connection));
  for (const FlowDirection direction : {FlowDirection::original, FlowDirection::reply}) {
    for (const DataId& id : data_ids(connection, direction)) {
      const auto known = by_data_.find(id);
      if (known != by_data_.end() && known->second.place == place) by_data_.erase(known);
    }
  }
  if (connection.phase == Phase::asked || connection.phase == Phase::answered) {
    half_open_.erase(connection.half_open);
  }
  connection = Connection{};
  free_.push_back(place);
  --size_;
}

void Connections::clear() {
  for (std::uint32_t place = 0; place < table_.size(); ++place) {
    if (table_[place].used) forget(place);
  }
}

}  // namespace weft::service::firewall
