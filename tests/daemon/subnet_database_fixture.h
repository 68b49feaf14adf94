// SPDX-License-Identifier: Apache-2.0
// A subnet database with a real file, in a directory of its own, and its lives.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/lab/subnet_database.h"
#include "sm/sa/subnet_view.h"

namespace weft::daemon {

class Database : public ::testing::Test {
 protected:
  Database() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-database.XXXXXX").string();
    directory = mkdtemp(name.data());
    file = directory + "/subnet.db";
  }
  ~Database() override {
    database.reset();
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
    std::filesystem::remove_all(directory);
  }

  // A life begins. What it recorded is what the source tells when all is asked for.
  void open() {
    auto opened = SubnetDatabase::open({.file = file});
    ASSERT_TRUE(opened) << opened.error().message;
    database = std::move(*opened);
    notes = database->take_notes();
  }
  void begin(std::function<void()> all = [] {}) {
    open();
    database->set_source(std::move(all));
    run();
  }
  void run(Duration later = 0ns) {
    now += later;
    database->run(now);
    database->wait();
    database->run(now);
    for (std::string& note : database->take_notes())
      notes.push_back(std::move(note));
  }
  void end() {
    database->close(now);
    database.reset();
  }
  [[nodiscard]] sm::StoredSubnet reopened() {
    end();
    open();
    return database->load();
  }
  // The files beside it, by the ends of their names.
  [[nodiscard]] std::vector<std::string> kept_aside() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("subnet.db.")) names.push_back(name);
    }
    return names;
  }
  void make_one() {
    begin([this] { database->record_lid(Guid{1}, {Lid{7}, 0}); });
    database->record_event({.kind = sm::ManagerEvent::Kind::kState, .text = "of before"});
    end();
  }
  void run_sql(const std::string& statements) const {
    auto connection = Sqlite::open(file);
    ASSERT_TRUE(connection) << connection.error().message;
    const auto done = connection->run(statements);
    ASSERT_TRUE(done) << done.error().message;
  }

  std::string directory;
  std::string file;
  std::unique_ptr<SubnetDatabase> database;
  std::vector<std::string> notes;
  Time now{1000s};
};

inline sm::GroupState some_group() {
  sm::GroupState group;
  group.like = {.mgid = sm::make_gid(0xFF12'401B'FFFF'0000, Guid{1}),
                .qkey = QKey{0xB1B},
                .mlid = Lid{0xC003},
                .mtu = {.selector = wire::SaValue::Selector::kExactly, .value = 4},
                .pkey = PKey{0xFFFF},
                .sl = Sl{3},
                .flow_label = 0x12345};
  group.lasting = true;
  group.members[sm::make_gid(0xFE80'0000'0000'0000, Guid{1})] = {.join_state = 1, .port = Guid{1}};
  group.members[sm::make_gid(0xFE80'0000'0000'0000, Guid{2})] = {
      .join_state = 4, .by_proxy = true, .port = Guid{7}};
  return group;
}

inline wire::ServiceRecord some_service(std::uint64_t id, std::uint32_t lease) {
  wire::ServiceRecord record{.id = id,
                             .gid = sm::make_gid(0xFE80'0000'0000'0000, Guid{2}),
                             .pkey = PKey{0xFFFF},
                             .lease = lease};
  record.name[0] = std::byte{'x'};
  record.key[5] = std::byte{1};
  return record;
}

// Of a program beyond a router, or of one at the next port.
inline sm::SubscriptionState some_subscription(bool global) {
  sm::SubscriptionState state{.subscriber = sm::make_gid(0xFE80'0000'0000'0000, Guid{3}),
                              .number = 0xFFFE,
                              .to = {.lid = Lid{0xBFFF},
                                     .sl = Sl{15},
                                     .path_bits = 127,
                                     .qpn = Qpn{0xFFFFFE},
                                     .qkey = QKey{0x8001'0000},
                                     .pkey_index = 0xFFFF},
                              .info = {.lid_begin = Lid{0xFFFF},
                                       .subscribe = true,
                                       .trap = 144,
                                       .qpn = Qpn{0xFFFFFE},
                                       .response_time = 31},
                              .trusted = global};
  if (global) {
    state.info.trap = 128;
    state.to.global = {.gid = sm::make_gid(7, Guid{3}),
                       .gid_index = 255,
                       .flow_label = 0xFFFFF,
                       .hop_limit = 64,
                       .traffic_class = 255};
  }
  return state;
}

}  // namespace weft::daemon
