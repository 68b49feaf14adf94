// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>

#include "daemon/lab/subnet_database_rows.h"
#include "fabric/lab.h"

namespace weft::daemon {
namespace {

// In the order of the enumeration.
constexpr std::array kSql{
    "INSERT OR REPLACE INTO lid VALUES (?, ?, ?)",
    "DELETE FROM lid WHERE port_guid = ?",
    "INSERT OR REPLACE INTO multicast_group VALUES (?, ?, ?, ?)",
    "DELETE FROM multicast_group WHERE mgid = ?",
    "DELETE FROM member WHERE mgid = ?",
    "INSERT OR REPLACE INTO member VALUES (?, ?, ?, ?, ?)",
    "DELETE FROM member WHERE mgid = ? AND port_gid = ?",
    "INSERT OR REPLACE INTO service VALUES (?, ?, ?, ?, ?)",
    "DELETE FROM service WHERE service_id = ? AND service_gid = ? AND pkey = ?",
    "INSERT OR REPLACE INTO subscription VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "DELETE FROM subscription WHERE subscriber = ? AND inform_info = ?",
    "INSERT OR REPLACE INTO alias_guid VALUES (?, ?, ?)",
    "DELETE FROM alias_guid WHERE port_guid = ? AND number = ?",
    "INSERT OR IGNORE INTO node (guid, type, description, appeared) VALUES (?, ?, ?, ?)",
    "UPDATE node SET gone = ? WHERE guid = ? AND gone IS NULL",
    "INSERT OR IGNORE INTO link (from_node, from_port, to_node, to_port, up) "
    "VALUES (?, ?, ?, ?, ?)",
    "UPDATE link SET down = ? WHERE from_node = ? AND from_port = ? AND to_node = ? "
    "AND to_port = ? AND down IS NULL",
    "INSERT INTO event (time, kind, text) VALUES (?, ?, ?)",
    "UPDATE life SET written = ?",
};

std::int64_t milliseconds_since_1970(Duration since_1970) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

std::string service_id(const wire::ServiceRecord& record) {
  return fmt::format("{:#018x}", record.id);
}

}  // namespace

std::string_view to_string(wire::NodeType type) {
  switch (type) {
    case wire::NodeType::kSwitch:
      return "switch";
    case wire::NodeType::kRouter:
      return "router";
    default:
      return "ca";
  }
}

Expected<SubnetDatabaseWriter> SubnetDatabaseWriter::open(Sqlite connection) {
  static_assert(kSql.size() == kStatements);
  SubnetDatabaseWriter writer(std::move(connection));
  for (const char* const sql : kSql) {
    auto statement = writer.connection_.prepare(sql);
    if (!statement) return tl::unexpected(statement.error());
    writer.statements_.push_back(std::move(*statement));
  }
  return writer;
}

Expected<void> SubnetDatabaseWriter::begin() {
  has_events_ = false;
  has_past_ = false;
  return connection_.run("BEGIN IMMEDIATE");
}

Expected<void> SubnetDatabaseWriter::commit(Duration now) {
  std::string last;
  const auto trim = [&](std::string_view table, std::string_view which, std::size_t most) {
    last += fmt::format("DELETE FROM {} WHERE {}number <= (SELECT max(number) FROM {}) - {}; ",
                        table, which, table, most);
  };
  if (has_events_) trim("event", "", kMostEvents);
  if (has_past_) {
    trim("node", "gone IS NOT NULL AND ", kMostPast);
    trim("link", "down IS NOT NULL AND ", kMostPast);
  }
  auto done = statements_[kWritten].bind(1, milliseconds_since_1970(now)).run();
  if (done) done = connection_.run(last + "COMMIT");
  return done;
}

// Events that make no sense go too: whoever has read them has said so, once.
Expected<void> SubnetDatabaseWriter::clear() {
  return connection_.run(fmt::format(
      "DELETE FROM lid; DELETE FROM multicast_group; DELETE FROM member; DELETE FROM service; "
      "DELETE FROM subscription; DELETE FROM alias_guid; "
      "UPDATE node SET gone = (SELECT written FROM life) WHERE gone IS NULL; "
      "UPDATE link SET down = (SELECT written FROM life) WHERE down IS NULL; "
      "DELETE FROM event WHERE kind NOT IN ('{}')",
      fmt::join(sm::kManagerEventKinds, "', '")));
}

Expected<void> SubnetDatabaseWriter::end_topology(Duration when) {
  return connection_.run(
      fmt::format("UPDATE node SET gone = {0} WHERE gone IS NULL; "
                  "UPDATE link SET down = {0} WHERE down IS NULL",
                  milliseconds_since_1970(when)));
}

Expected<void> SubnetDatabaseWriter::write(const SubnetChange& change) {
  return std::visit([this](const auto& each) { return put(each); }, change);
}

Expected<void> SubnetDatabaseWriter::write(const PastEvent& event) {
  has_events_ = true;
  return statements_[kPutEvent]
      .bind(1, milliseconds_since_1970(event.when))
      .bind(2, sm::to_string(event.what.kind))
      .bind(3, event.what.text)
      .run();
}

Expected<void> SubnetDatabaseWriter::put(const LidChange& change) {
  const std::string guid = fabric::to_string(change.port);
  if (!change.lids) return statements_[kEraseLid].bind(1, guid).run();
  return statements_[kPutLid]
      .bind(1, guid)
      .bind(2, change.lids->first.value())
      .bind(3, change.lids->lmc)
      .run();
}

Expected<void> SubnetDatabaseWriter::put(const GroupChange& change) {
  const std::string mgid = change.mgid.to_string();
  if (change.like == nullptr) {
    auto done = statements_[kEraseMembers].bind(1, mgid).run();
    if (done) done = statements_[kEraseGroup].bind(1, mgid).run();
    return done;
  }
  std::array<std::byte, wire::MemberRecord::kSize> record{};
  change.like->write(record);
  return statements_[kPutGroup]
      .bind(1, mgid)
      .bind(2, change.like->mlid.value())
      .bind(3, std::int64_t{change.lasting})
      .bind(4, Bytes(record))
      .run();
}

Expected<void> SubnetDatabaseWriter::put(const MemberChange& change) {
  const std::string mgid = change.mgid.to_string();
  const std::string port = change.port.to_string();
  if (!change.member) return statements_[kEraseMember].bind(1, mgid).bind(2, port).run();
  return statements_[kPutMember]
      .bind(1, mgid)
      .bind(2, port)
      .bind(3, fabric::to_string(change.member->port))
      .bind(4, change.member->join_state)
      .bind(5, std::int64_t{change.member->by_proxy})
      .run();
}

Expected<void> SubnetDatabaseWriter::put(const ServiceChange& change) {
  SqliteStatement& statement = statements_[change.is_there ? kPutService : kEraseService];
  statement.bind(1, service_id(*change.record))
      .bind(2, change.record->gid.to_string())
      .bind(3, change.record->pkey.value());
  if (!change.is_there) return statement.run();
  std::array<std::byte, wire::ServiceRecord::kSize> record{};
  change.record->write(record);
  if (change.ends) {
    statement.bind(4, milliseconds_since_1970(*change.ends));
  } else {
    statement.bind_null(4);
  }
  return statement.bind(5, Bytes(record)).run();
}

Expected<void> SubnetDatabaseWriter::put(const SubscriptionChange& change) {
  SqliteStatement& statement = statements_[change.is_there ? kPutSubscription : kEraseSubscription];
  const sm::SubscriptionState& state = *change.subscription;
  std::array<std::byte, wire::InformInfo::kSize> info{};
  state.info.write(info);
  statement.bind(1, state.subscriber.to_string()).bind(2, Bytes(info));
  if (!change.is_there) return statement.run();
  const mgmt::MadAddress& to = state.to;
  statement.bind(3, state.number)
      .bind(4, std::int64_t{state.trusted})
      .bind(5, to.lid.value())
      .bind(6, to.sl.value())
      .bind(7, to.path_bits)
      .bind(8, to.qkey.value())
      .bind(9, to.pkey_index);
  if (to.global) {
    statement.bind(10, to.global->gid.to_string())
        .bind(11, to.global->gid_index)
        .bind(12, to.global->flow_label)
        .bind(13, to.global->hop_limit)
        .bind(14, to.global->traffic_class);
  } else {
    for (int parameter = 10; parameter <= 14; ++parameter)
      statement.bind_null(parameter);
  }
  return statement.run();
}

Expected<void> SubnetDatabaseWriter::put(const AliasChange& change) {
  const std::string port = fabric::to_string(change.port);
  if (change.guid == Guid{}) {
    return statements_[kEraseAlias].bind(1, port).bind(2, change.index).run();
  }
  return statements_[kPutAlias]
      .bind(1, port)
      .bind(2, change.index)
      .bind(3, fabric::to_string(change.guid))
      .run();
}

Expected<void> SubnetDatabaseWriter::put(const NodeChange& change) {
  has_past_ = true;
  const std::string guid = fabric::to_string(change.node.guid);
  if (!change.is_there) {
    return statements_[kEndNode].bind(1, milliseconds_since_1970(change.when)).bind(2, guid).run();
  }
  return statements_[kPutNode]
      .bind(1, guid)
      .bind(2, to_string(change.node.type))
      .bind(3, change.node.description)
      .bind(4, milliseconds_since_1970(change.when))
      .run();
}

Expected<void> SubnetDatabaseWriter::put(const LinkChange& change) {
  has_past_ = true;
  SqliteStatement& statement = statements_[change.is_up ? kPutLink : kEndLink];
  // What is up has its time last, what goes down first.
  const int first = change.is_up ? 1 : 2;
  statement.bind(change.is_up ? 5 : 1, milliseconds_since_1970(change.when))
      .bind(first, fabric::to_string(change.link.from.node))
      .bind(first + 1, change.link.from.port)
      .bind(first + 2, fabric::to_string(change.link.to.node))
      .bind(first + 3, change.link.to.port);
  return statement.run();
}

}  // namespace weft::daemon
