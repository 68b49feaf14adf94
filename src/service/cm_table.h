// SPDX-License-Identifier: Apache-2.0
// What a service has seen of connections being made and ended, IBA 12.9: which answers belong to a
// request that it has let through, and which queue pairs of the map are of one connection.
//
//            REQ              REP                RTU
//   (none) ------> kRequested ----> kReplied ----------> kEstablished
//                      | REJ           | REJ                 | DREQ
//                      v               v                     v  DREP
//                   (none)          (none)               kClosing ----> (none), by QpMap's
//                   time_wait
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "wire/cm_values.h"

namespace weft::service {

struct CmConnection {
  enum class State : std::uint8_t { kRequested, kReplied, kEstablished, kClosing, kSidr };

  Gid requester{};
  Gid responder{};
  wire::CommId requester_id{};  // or the request ID of a SIDR exchange
  wire::CommId responder_id{};
  State state = State::kRequested;
  Qpn requester_number{};  // in the map, of the queue pair of the one as the other sees it
  Qpn responder_number{};
};

class CmTable {
 public:
  struct Options {
    std::size_t connections = 65'536;
    std::size_t unanswered_each = 256;  // requests of one end that nobody has answered
    Duration patience = 30s;            // for an answer
  };
  explicit CmTable(const Options& options) : options_(options) {}

  // A request: the same again if it was seen before. nullptr: there is no room, or too many of this
  // end wait. Established connections never give way.
  CmConnection* request(const Gid& from, wire::CommId id, const Gid& to, bool sidr, Time now);
  // Whether a request is there that nobody has answered.
  [[nodiscard]] bool awaits(const Gid& from, wire::CommId id, const Gid& to, bool sidr) const {
    const auto found = connections_.find({from, to, id, sidr});
    return found != connections_.end() && !is_answered(found->second.connection);
  }
  // How many there are that this end was asked for, in whatever state.
  [[nodiscard]] std::size_t size_of(const Gid& responder) const {
    const auto found = responders_.find(responder);
    return found == responders_.end() ? 0 : found->second;
  }
  // What a message of `from` to `to` belongs to, by the ID of each; a message may leave its own out
  // (REJ of a request that was not read). nullptr: to nothing that was seen.
  [[nodiscard]] CmConnection* find(const Gid& from, wire::CommId own, const Gid& to,
                                   wire::CommId other);
  // Of a SIDR exchange, an answer of `from` to the request of `to`.
  [[nodiscard]] CmConnection* find_sidr(const Gid& from, const Gid& to, wire::CommId id);
  // It is answered (REP): it may stay.
  void answered(CmConnection& connection);
  // It has ended, or is about to: it is gone at `when`, or when it was said before, if sooner.
  void close(CmConnection& connection, Time when);
  void remove(const CmConnection& connection);
  // As another instance has it, from its REP on; one that is closing is gone at `close_at`. False:
  // there is no room.
  bool restore(const CmConnection& connection, Time close_at);
  template <class Each>
  void for_each(Each&& each) const {
    for (const auto& [key, entry] : connections_)
      each(entry.connection);
  }

  // Calls gone(connection) for requests that nobody has answered in time, and what has been closed.
  template <class Gone>
  void run(Time now, Gone&& gone) {
    while (!waiting_.empty() && waiting_.top().until <= now) {
      const Waiting due = waiting_.top();
      waiting_.pop();
      const auto found = connections_.find(due.key);
      if (found == connections_.end() || found->second.serial != due.serial) continue;
      if (is_answered(found->second.connection) && !due.closing) continue;
      gone(found->second.connection);
      remove(CmConnection(found->second.connection));
    }
  }
  [[nodiscard]] std::optional<Time> deadline() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.top().until);
  }
  [[nodiscard]] std::size_t size() const { return connections_.size(); }
  // Times that are waited for, of which there are a few for each connection at most.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Key {
    Gid requester{};
    Gid responder{};
    wire::CommId id{};
    bool sidr = false;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      const std::uint64_t sum = std::hash<Gid>{}(key.requester) * 0x9E37'79B9'7F4A'7C15;
      return (sum ^ std::hash<Gid>{}(key.responder)) * 0x94D0'49BB'1331'11EB + key.id.value() +
             (key.sidr ? 1 : 0);
    }
  };
  struct Entry {
    CmConnection connection;
    std::uint64_t serial = 0;
    std::optional<Time> closes_at{};  // once it is to: there is a place in waiting_ for that
  };
  struct Waiting {
    Time until{};
    Key key{};
    std::uint64_t serial = 0;
    bool closing = false;
    [[nodiscard]] bool operator>(const Waiting& other) const {
      return until != other.until ? until > other.until : serial > other.serial;
    }
  };
  [[nodiscard]] static bool is_answered(const CmConnection& connection) {
    return connection.state != CmConnection::State::kRequested &&
           connection.state != CmConnection::State::kSidr;
  }
  [[nodiscard]] static Key key_of(const CmConnection& connection) {
    return {connection.requester, connection.responder, connection.requester_id,
            connection.state == CmConnection::State::kSidr};
  }
  void count_answered(const Gid& requester);
  void count_gone(const Gid& responder);

  const Options options_;
  std::unordered_map<Key, Entry, KeyHash> connections_;
  std::unordered_map<Gid, std::size_t> unanswered_;
  std::unordered_map<Gid, std::size_t> responders_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::uint64_t last_serial_ = 0;
};

}  // namespace weft::service
