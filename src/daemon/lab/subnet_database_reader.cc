// SPDX-License-Identifier: Apache-2.0
// A file that is in order may still hold what no Weft has written: each row is looked at.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <map>

#include "base/gid_text.h"
#include "daemon/lab/subnet_database_rows.h"
#include "fabric/lab.h"

namespace weft::daemon {
namespace {

constexpr std::int64_t kLastUnicastLid = 0xBFFF;
constexpr std::int64_t kMostLmc = 7;
constexpr std::int64_t kMostPort = 255;
constexpr std::int64_t kMostJoinState = 15;
constexpr std::int64_t kMostSl = 15;
constexpr std::int64_t kMostPathBits = 127;
constexpr std::int64_t kMostFlowLabel = 0xFFFFF;

Duration since_1970(std::int64_t milliseconds) {
  // Times that a Duration cannot hold are of nobody's clock.
  constexpr std::int64_t kMost = Duration::max().count() / 1'000'000;
  return std::chrono::milliseconds(std::clamp<std::int64_t>(milliseconds, 0, kMost));
}

bool within(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value >= low && value <= high;
}

std::optional<sm::ManagerEvent::Kind> kind_of(std::string_view name) {
  const auto found = std::find(sm::kManagerEventKinds.begin(), sm::kManagerEventKinds.end(), name);
  if (found == sm::kManagerEventKinds.end()) return std::nullopt;
  return static_cast<sm::ManagerEvent::Kind>(found - sm::kManagerEventKinds.begin());
}

wire::NodeType node_type_of(std::string_view name) {
  if (name == "switch") return wire::NodeType::kSwitch;
  if (name == "router") return wire::NodeType::kRouter;
  return wire::NodeType::kChannelAdapter;
}

// `take` says whether a row makes sense; returns how many do not.
using Take = std::function<bool(const SqliteStatement&)>;
Expected<std::size_t> each_row(Sqlite& connection, std::string_view sql, const Take& take) {
  auto statement = connection.prepare(sql);
  if (!statement) return tl::unexpected(statement.error());
  std::size_t left_out = 0;
  for (;;) {
    const auto row = statement->step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return left_out;
    left_out += take(*statement) ? 0 : 1;
  }
}

bool take_lid(const SqliteStatement& row, std::map<Guid, sm::LidRange>& lids) {
  const auto port = parse_guid(row.text(0));
  const std::int64_t lid = row.integer(1);
  const std::int64_t lmc = row.integer(2);
  if (!port || !within(lid, 1, kLastUnicastLid) || !within(lmc, 0, kMostLmc)) return false;
  lids[*port] = {.first = Lid{static_cast<std::uint16_t>(lid)},
                 .lmc = static_cast<std::uint8_t>(lmc)};
  return true;
}

bool take_group(const SqliteStatement& row, std::map<Gid, sm::GroupState>& groups) {
  const auto like = wire::MemberRecord::parse(row.blob(1));
  if (!like) return false;
  return groups.emplace(like->mgid, sm::GroupState{.like = *like, .lasting = row.integer(0) != 0})
      .second;
}

bool take_member(const SqliteStatement& row, std::map<Gid, sm::GroupState>& groups) {
  const auto mgid = parse_gid(row.text(0));
  const auto gid = parse_gid(row.text(1));
  const auto port = parse_guid(row.text(2));
  const std::int64_t state = row.integer(3);
  const auto group = mgid ? groups.find(*mgid) : groups.end();
  if (group == groups.end() || !gid || !port || !within(state, 1, kMostJoinState)) return false;
  group->second.members[*gid] = {.join_state = static_cast<std::uint8_t>(state),
                                 .by_proxy = row.integer(4) != 0,
                                 .port = *port};
  return true;
}

bool take_service(const SqliteStatement& row, Duration now,
                  std::vector<sm::ServiceState>& services) {
  const auto record = wire::ServiceRecord::parse(row.blob(1));
  if (!record) return false;
  sm::ServiceState service{.record = *record};
  if (!row.is_null(0)) {
    // No longer than it was given, if the clock has been set back meanwhile.
    service.left =
        std::min<Duration>(since_1970(row.integer(0)) - now, std::chrono::seconds(record->lease));
    if (*service.left <= 0ns) return true;
  }
  services.push_back(service);
  return true;
}

// A number of a field; nothing: it is out of its range, and `makes_sense` is false from then on.
std::int64_t field(const SqliteStatement& row, int column, std::int64_t most, bool& makes_sense) {
  const std::int64_t value = row.integer(column);
  if (within(value, 0, most)) return value;
  makes_sense = false;
  return 0;
}

template <class Number>
Number field(const SqliteStatement& row, int column, bool& makes_sense) {
  return static_cast<Number>(field(row, column, std::numeric_limits<Number>::max(), makes_sense));
}

bool take_subscription(const SqliteStatement& row, std::vector<sm::SubscriptionState>& all) {
  const auto subscriber = parse_gid(row.text(0));
  const auto info = wire::InformInfo::parse(row.blob(1));
  if (!subscriber || !info) return false;
  bool makes_sense = true;
  sm::SubscriptionState state{
      .subscriber = *subscriber,
      .number = field<std::uint16_t>(row, 2, makes_sense),
      .to = {.lid = Lid{static_cast<std::uint16_t>(field(row, 4, kLastUnicastLid, makes_sense))},
             .sl = Sl{static_cast<std::uint8_t>(field(row, 5, kMostSl, makes_sense))},
             .path_bits = static_cast<std::uint8_t>(field(row, 6, kMostPathBits, makes_sense)),
             .qpn = info->qpn,
             .qkey = QKey{field<std::uint32_t>(row, 7, makes_sense)},
             .pkey_index = field<std::uint16_t>(row, 8, makes_sense)},
      .info = *info,
      .trusted = row.integer(3) != 0};
  if (!row.is_null(9)) {
    const auto gid = parse_gid(row.text(9));
    if (!gid) return false;
    state.to.global = {
        .gid = *gid,
        .gid_index = field<std::uint8_t>(row, 10, makes_sense),
        .flow_label = static_cast<std::uint32_t>(field(row, 11, kMostFlowLabel, makes_sense)),
        .hop_limit = field<std::uint8_t>(row, 12, makes_sense),
        .traffic_class = field<std::uint8_t>(row, 13, makes_sense)};
  }
  if (makes_sense) all.push_back(state);
  return makes_sense;
}

bool take_alias(const SqliteStatement& row, std::vector<sm::AliasGuid>& all) {
  const auto port = parse_guid(row.text(0));
  const auto guid = parse_guid(row.text(2));
  bool makes_sense = true;
  const auto index = field<std::uint8_t>(row, 1, makes_sense);
  if (!port || !guid || !makes_sense) return false;
  all.push_back({.port = *port, .index = index, .guid = *guid});
  return true;
}

bool take_event(const SqliteStatement& row, std::vector<PastEvent>& events) {
  const auto kind = kind_of(row.text(1));
  if (!kind) return false;
  events.push_back({.when = since_1970(row.integer(0)),
                    .what = {.kind = *kind, .text = printable(row.text(2))}});
  return true;
}

std::optional<Duration> end_of(const SqliteStatement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return since_1970(row.integer(column));
}

bool take_node(const SqliteStatement& row, std::vector<PastNode>& nodes) {
  const auto guid = parse_guid(row.text(0));
  if (!guid) return false;
  nodes.push_back({.node = {.guid = *guid,
                            .type = node_type_of(row.text(1)),
                            .description = printable(row.text(2))},
                   .appeared = since_1970(row.integer(3)),
                   .gone = end_of(row, 4)});
  return true;
}

std::optional<sm::TopologyEnd> take_end(const SqliteStatement& row, int column) {
  const auto node = parse_guid(row.text(column));
  const std::int64_t port = row.integer(column + 1);
  if (!node || !within(port, 0, kMostPort)) return std::nullopt;
  return sm::TopologyEnd{.node = *node, .port = static_cast<std::uint8_t>(port)};
}

bool take_link(const SqliteStatement& row, std::vector<PastLink>& links) {
  const auto from = take_end(row, 0);
  const auto to = take_end(row, 2);
  if (!from || !to) return false;
  links.push_back({.link = {.from = *from, .to = *to},
                   .up = since_1970(row.integer(4)),
                   .down = end_of(row, 5)});
  return true;
}

}  // namespace

Expected<SubnetDatabaseContents> read_contents(Sqlite& connection, int version, Duration now) {
  SubnetDatabaseContents out;
  std::map<Gid, sm::GroupState> groups;
  Expected<void> done;
  const auto read = [&](std::string_view sql, const Take& take) {
    if (!done) return;
    const auto left_out = each_row(connection, sql, take);
    if (left_out) {
      out.left_out += *left_out;
    } else {
      done = tl::unexpected(left_out.error());
    }
  };
  read("SELECT port_guid, lid, lmc FROM lid",
       [&](const auto& row) { return take_lid(row, out.subnet.lids); });
  read("SELECT lasting, record FROM multicast_group",
       [&](const auto& row) { return take_group(row, groups); });
  read("SELECT mgid, port_gid, port_guid, join_state, by_proxy FROM member",
       [&](const auto& row) { return take_member(row, groups); });
  read("SELECT ends, record FROM service",
       [&](const auto& row) { return take_service(row, now, out.subnet.services); });
  if (version >= 2) {
    read("SELECT * FROM subscription",
         [&](const auto& row) { return take_subscription(row, out.subnet.subscriptions); });
    read("SELECT port_guid, number, guid FROM alias_guid",
         [&](const auto& row) { return take_alias(row, out.subnet.aliases); });
  }
  read(fmt::format("SELECT time, kind, text FROM event ORDER BY number DESC LIMIT {}",
                   SubnetDatabaseWriter::kMostEvents),
       [&](const auto& row) { return take_event(row, out.events); });
  if (!done) return tl::unexpected(done.error());
  std::reverse(out.events.begin(), out.events.end());
  for (auto& [mgid, group] : groups)
    out.subnet.groups.push_back(std::move(group));
  return out;
}

Expected<PastTopology> read_topology(Sqlite& connection, std::size_t most) {
  PastTopology out;
  auto done = each_row(connection,
                       fmt::format("SELECT guid, type, description, appeared, gone FROM node "
                                   "ORDER BY gone IS NOT NULL, gone DESC, guid LIMIT {}",
                                   most),
                       [&](const SqliteStatement& row) { return take_node(row, out.nodes); });
  if (done) {
    done =
        each_row(connection,
                 fmt::format("SELECT from_node, from_port, to_node, to_port, up, down FROM link "
                             "ORDER BY down IS NOT NULL, down DESC, from_node, from_port LIMIT {}",
                             most),
                 [&](const SqliteStatement& row) { return take_link(row, out.links); });
  }
  if (!done) return tl::unexpected(done.error());
  return out;
}

}  // namespace weft::daemon
