// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/subnet_database_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "io/clock.h"
#include "io/unique_fd.h"

namespace weft::daemon {
namespace {

// GUIDs, GIDs and service IDs as people write them; times in milliseconds since 1970; records as on
// the wire. `gone` and `down` are null as long as a node or link is there.
constexpr const char* kSchema = R"(
CREATE TABLE life (number INTEGER PRIMARY KEY CHECK (number = 1), written INTEGER NOT NULL) STRICT;
CREATE TABLE lid (port_guid TEXT PRIMARY KEY, lid INTEGER NOT NULL, lmc INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;
CREATE TABLE multicast_group (mgid TEXT PRIMARY KEY, mlid INTEGER NOT NULL,
  lasting INTEGER NOT NULL, record BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE member (mgid TEXT NOT NULL, port_gid TEXT NOT NULL, port_guid TEXT NOT NULL,
  join_state INTEGER NOT NULL, by_proxy INTEGER NOT NULL, PRIMARY KEY (mgid, port_gid))
  STRICT, WITHOUT ROWID;
CREATE TABLE service (service_id TEXT NOT NULL, service_gid TEXT NOT NULL, pkey INTEGER NOT NULL,
  ends INTEGER, record BLOB NOT NULL, PRIMARY KEY (service_id, service_gid, pkey))
  STRICT, WITHOUT ROWID;
CREATE TABLE node (number INTEGER PRIMARY KEY, guid TEXT NOT NULL, type TEXT NOT NULL,
  description TEXT NOT NULL, appeared INTEGER NOT NULL, gone INTEGER) STRICT;
CREATE UNIQUE INDEX node_there ON node (guid) WHERE gone IS NULL;
CREATE TABLE link (number INTEGER PRIMARY KEY, from_node TEXT NOT NULL, from_port INTEGER NOT NULL,
  to_node TEXT NOT NULL, to_port INTEGER NOT NULL, up INTEGER NOT NULL, down INTEGER) STRICT;
CREATE UNIQUE INDEX link_up ON link (from_node, from_port, to_node, to_port) WHERE down IS NULL;
CREATE TABLE event (number INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL,
  text TEXT NOT NULL) STRICT;
)";
constexpr const char* kAllOfSchema = "SELECT group_concat(sql, ';') FROM sqlite_schema";

// The disk is not waited for at each transaction: after a loss of power the last ones may be
// missing, but what there is makes sense.
constexpr const char* kJournal = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL";

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(io::wall_clock()).count();
}

Expected<void> make_schema(Sqlite& connection) {
  return connection.run(fmt::format(
      "BEGIN IMMEDIATE; {} INSERT INTO life VALUES (1, {}); PRAGMA application_id = {}; "
      "PRAGMA user_version = {}; COMMIT",
      kSchema, now_ms(), SubnetDatabaseFile::kApplication, SubnetDatabaseFile::kVersion));
}

Expected<std::string> schema_of_this_version() {
  auto model = Sqlite::open(":memory:");
  if (!model) return tl::unexpected(model.error());
  if (auto made = make_schema(*model); !made) return tl::unexpected(made.error());
  return model->ask(kAllOfSchema);
}

// What is wrong with a file that could be opened.
struct Wrong {
  std::string kind;  // in the name under which it is kept
  std::string why;
};

Expected<std::optional<Wrong>> find_fault(Sqlite& connection, const std::string& file) {
  const auto sound = connection.ask("PRAGMA integrity_check(1)");
  if (!sound) return tl::unexpected(sound.error());
  if (*sound != "ok") {
    return Wrong{"corrupt", "its integrity check fails: " + sound->substr(sound->rfind('\n') + 1)};
  }
  const auto application = connection.ask("PRAGMA application_id");
  if (!application) return tl::unexpected(application.error());
  if (*application != fmt::to_string(SubnetDatabaseFile::kApplication)) {
    return fail(std::errc::invalid_argument,
                file + ": is a database of another program; name another file as sm.database");
  }
  const auto version = connection.ask("PRAGMA user_version");
  if (!version) return tl::unexpected(version.error());
  if (*version != fmt::to_string(SubnetDatabaseFile::kVersion)) {
    return Wrong{"version-" + *version,
                 fmt::format("it is of version {}, and this is Weft {}, which has version {}",
                             *version, WEFT_VERSION, SubnetDatabaseFile::kVersion)};
  }
  const auto schema = connection.ask(kAllOfSchema);
  if (!schema) return tl::unexpected(schema.error());
  const auto wanted = schema_of_this_version();
  if (!wanted) return tl::unexpected(wanted.error());
  if (*schema != *wanted) return Wrong{"corrupt", "its tables are not those of its version"};
  return std::nullopt;
}

bool is_there(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

bool is_empty_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

// What SQLite takes for parts of the file.
constexpr std::array<const char*, 3> kParts{"", "-wal", "-journal"};

// Returns the name under which it is kept.
Expected<std::string> keep_aside(const std::string& file, const std::string& kind) {
  const std::string stem =
      fmt::format("{}.{}-{:%Y%m%dT%H%M%SZ}", file, kind, fmt::gmtime(std::time(nullptr)));
  std::string to = stem;
  for (int n = 2; is_there(to) || is_there(to + "-wal"); ++n)
    to = fmt::format("{}-{}", stem, n);
  for (const char* part : kParts) {
    const std::string from = file + part;
    if (is_there(from) && std::rename(from.c_str(), (to + part).c_str()) != 0) {
      return fail_errno(errno, from + ": rename");
    }
  }
  return to;
}

// SQLite would make a file that everybody can read, and there are keys in this one.
Expected<void> make_file(const std::string& file) {
  const io::UniqueFd made(open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) return fail_errno(errno, file);
  return {};
}

Expected<Sqlite> make_new(const std::string& file) {
  if (auto made = make_file(file); !made) return tl::unexpected(made.error());
  auto connection = Sqlite::open(file);
  if (connection) {
    auto made = connection->run(kJournal);
    if (made) made = make_schema(*connection);
    if (made) return connection;
    connection = tl::unexpected(made.error());
  }
  // Half of one would be found to be corrupt next time.
  for (const char* part : kParts)
    std::remove((file + part).c_str());
  return connection;
}

// A file that is there: opened, or what is wrong with it.
struct Looked {
  std::optional<Wrong> wrong;
  std::optional<Sqlite> connection;
};

Expected<Looked> look_at(const std::string& file) {
  if (!is_there(file)) return Looked{Wrong{"corrupt", "there is its log alone"}, std::nullopt};
  if (is_empty_file(file)) return Looked{Wrong{"corrupt", "it is empty"}, std::nullopt};
  const auto refused = [](Error error) -> Expected<Looked> {
    if (error.code != std::errc::bad_message) return tl::unexpected(std::move(error));
    return Looked{Wrong{"corrupt", std::move(error.message)}, std::nullopt};
  };
  auto connection = Sqlite::open(file);
  if (!connection) return refused(connection.error());
  auto fault = find_fault(*connection, file);
  if (!fault) return refused(fault.error());
  if (*fault) return Looked{std::move(*fault), std::nullopt};
  if (auto ready = connection->run(kJournal); !ready) return refused(ready.error());
  return Looked{std::nullopt, std::move(*connection)};
}

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{.device = status.st_dev, .number = status.st_ino};
}

Expected<SubnetDatabaseFile> SubnetDatabaseFile::open(const std::string& file) {
  std::string said;
  if (is_there(file) || is_there(file + "-wal")) {
    auto looked = look_at(file);
    if (!looked) return tl::unexpected(looked.error());
    if (looked->connection) return SubnetDatabaseFile{std::move(*looked->connection), ""};
    const auto kept = keep_aside(file, looked->wrong->kind);
    if (!kept) return tl::unexpected(kept.error());
    said = fmt::format("subnet database {} cannot be used ({}): kept as {}, and begun anew", file,
                       looked->wrong->why, *kept);
  }
  auto made = make_new(file);
  if (!made) return tl::unexpected(made.error());
  return SubnetDatabaseFile{std::move(*made), std::move(said)};
}

}  // namespace weft::daemon
