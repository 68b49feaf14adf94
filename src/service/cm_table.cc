// SPDX-License-Identifier: Apache-2.0
#include "service/cm_table.h"

#include <utility>

namespace weft::service {

using State = CmConnection::State;

CmConnection* CmTable::request(const Gid& from, wire::CommId id, const Gid& to, bool sidr,
                               Time now) {
  const Key key{from, to, id, sidr};
  if (const auto found = connections_.find(key); found != connections_.end()) {
    // Of one that has ended the ID may be used again.
    if (found->second.connection.state != State::kClosing) return &found->second.connection;
    connections_.erase(found);
    count_gone(to);
  }
  if (connections_.size() >= options_.connections) return nullptr;
  std::size_t& waiting = unanswered_[from];
  if (waiting >= options_.unanswered_each) return nullptr;
  ++waiting;
  ++responders_[to];
  Entry& entry = connections_[key];
  entry.serial = ++last_serial_;
  entry.connection = {.requester = from,
                      .responder = to,
                      .requester_id = id,
                      .state = sidr ? State::kSidr : State::kRequested};
  waiting_.push({.until = now + options_.patience, .key = key, .serial = entry.serial});
  return &entry.connection;
}

CmConnection* CmTable::find(const Gid& from, wire::CommId own, const Gid& to, wire::CommId other) {
  // From the requester.
  if (const auto found = connections_.find({from, to, own, false}); found != connections_.end()) {
    CmConnection& connection = found->second.connection;
    const bool known = connection.state != State::kRequested;
    if (known ? connection.responder_id == other : other == wire::CommId{}) return &connection;
  }
  // From the responder, which says the requester's ID, and its own one unless it rejects.
  if (const auto found = connections_.find({to, from, other, false}); found != connections_.end()) {
    CmConnection& connection = found->second.connection;
    const bool first = connection.state == State::kRequested;
    if (first || own == connection.responder_id) return &connection;
  }
  return nullptr;
}

void CmTable::count_answered(const Gid& requester) {
  const auto found = unanswered_.find(requester);
  if (found != unanswered_.end() && --found->second == 0) unanswered_.erase(found);
}

void CmTable::count_gone(const Gid& responder) {
  const auto found = responders_.find(responder);
  if (found != responders_.end() && --found->second == 0) responders_.erase(found);
}

void CmTable::answered(CmConnection& connection) {
  if (is_answered(connection)) return;
  connection.state = State::kReplied;
  count_answered(connection.requester);
}

void CmTable::close(CmConnection& connection, Time when) {
  answered(connection);
  connection.state = State::kClosing;
  const Key key = key_of(connection);
  Entry& entry = connections_.find(key)->second;
  if (entry.closes_at && *entry.closes_at <= when) return;
  entry.closes_at = when;
  waiting_.push({.until = when, .key = key, .serial = entry.serial, .closing = true});
}

CmConnection* CmTable::find_sidr(const Gid& from, const Gid& to, wire::CommId id) {
  const auto found = connections_.find({to, from, id, true});
  return found == connections_.end() ? nullptr : &found->second.connection;
}

bool CmTable::restore(const CmConnection& connection, Time close_at) {
  if (!is_answered(connection)) return false;
  const Key key = key_of(connection);
  const auto found = connections_.find(key);
  if (found == connections_.end() && connections_.size() >= options_.connections) return false;
  if (found != connections_.end() && !is_answered(found->second.connection)) {
    count_answered(connection.requester);
  }
  if (found == connections_.end()) ++responders_[connection.responder];
  Entry& entry = connections_[key];
  // One that goes on, or another one of the same ID, does not end when that before was to.
  const bool ends = connection.state == State::kClosing;
  if (entry.serial == 0 || !ends) {
    entry.serial = ++last_serial_;
    entry.closes_at.reset();
  }
  entry.connection = connection;
  if (ends) close(entry.connection, close_at);
  return true;
}

void CmTable::remove(const CmConnection& connection) {
  const auto found = connections_.find(key_of(connection));
  if (found == connections_.end()) return;
  if (!is_answered(found->second.connection)) count_answered(connection.requester);
  count_gone(connection.responder);
  connections_.erase(found);
}

}  // namespace weft::service
