// SPDX-License-Identifier: Apache-2.0
// The nodes of a path, as SubnAdmGetTraceTable tells them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "administered_lab.h"
#include "sa_records.h"
#include "wire/endian.h"
#include "wire/sa/path_record.h"
#include "wire/sa/trace_record.h"

namespace weft::sm {
namespace {

using wire::MadMethod;
using wire::PathRecord;
using wire::SaAttribute;
using wire::SaStatus;
using wire::TraceRecord;

Answer trace(AdministeredLab& sa, std::uint64_t mask, const PathRecord& record) {
  std::vector<std::byte> data(200);
  record.write(data);
  return sa.ask("b", {.method = MadMethod::kGetTraceTable,
                      .attribute = SaAttribute::kPathRecord,
                      .mask = mask,
                      .data = data});
}

constexpr std::uint64_t kGids = PathRecord::kHasSgid | PathRecord::kHasDgid;

// Node, port of entry, port of exit.
using Step = std::tuple<std::string, unsigned, unsigned>;

std::vector<Step> steps_of(AdministeredLab& sa, const Answer& answer) {
  std::vector<Step> steps;
  for (const auto& bytes : answer.records) {
    const TraceRecord record = *TraceRecord::parse(bytes);
    const SubnetView& view = sa.administrator->view();
    const SubnetNode& node = view.subnet().nodes[view.subnet().by_guid.at(record.node)];
    EXPECT_EQ(record.gid_prefix, AdministeredLab::kPrefix);
    EXPECT_EQ(record.node_type, node.info.type);
    EXPECT_EQ(record.entry_port_id == 0, record.entry_port == 0);
    EXPECT_EQ(record.exit_port_id == 0, record.exit_port == 0);
    steps.emplace_back(node.description, record.entry_port, record.exit_port);
  }
  return steps;
}

TEST(SaTrace, LeadsFromNodeToNode) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer answer = trace(sa, kGids, {.dgid = sa.gid("d"), .sgid = sa.gid("b")});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.method, MadMethod::kGetTableResponse);
  EXPECT_EQ(answer.attribute, SaAttribute::kTraceRecord);
  EXPECT_EQ(answer.record_size, 48u);
  EXPECT_EQ(steps_of(sa, answer),
            (std::vector<Step>{{"b", 0, 1}, {"s1", 2, 4}, {"s2", 4, 2}, {"d", 1, 0}}));
  // IDs are GUIDs: of an adapter's port its own, of a switch's that of port 0.
  const std::byte* first = answer.records.at(0).data();
  EXPECT_EQ(wire::load_be64(first + 36), guid_of(sa.gid("b")).value());
  EXPECT_EQ(wire::load_u8(first + 45), 1);
  EXPECT_EQ(wire::load_be64(answer.records.at(1).data() + 28),
            guid_of(sa.gid_of_switch("s1")).value());
}

TEST(SaTrace, BeginsAndEndsAtSwitchesToo) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  constexpr std::uint64_t kLids = PathRecord::kHasSlid | PathRecord::kHasDlid;
  const auto between = [&](const char* from, const char* to) {
    return steps_of(sa, trace(sa, kLids, {.dlid = sa.lab.lid(to), .slid = sa.lab.lid(from)}));
  };
  EXPECT_EQ(between("s1", "c"), (std::vector<Step>{{"s1", 0, 4}, {"s2", 4, 1}, {"c", 1, 0}}));
  EXPECT_EQ(between("c", "s1"), (std::vector<Step>{{"c", 0, 1}, {"s2", 1, 4}, {"s1", 4, 0}}));
  EXPECT_EQ(between("b", "b"), (std::vector<Step>{{"b", 0, 0}}));
}

TEST(SaTrace, IsOfThePathThatThePolicyTells) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  sa.administrator->set_policy([&](const SaRequest&, PathRecord& path) {
    path.dlid = sa.lab.lid("a");
    return path.dgid != sa.gid("c");
  });
  EXPECT_EQ(steps_of(sa, trace(sa, kGids, {.dgid = sa.gid("d"), .sgid = sa.gid("b")})),
            (std::vector<Step>{{"b", 0, 1}, {"s1", 2, 1}, {"a", 1, 0}}));
  EXPECT_EQ(trace(sa, kGids, {.dgid = sa.gid("c"), .sgid = sa.gid("b")}).status,
            status_of(SaStatus::kNoRecords));
}

TEST(SaTrace, NeedsTwoPorts) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  EXPECT_EQ(trace(sa, PathRecord::kHasDgid, {.dgid = sa.gid("d")}).status,
            status_of(SaStatus::kInsufficientComponents));
  EXPECT_EQ(
      trace(sa, kGids, {.dgid = make_gid(AdministeredLab::kPrefix, Guid{1}), .sgid = sa.gid("b")})
          .status,
      status_of(SaStatus::kInvalidGid));
  EXPECT_EQ(
      sa.ask("b", {.method = MadMethod::kGetTraceTable, .attribute = SaAttribute::kNodeRecord})
          .status,
      0x000C);
}

}  // namespace
}  // namespace weft::sm
