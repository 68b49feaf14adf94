// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/time.h"
#include "service/firewall/match_key.h"
#include "service/firewall/state.h"

namespace weft::service::firewall {

// What goes both ways between two parties without a connection of InfiniBand: datagrams between two
// queue pairs, IP inside datagrams and frames. A flow begins with a packet that rules have
// accepted, and is established when something has come back. Also remembered, for a short time:
// fragments of IP and parts of frames of which the first one was let through.
class Flows {
 public:
  struct Limits {
    std::size_t most = 65'536;
    Duration unanswered = 30s;
    Duration answered = 300s;
    Duration answered_tcp = 3600s;
    Duration fragments = 30s;
  };
  struct Id {
    Wide from{};
    Wide to{};
    std::uint32_t from_port = 0;
    std::uint32_t to_port = 0;
    std::uint16_t partition = 0;
    std::uint8_t kind = 0;
    bool global = false;
    friend bool operator==(const Id&, const Id&) = default;
    [[nodiscard]] Id reversed() const {
      Id out = *this;
      out.from = to;
      out.to = from;
      out.from_port = to_port;
      out.to_port = from_port;
      return out;
    }
  };
  // Values of Id::kind beside the protocols of IP.
  static constexpr std::uint8_t kDatagrams = 255;  // between queue pairs
  static constexpr std::uint8_t kFragments = 254;
  static constexpr std::uint8_t kParts = 253;

  struct Found {
    ConnectionState state = ConnectionState::fresh;
    FlowDirection direction = FlowDirection::original;
    Doubt doubt = Doubt::none;
  };

  explicit Flows(const Limits& limits) : limits_(limits) {}

  [[nodiscard]] Found find(const Id& id, Time now);
  // Whether the beginning of it was let through.
  [[nodiscard]] bool has_begun(const Id& id, Time now);
  // What other instances are to be told of a flow: that it has begun, was answered, or is in use
  // still. The key is that of what it began with, and stays until the flow is changed.
  struct News {
    Id id{};
    bool answered = false;
    const MatchKey* request = nullptr;
  };
  // A packet of it was let through. Of the first one, `request` is what rules saw; nullptr: of
  // fragments and parts, of which nobody is told.
  std::optional<News> pass(const Id& id, const MatchKey* request, Time now);
  // As another instance has said it. A flow is forgotten here when nothing has been said of it for
  // as long as one is that has been silent.
  void restore(const Id& id, bool answered, const MatchKey& request, Time now);
  // All of which others are told.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [id, entry] : table_)
      if (entry.request) visit(News{id, entry.answered, entry.request.get()});
  }
  // Forgets some of what has been silent for too long: call it now and then.
  void expire(Time now);
  // Forgets those of which `keep` says no of what they began with, and all fragments and parts.
  template <class Keep>
  void review(Keep keep) {
    for (auto entry = table_.begin(); entry != table_.end();) {
      const auto here = entry++;
      if (!here->second.request || !keep(*here->second.request)) erase(here);
    }
  }

  [[nodiscard]] std::size_t size() const { return table_.size(); }
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

 private:
  struct Hash {
    std::size_t operator()(const Id& id) const {
      std::uint64_t hash = mix(id.from.high, id.from.low);
      hash = mix(mix(hash, id.to.high), id.to.low);
      hash = mix(hash, std::uint64_t{id.from_port} << 32 | id.to_port);
      return mix(hash, std::uint64_t{id.partition} << 16 | std::uint64_t{id.kind} << 1 |
                           (id.global ? 1 : 0));
    }
  };
  struct Entry {
    Time last{};
    Time told{};  // others
    bool answered = false;
    std::unique_ptr<MatchKey> request;
    std::list<Id>::iterator place;  // in one of the two orders
  };
  using Table = std::unordered_map<Id, Entry, Hash>;

  [[nodiscard]] Duration patience(const Id& id, bool answered) const;
  // An entry that has not been silent for too long.
  [[nodiscard]] Table::iterator living(const Id& id, Time now);
  void erase(Table::iterator entry);
  // A flow of which nobody knows; false: there is no room.
  bool add(const Id& id, const MatchKey* request, Time now);
  void touch(Table::iterator entry, bool answered, Time now);
  void expire_oldest(std::list<Id>& order, Time now);

  Limits limits_;
  Table table_;
  // Of their last packets, the oldest first: whoever has not been answered goes first.
  std::list<Id> unanswered_;
  std::list<Id> answered_;
  std::uint64_t evicted_ = 0;
};

}  // namespace weft::service::firewall
