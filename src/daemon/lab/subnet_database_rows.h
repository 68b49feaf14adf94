// SPDX-License-Identifier: Apache-2.0
// What is written to a subnet database, and what is read from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/sqlite.h"
#include "sm/subnet_store.h"

namespace weft::daemon {

// A change of one thing; without a value it is no more. Many wait at a time when a large fabric
// comes up: what is large in them is elsewhere.
struct LidChange {
  Guid port{};
  std::optional<sm::LidRange> lids{};
};
struct GroupChange {
  Gid mgid{};
  bool lasting = false;
  std::unique_ptr<const wire::MemberRecord> like{};  // null: it is no more
};
struct MemberChange {
  Gid mgid{};
  Gid port{};
  std::optional<sm::GroupMember> member{};
};
struct ServiceChange {
  std::unique_ptr<const wire::ServiceRecord> record;
  bool is_there = false;
  std::optional<Duration> ends{};  // on the wall's clock; nothing: never
};
struct SubscriptionChange {
  std::unique_ptr<const sm::SubscriptionState> subscription;
  bool is_there = false;
};
struct AliasChange {
  Guid port{};
  std::uint8_t index = 0;
  Guid guid{};  // 0: it is no more
};
struct NodeChange {
  Duration when{};  // on the wall's clock, as below
  bool is_there = false;
  sm::TopologyNode node;
};
struct LinkChange {
  Duration when{};
  bool is_up = false;
  sm::TopologyLink link;
};
using SubnetChange = std::variant<LidChange, GroupChange, MemberChange, ServiceChange,
                                  SubscriptionChange, AliasChange, NodeChange, LinkChange>;

struct PastEvent {
  Duration when{};
  sm::ManagerEvent what;
};

// A node or link as the history of the topology has it.
struct PastNode {
  sm::TopologyNode node;
  Duration appeared{};
  std::optional<Duration> gone{};  // nothing: it is there
};
struct PastLink {
  sm::TopologyLink link;
  Duration up{};
  std::optional<Duration> down{};
};

// "switch", "router" or "ca".
[[nodiscard]] std::string_view to_string(wire::NodeType type);

struct PastTopology {
  std::vector<PastNode> nodes;
  std::vector<PastLink> links;
};

// Writes to a database whose schema is right.
class SubnetDatabaseWriter {
 public:
  // So many events are kept, and so many nodes and so many links that are gone.
  static constexpr std::size_t kMostEvents = 10'000;
  static constexpr std::size_t kMostPast = 100'000;

  static Expected<SubnetDatabaseWriter> open(Sqlite connection);

  // A transaction. Of one that is not committed, because something in it failed, nothing stays when
  // the writer goes.
  Expected<void> begin();
  Expected<void> commit(Duration now);
  // What was true of a moment before is not known to be true any more: no LIDs, groups, services,
  // subscriptions, additional GUIDs, and nodes and links are gone since when the database was
  // written last.
  Expected<void> clear();
  // All nodes and links that are there are gone.
  Expected<void> end_topology(Duration when);
  Expected<void> write(const SubnetChange& change);
  Expected<void> write(const PastEvent& event);

  [[nodiscard]] Sqlite& connection() { return connection_; }

 private:
  enum Statement : std::uint8_t {
    kPutLid,
    kEraseLid,
    kPutGroup,
    kEraseGroup,
    kEraseMembers,
    kPutMember,
    kEraseMember,
    kPutService,
    kEraseService,
    kPutSubscription,
    kEraseSubscription,
    kPutAlias,
    kEraseAlias,
    kPutNode,
    kEndNode,
    kPutLink,
    kEndLink,
    kPutEvent,
    kWritten,
    kStatements
  };
  explicit SubnetDatabaseWriter(Sqlite connection) : connection_(std::move(connection)) {}
  Expected<void> put(const LidChange& change);
  Expected<void> put(const GroupChange& change);
  Expected<void> put(const MemberChange& change);
  Expected<void> put(const ServiceChange& change);
  Expected<void> put(const SubscriptionChange& change);
  Expected<void> put(const AliasChange& change);
  Expected<void> put(const NodeChange& change);
  Expected<void> put(const LinkChange& change);

  Sqlite connection_;
  std::vector<SqliteStatement> statements_;
  bool has_events_ = false;  // in this transaction
  bool has_past_ = false;
};

struct SubnetDatabaseContents {
  sm::StoredSubnet subnet;
  std::vector<PastEvent> events;  // the oldest first
  std::size_t left_out = 0;       // rows that make no sense
};

// Of a database of this version or an older one. `now`, on the wall's clock, decides whose lease
// has ended.
Expected<SubnetDatabaseContents> read_contents(Sqlite& connection, int version, Duration now);
// The topology and its history: what is there first, then what was there last; at most `most` of
// nodes, and as many links.
Expected<PastTopology> read_topology(Sqlite& connection, std::size_t most);

}  // namespace weft::daemon
