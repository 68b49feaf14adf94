// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/connections.h"

#include <algorithm>
#include <cassert>

#include "wire/cm_path.h"

namespace weft::service::firewall {
namespace {

using wire::CmMessage;

constexpr std::uint32_t kSweptAtOnce = 1024;

bool is_request(CmMessage message) {
  return message == CmMessage::kReq || message == CmMessage::kSidrReq;
}

bool of_sidr(CmMessage message) {
  return message == CmMessage::kSidrReq || message == CmMessage::kSidrRep;
}

bool has_partition(const ConnectionEnd& end, PKey pkey) {
  return end.partitions[0] == partition_of(pkey) || end.partitions[1] == partition_of(pkey);
}

bool same_transport(wire::CmTransport made_for, wire::Transport transport) {
  switch (made_for) {
    case wire::CmTransport::kRc:
      return transport == wire::Transport::rc;
    case wire::CmTransport::kUc:
      return transport == wire::Transport::uc;
    case wire::CmTransport::kXrc:
      return transport == wire::Transport::xrc;
    case wire::CmTransport::kRd:
      return false;  // nothing is known of its end-to-end contexts
  }
  return false;
}

constexpr Lid kPermissive{wire::CmPath::kPermissiveLid};

// Whether both may be of one subnet, in which LIDs say who is who. Link-local GIDs are of any
// subnet (IBA 4.1.1).
bool may_share_subnet(const Gid& one, const Gid& other) {
  const auto of_any = [](const Gid& gid) { return gid.is_zero() || gid.is_link_local(); };
  return of_any(one) || of_any(other) || Wide(one).high == Wide(other).high;
}

Connections::Found refused(Doubt doubt) {
  return {.state = ConnectionState::invalid,
          .direction = FlowDirection::original,
          .doubt = doubt,
          .connection = Connections::kNone};
}

}  // namespace

Connections::MessageId Connections::message_id(const Connection& connection) {
  return {connection.active.party, connection.active.comm_id.value(), connection.sidr};
}

std::array<Connections::DataId, 2> Connections::data_ids(const Connection& connection,
                                                         FlowDirection direction) {
  const bool original = direction == FlowDirection::original;
  const ConnectionEnd& from = original ? connection.active : connection.passive;
  const ConnectionEnd& to = original ? connection.passive : connection.active;
  const std::uint32_t qpn = to.qpn.value();
  const Wide from_gid(from.gid);
  const Wide to_gid(to.gid);
  const DataId by_gids{from_gid, to_gid, qpn, true, connection.sidr};
  // Between subnets all data has a GRH, and two ends of different ones may have the same LID.
  if (!may_share_subnet(from.gid, to.gid)) return {by_gids, DataId{}};
  const Wide from_lid(from.lid.value());
  const Wide to_lid = to.party.global ? Wide(to.lid.value()) : to.party.address;
  return {by_gids, DataId{from_lid, to_lid, qpn, false, connection.sidr}};
}

Connections::Found Connections::find_message(const Fields& fields, Time now) {
  // IBA 16.7.1: from QP1 to QP1, with its Q_Key. No program may send so.
  if (fields.dest_qp != kQp1 || fields.source_qp != kQp1 || fields.qkey != kGsiQKey) {
    return refused(Doubt::cm_forged);
  }
  return is_request(fields.cm.message) ? find_request(fields, now) : find_answer(fields, now);
}

// Who asks for a connection asks for itself: the LID and GID in a REQ are those of the packet. On a
// path with a GRH the LID is that of the permissive one, and the packet's counts (IBA 12.6.5).
Connections::Found Connections::find_request(const Fields& fields, Time now) {
  const CmFields& cm = fields.cm;
  if (cm.message == CmMessage::kReq) {
    const bool own_lid = cm.primary_local_lid == fields.slid ||
                         (fields.global && cm.primary_local_lid == kPermissive);
    const bool own_gid = !fields.global || cm.primary_local_gid == fields.sgid;
    if (!own_lid || !own_gid) return refused(Doubt::cm_forged);
  }
  if (fields.slid == Lid{} || fields.slid.value() >= 0xC000) return refused(Doubt::cm_forged);
  Found out{.state = ConnectionState::fresh,
            .direction = FlowDirection::original,
            .doubt = Doubt::none,
            .connection = kNone};
  const MessageId id{sender_of(fields), cm.local_comm_id.value(), of_sidr(cm.message)};
  if (const auto known = by_message_.find(id); known != by_message_.end()) {
    Connection& connection = table_[known->second];
    if (silent(connection, now)) {
      forget(known->second);
    } else {
      // Sent again, or another exchange under a number that is taken: not in place of a connection
      // that stands.
      const bool same = connection.active.qpn == cm.local_qp &&
                        connection.active.lid == fields.slid &&
                        connection.passive.party == receiver_of(fields);
      const bool half_open = connection.phase == Phase::asked;
      if (!same && !half_open) return refused(Doubt::cm_forged);
      out.connection = same ? known->second : kNone;
    }
  }
  const bool room = size_ < limits_.most || !half_open_.empty();
  if (out.connection == kNone && !room) return refused(Doubt::table_full);
  return out;
}

Connections::Found Connections::find_answer(const Fields& fields, Time now) {
  const CmFields& cm = fields.cm;
  const bool sidr = of_sidr(cm.message);
  struct Side {
    MessageId id;
    FlowDirection direction;
  };
  // From whoever was asked, or, but for REP and SIDR_REP, from whoever asked.
  const std::uint32_t of_asker = sidr ? cm.local_comm_id.value() : cm.remote_comm_id.value();
  const std::array<Side, 2> sides{
      {{{receiver_of(fields), of_asker, sidr}, FlowDirection::reply},
       {{sender_of(fields), cm.local_comm_id.value(), sidr}, FlowDirection::original}}};
  for (const Side& side : sides) {
    const auto known = by_message_.find(side.id);
    if (known == by_message_.end()) continue;
    if (silent(table_[known->second], now)) {
      forget(known->second);
      continue;
    }
    const Found found = judge_answer(fields, known->second, side.direction);
    if (found.state == ConnectionState::established) return found;
  }
  return refused(Doubt::cm_unknown);
}

// Whether a message comes from the end that it would have to come from, and names the exchange as
// both ends do.
Connections::Found Connections::judge_answer(const Fields& fields, std::uint32_t place,
                                             FlowDirection direction) {
  const CmFields& cm = fields.cm;
  const Connection& connection = table_[place];
  const bool reply = direction == FlowDirection::reply;
  const ConnectionEnd& from = reply ? connection.passive : connection.active;
  const ConnectionEnd& to = reply ? connection.active : connection.passive;
  const bool answered = connection.phase != Phase::asked;
  if (from.party != sender_of(fields)) return refused(Doubt::cm_unknown);
  const bool lid_known = !reply || answered;
  if (lid_known && from.lid != fields.slid) return refused(Doubt::cm_unknown);
  const bool answers = cm.message == CmMessage::kRep || cm.message == CmMessage::kSidrRep;
  if (answers && !reply) return refused(Doubt::cm_unknown);
  if (cm.message == CmMessage::kRep && answered &&
      (cm.local_qp != connection.passive.qpn || cm.local_comm_id != connection.passive.comm_id)) {
    return refused(Doubt::cm_unknown);
  }
  // Before it has answered, nobody knows what the one asked calls the exchange; a REJ of a REQ may
  // have no number at all (IBA 12.6.7).
  if (answered && !connection.sidr && !answers) {
    const bool names_both = cm.local_comm_id == from.comm_id && cm.remote_comm_id == to.comm_id;
    if (!names_both) return refused(Doubt::cm_unknown);
  }
  const bool needs_answer = cm.message == CmMessage::kRtu || cm.message == CmMessage::kDreq ||
                            cm.message == CmMessage::kDrep || cm.message == CmMessage::kLap ||
                            cm.message == CmMessage::kApr;
  if (needs_answer && !answered) return refused(Doubt::cm_unknown);
  // IBA 12.6.10: so that an old message cannot end a new connection.
  if (cm.message == CmMessage::kDreq && cm.remote_qp != to.qpn) return refused(Doubt::cm_unknown);
  return {.state = ConnectionState::established,
          .direction = direction,
          .doubt = Doubt::none,
          .connection = place};
}

Connections::DataPlace Connections::place_of(const Fields& fields) const {
  const bool datagram = fields.transport == wire::Transport::ud;
  const Wide from = sender_of(fields).address;
  const Wide to = receiver_of(fields).address;
  const auto known =
      by_data_.find(DataId{from, to, fields.dest_qp.value(), fields.global, datagram});
  if (known != by_data_.end()) return known->second;
  if (!datagram) return {};
  // Back from the queue pair that a SIDR_REP has told, to any of whoever asked.
  const auto back =
      by_data_.find(DataId{to, from, fields.source_qp.value(), fields.global, datagram});
  if (back == by_data_.end()) return {};
  return {back->second.place, FlowDirection::reply};
}

Connections::Found Connections::find_data(const Fields& fields, Time now) {
  const DataPlace known = place_of(fields);
  if (known.place == kNone) return {};
  Connection& connection = table_[known.place];
  if (silent(connection, now)) {
    forget(known.place);
    return {};
  }
  const bool original = known.direction == FlowDirection::original;
  const ConnectionEnd& from = original ? connection.active : connection.passive;
  Doubt doubt = Doubt::none;
  if (from.lid != fields.slid) {
    doubt = Doubt::source_lid;
  } else if (!has_partition(from, fields.pkey)) {
    doubt = Doubt::partition;
  } else if (connection.sidr) {
    if (original && fields.qkey != connection.qkey) doubt = Doubt::qkey;
  } else if (!same_transport(connection.transport, fields.transport)) {
    doubt = Doubt::transport;
  }
  return {.state = doubt == Doubt::none ? ConnectionState::established : ConnectionState::invalid,
          .direction = known.direction,
          .doubt = doubt,
          .connection = known.place};
}

bool Connections::silent(Connection& connection, Time now) {
  Duration patience = limits_.idle;
  if (connection.phase == Phase::closing) patience = limits_.closing;
  if (connection.phase == Phase::asked || connection.phase == Phase::answered) {
    patience = limits_.half_open;
  }
  if (connection.last + patience >= now) return false;
  if (connection.phase == Phase::closing || !owner_.busy(connection)) return true;
  connection.last = now;
  return false;
}

void Connections::expire(Time now) {
  const auto places = static_cast<std::uint32_t>(table_.size());
  for (std::uint32_t i = 0; i < std::min(kSweptAtOnce, places); ++i) {
    swept_ = swept_ + 1 < places ? swept_ + 1 : 0;
    if (table_[swept_].used && silent(table_[swept_], now)) forget(swept_);
  }
}

}  // namespace weft::service::firewall
