// SPDX-License-Identifier: Apache-2.0
// A file that is found where a subnet database should be: any bytes; a genuine one, with bytes of
// it or of its log changed; one with rows that no Weft has written. Whatever it is, it is used, or
// kept as it was under another name and said, or refused as another program's. A manager begins
// with what it holds, and what that one writes, the next one reads without complaint.
#include "daemon/lab/subnet_database.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/lab/sqlite.h"
#include "daemon/lab/subnet_database_file.h"
#include "input.h"
#include "sm/sa/subnet_view.h"
#include "sm/subnet_management.h"

namespace {

using namespace weft;
using namespace weft::daemon;
using fuzz::Input;
using fuzz::require;
namespace fs = std::filesystem;

constexpr Time kNow{1000s};

// A port that nothing is heard of.
struct SilentPort final : mgmt::MadLayer {
  Expected<mgmt::AgentId> add_agent(const mgmt::AgentRequest&, mgmt::MadClient&) override {
    return mgmt::AgentId{++agents};
  }
  bool remove_agent(mgmt::AgentId) override { return true; }
  Expected<void> send(mgmt::AgentId, const mgmt::MadRequest&, Time) override { return {}; }
  std::uint32_t agents = 0;
};

// In memory where there is a place for that: nothing here is about disks.
struct Directory {
  Directory() : path(fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp") {
    path += "/weft-fuzz-database-XXXXXX";
    require(mkdtemp(path.data()) != nullptr);
    file = path + "/subnet.db";
    log = file + "-wal";
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  void clear() const {
    for (const auto& entry : fs::directory_iterator(path))
      fs::remove_all(entry.path());
  }
  // The files that were kept.
  [[nodiscard]] std::vector<std::string> kept() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::string name = entry.path().string();
      if (name.starts_with(file + ".") && !name.ends_with("-wal")) out.push_back(name);
    }
    return out;
  }
  std::string path;
  std::string file;
  std::string log;
};
const Directory& place() {
  static const Directory directory;
  return directory;
}

std::string bytes_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_bytes(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::unique_ptr<SubnetDatabase> open_sound() {
  auto database = SubnetDatabase::open({.file = place().file});
  require(database.has_value());
  require((*database)->take_notes().empty());
  return std::move(*database);
}

// One with a row in each table, half of them in the log still.
struct Genuine {
  Genuine() {
    place().clear();
    auto database = open_sound();
    database->set_source([&] { record_some(*database, 1); });
    database->run(kNow);
    database->close(kNow);
    database = open_sound();
    database->set_source([&] { record_some(*database, 2); });
    database->run(kNow);
    database->record_event({.kind = sm::ManagerEvent::Kind::kState, .text = "MASTER"});
    require(database->topology(kNow, 1).has_value());
    file = bytes_in(place().file);
    log = bytes_in(place().log);
    require(!file.empty() && !log.empty());
  }
  static void record_some(SubnetDatabase& to, std::uint64_t number) {
    const Gid gid = sm::make_gid(0xFE80'0000'0000'0000, Guid{number});
    const Gid mgid = sm::make_gid(0xFF12'401B'FFFF'0000, Guid{number});
    const auto lid = static_cast<std::uint16_t>(number);
    to.record_lid(Guid{number}, {Lid{lid}, 0});
    to.record_group({.mgid = mgid, .mlid = Lid{0xC000}}, false);
    to.record_member(mgid, gid, {.join_state = 1, .port = Guid{number}});
    to.record_service({.record = {.id = number, .gid = gid, .lease = 1000}, .left = 900s});
    to.record_node({.guid = Guid{number}, .description = "a"}, true);
    to.record_link({.from = {Guid{number}, 1}, .to = {Guid{9}, 1}}, true);
    to.record_subscription({.subscriber = gid,
                            .to = {.lid = Lid{lid}, .qpn = kQp1},
                            .info = {.subscribe = true, .qpn = kQp1}});
    to.record_alias({.port = Guid{number}, .index = 1, .guid = Guid{number + 100}});
  }
  std::string file;
  std::string log;
};
const Genuine& genuine() {
  static const Genuine made;
  return made;
}

// Bytes, the length and more of them, in the file or its log.
void put_changed(Input& input) {
  std::array<std::string, 2> parts{genuine().file, genuine().log};
  while (!input.empty()) {
    const std::uint8_t what = input.byte();
    std::string& part = parts[what & 1];
    const std::size_t at = input.number() % (part.size() + 1);
    if ((what & 0xF8) == 0xF8) {
      part.resize(at);
      continue;
    }
    const Bytes bytes = input.some();
    const std::size_t many = std::min(bytes.size(), part.size() - at);
    for (std::size_t i = 0; i < many; ++i)
      part[at + i] = static_cast<char>(bytes[i]);
  }
  put_bytes(place().file, parts[0]);
  put_bytes(place().log, parts[1]);
}

void bind_something(Input& input, SqliteStatement& statement, int parameter) {
  constexpr std::array<std::int64_t, 8> kNumbers{
      0, 1, -1, 0xBFFF, 0xC000, 0x1'0000'0000, INT64_MAX, INT64_MIN};
  switch (input.one_of(8)) {
    case 0:
      statement.bind_null(parameter);
      break;
    case 1:
      statement.bind(parameter, kNumbers[input.one_of(kNumbers.size())]);
      break;
    case 2:
      statement.bind(parameter, std::int64_t{input.byte()});
      break;
    case 3:
      statement.bind(parameter, std::string_view("0x0000000000000001"));
      break;
    case 4:
      statement.bind(parameter, std::string_view(input.byte() % 2 == 0 ? "fe80::1" : "ff12::1"));
      break;
    case 5:
      statement.bind(parameter, input.some());
      break;
    case 6: {
      // As long as a record, and longer.
      std::vector<std::byte> record(std::size_t{input.byte()} * 32);
      const Bytes begin = input.some();
      std::copy_n(begin.begin(), std::min(begin.size(), record.size()), record.begin());
      statement.bind(parameter, Bytes(record));
      break;
    }
    default: {
      const Bytes text = input.some();
      statement.bind(parameter,
                     std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
      break;
    }
  }
}

// Rows of any values that the tables take.
void put_rows(Input& input) {
  struct Table {
    const char* name;
    int columns;
  };
  constexpr std::array<Table, 10> kTables{{{"life", 2},
                                           {"lid", 3},
                                           {"multicast_group", 4},
                                           {"member", 5},
                                           {"service", 5},
                                           {"node", 6},
                                           {"link", 7},
                                           {"event", 4},
                                           {"subscription", 14},
                                           {"alias_guid", 3}}};
  put_bytes(place().file, genuine().file);
  auto connection = Sqlite::open(place().file);
  require(connection.has_value());
  while (!input.empty()) {
    const Table& table = kTables[input.one_of(kTables.size())];
    std::string sql = std::string("INSERT OR REPLACE INTO ") + table.name + " VALUES (?";
    for (int column = 1; column < table.columns; ++column)
      sql += ", ?";
    auto statement = connection->prepare(sql + ")");
    require(statement.has_value());
    for (int column = 1; column <= table.columns; ++column)
      bind_something(input, *statement, column);
    (void)statement->run();  // the tables do not take everything
  }
}

// A manager's life with a database: it begins with what there was, and records what it takes of it.
struct Life {
  explicit Life(std::unique_ptr<SubnetDatabase> from)
      : database(std::move(from)),
        before(database->load()),
        management(port, {}, sm::LidPlan(before.lids)),
        left_out(management.restore(before, kNow)) {
    management.record_to(database.get());
    database->set_source([this] { management.record_all(kNow); });
  }
  void end() {
    database->record_event({.kind = sm::ManagerEvent::Kind::kState, .text = "MASTER"});
    database->run(kNow);
    database->wait();
    database->run(kNow + 1s);
    (void)database->topology(kNow + 1s, 1000);
    database->close(kNow + 2s);
  }

  SilentPort port;
  std::unique_ptr<SubnetDatabase> database;
  sm::StoredSubnet before;
  sm::SubnetManagement management;
  std::size_t left_out;
};

void check_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    require(!note.empty());
    require(std::all_of(note.begin(), note.end(), [](char c) { return c >= ' ' && c < 0x7F; }));
  }
}

// Nothing: it was refused.
std::unique_ptr<SubnetDatabase> open_any() {
  const std::string& file = place().file;
  const std::string given = bytes_in(file);
  const std::string log = bytes_in(place().log);
  const auto identity = identity_of(file);
  auto opened = SubnetDatabase::open({.file = file});
  const bool is_kept = identity_of(file) != identity;
  if (!opened) {
    require(opened.error().code == std::errc::invalid_argument);
    check_notes({opened.error().message});
    require(!is_kept && place().kept().empty());
    return nullptr;
  }
  const std::vector<std::string> notes = (*opened)->take_notes();
  check_notes(notes);
  require(!is_kept || !notes.empty());
  const std::vector<std::string> kept = place().kept();
  require(kept.size() == (is_kept ? 1u : 0u));
  if (is_kept) {
    require(notes[0].find(kept[0]) != std::string::npos);
    require(bytes_in(kept[0]) == given);
    require(bytes_in(kept[0] + "-wal") == log);
  }
  return std::move(*opened);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input({reinterpret_cast<const std::byte*>(data), size});
  genuine();
  place().clear();
  switch (input.one_of(3)) {
    case 0:
      put_bytes(place().file, {reinterpret_cast<const char*>(data) + (size > 0 ? 1 : 0),
                               size - (size > 0 ? 1 : 0)});
      break;
    case 1:
      put_changed(input);
      break;
    default:
      put_rows(input);
      break;
  }
  auto database = open_any();
  if (!database) return 0;
  Life first(std::move(database));
  first.end();
  const bool is_written = first.database->trouble().empty();
  first.database->set_source({});
  first.management.record_to(nullptr);
  first.database.reset();
  if (!is_written) return 0;
  Life second(open_sound());
  require(second.left_out == 0);
  require(second.before.lids == first.management.manager().lids().given());
  second.end();
  return 0;
}
