// SPDX-License-Identifier: Apache-2.0
// The connections that rules have permitted, learned from the messages that make them: REQ, REP and
// what follows for connected queue pairs, SIDR_REQ and SIDR_REP for datagrams to a service (IBA
// 12).
//
//   REQ accepted      asked         no data yet
//   REP accepted      answered      both queue pair numbers are known: data may flow
//   RTU, or data      established
//   DREQ accepted     closing       what is under way may still come
//   DREP, REJ, time   forgotten
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "service/firewall/match_key.h"
#include "service/firewall/state.h"
#include "wire/cm_values.h"

namespace weft::service::firewall {

enum class Phase : std::uint8_t { asked, answered, established, closing };

struct ConnectionEnd {
  Party party{};  // as the messages of the connection manager have it
  Lid lid{};      // that it sends from
  Gid gid{};      // zero: not known
  Qpn qpn{};
  wire::CommId comm_id{};
  // That its packets may have: of the REQ, and of its own messages.
  std::array<std::uint16_t, 2> partitions{};
  std::uint32_t message_bytes = 0;  // of a SEND of several packets, so far
  bool in_frame = false;  // of a frame of the LAN in several packets, the first was let through
};

struct Connection {
  bool used = false;
  bool sidr = false;
  Phase phase = Phase::asked;
  std::uint32_t tag = 0;  // another one for whoever has this place next
  wire::CmTransport transport{};
  QKey qkey{};  // of SIDR: what datagrams to the service need
  ConnectionEnd active{};
  ConnectionEnd passive{};
  MatchKey request{};                   // as rules saw what asked for it
  std::vector<std::byte> private_data;  // of that
  std::vector<std::uint32_t> tallies;   // the owner's
  Time last{};
  std::list<std::uint32_t>::iterator half_open;  // while it is asked or answered
};

class Connections {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Limits {
    std::size_t most = 65'536;
    std::size_t most_half_open = 32'768;  // asked or answered; at most `most`
    Duration half_open = 60s;  // longer than a CM tries (IBA 12.9.8: 15 times 2^n * 4.096 us)
    Duration idle = 24h;
    Duration closing = 10s;
  };
  struct Found {
    ConnectionState state = ConnectionState::untracked;
    FlowDirection direction = FlowDirection::original;
    Doubt doubt = Doubt::no_connection;
    std::uint32_t connection = kNone;
  };
  // Who is told that verdicts about a connection's packets count no more, and asked whether any
  // have gone by unseen.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void gone(Connection& connection) = 0;
    // Whether packets have gone by since it was asked last.
    virtual bool busy(Connection& connection) = 0;
  };

  Connections(const Limits& limits, Owner& owner) : limits_(limits), owner_(owner) {}

  // Where a packet belongs; `fields` has `cm`, is of a connected transport, or of UD.
  [[nodiscard]] Found find_message(const Fields& fields, Time now);
  [[nodiscard]] Found find_data(const Fields& fields, Time now);

  // A message was let through that find_message() has found. Of what asks for a connection, the
  // place of the connection.
  std::uint32_t pass_message(const Fields& fields, const Found& found, const MatchKey& key,
                             Bytes private_data, Time now);
  void pass_data(const Found& found, Time now);

  // As another instance has it. One that is known here already stays as it is.
  void restore(Connection said, Time now);

  [[nodiscard]] Connection& at(std::uint32_t place) { return table_[place]; }
  // Looks at some of the table for what has been silent for too long: call it now and then.
  void expire(Time now);
  void forget(std::uint32_t place);
  void clear();

  template <class Visit>
  void for_each(Visit visit) {
    for (std::uint32_t place = 0; place < table_.size(); ++place) {
      if (table_[place].used) visit(place, table_[place]);
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Connection& connection : table_) {
      if (connection.used) visit(connection);
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t half_open() const { return half_open_.size(); }
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

 private:
  // Who asked, and what it calls the exchange.
  struct MessageId {
    Party active{};
    std::uint32_t comm_id = 0;
    bool sidr = false;
    friend bool operator==(const MessageId&, const MessageId&) = default;
  };
  struct DataId {
    Wide from{};
    Wide to{};
    std::uint32_t qpn = 0;
    bool global = false;
    bool sidr = false;
    friend bool operator==(const DataId&, const DataId&) = default;
  };
  struct Hash {
    std::size_t operator()(const MessageId& id) const {
      return mix(mix(mix(id.active.address.high, id.active.address.low), id.comm_id),
                 (id.sidr ? 2u : 0u) | (id.active.global ? 1u : 0u));
    }
    std::size_t operator()(const DataId& id) const {
      std::uint64_t hash = mix(id.from.high, id.from.low);
      hash = mix(mix(hash, id.to.high), id.to.low);
      return mix(hash, std::uint64_t{id.qpn} << 2 | (id.sidr ? 2u : 0u) | (id.global ? 1u : 0u));
    }
  };
  struct DataPlace {
    std::uint32_t place = kNone;
    FlowDirection direction = FlowDirection::original;
  };

  [[nodiscard]] Found find_request(const Fields& fields, Time now);
  [[nodiscard]] Found find_answer(const Fields& fields, Time now);
  [[nodiscard]] Found judge_answer(const Fields& fields, std::uint32_t place,
                                   FlowDirection direction);
  [[nodiscard]] DataPlace place_of(const Fields& fields) const;
  std::uint32_t begin(const Fields& fields, const MatchKey& key, Bytes private_data, Time now);
  // In a place of its own; kNone: there is none left.
  std::uint32_t add(Connection made, Time now);
  void learn_answer(std::uint32_t place, const Fields& fields, Time now);
  void learn_ends(std::uint32_t place);
  void become(std::uint32_t place, Phase phase, Time now);
  [[nodiscard]] bool silent(Connection& connection, Time now);
  [[nodiscard]] static MessageId message_id(const Connection& connection);
  // Under which its data may come, in one direction.
  [[nodiscard]] static std::array<DataId, 2> data_ids(const Connection& connection,
                                                      FlowDirection direction);

  Limits limits_;
  Owner& owner_;
  std::deque<Connection> table_;
  std::vector<std::uint32_t> free_;
  std::list<std::uint32_t> half_open_;  // the oldest first
  std::unordered_map<MessageId, std::uint32_t, Hash> by_message_;
  std::unordered_map<DataId, DataPlace, Hash> by_data_;
  std::size_t size_ = 0;
  std::uint32_t next_tag_ = 1;
  std::uint32_t swept_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace weft::service::firewall
