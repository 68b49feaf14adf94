// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/subnet_database_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "io/clock.h"
#include "io/unique_fd.h"

namespace weft::daemon {
namespace {

// What each version has more than the one before it. GUIDs, GIDs and service IDs as people write
// them; times in milliseconds since 1970; records as on the wire. `gone` and `down` are null as
// long as a node or link is there.
constexpr const char* kVersion1 = R"(
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
constexpr const char* kVersion2 = R"(
CREATE TABLE subscription (subscriber TEXT NOT NULL, inform_info BLOB NOT NULL,
  number INTEGER NOT NULL, trusted INTEGER NOT NULL, lid INTEGER NOT NULL, sl INTEGER NOT NULL,
  path_bits INTEGER NOT NULL, qkey INTEGER NOT NULL, pkey_index INTEGER NOT NULL, gid TEXT,
  gid_index INTEGER, flow_label INTEGER, hop_limit INTEGER, traffic_class INTEGER,
  PRIMARY KEY (subscriber, inform_info)) STRICT, WITHOUT ROWID;
CREATE TABLE alias_guid (port_guid TEXT NOT NULL, number INTEGER NOT NULL, guid TEXT NOT NULL,
  PRIMARY KEY (port_guid, number)) STRICT, WITHOUT ROWID;
)";
constexpr std::array<const char*, SubnetDatabaseFile::kVersion> kSchema{kVersion1, kVersion2};
// Of the largest subnet with the longest history it is less. What is larger would take long to
// check, and as much memory.
constexpr std::uint64_t kSubnetDatabaseFileMostBytes = std::uint64_t{1} << 30;
constexpr const char* kAllOfSchema = "SELECT group_concat(sql, ';') FROM sqlite_schema";

// The disk is not waited for at each transaction: after a loss of power the last ones may be
// missing, but what there is makes sense.
constexpr const char* kJournal = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL";

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(io::wall_clock()).count();
}

// What leads from a schema of the version `from`, where 0 has none, to one of the version `to`.
std::string steps(int from, int to) {
  std::string out;
  for (int version = from; version < to; ++version)
    out += kSchema[static_cast<std::size_t>(version)];
  return out + fmt::format("PRAGMA user_version = {};", to);
}

Expected<void> make_schema(Sqlite& connection) {
  return connection.run(fmt::format(
      "BEGIN IMMEDIATE; {} INSERT INTO life VALUES (1, {}); PRAGMA application_id = {}; COMMIT",
      steps(0, SubnetDatabaseFile::kVersion), now_ms(), SubnetDatabaseFile::kApplication));
}

Expected<std::string> schema_of(int version) {
  auto model = Sqlite::open(":memory:");
  if (!model) return tl::unexpected(model.error());
  if (auto made = model->run(steps(0, version)); !made) return tl::unexpected(made.error());
  return model->ask(kAllOfSchema);
}

// Nothing: of none that this Weft can read.
std::optional<int> known_version(std::string_view text) {
  for (int version = 1; version <= SubnetDatabaseFile::kVersion; ++version) {
    if (text == fmt::to_string(version)) return version;
  }
  return std::nullopt;
}

// What is wrong with a file that could be opened.
struct Wrong {
  std::string kind;  // in the name under which it is kept
  std::string why;
};

// What is wrong, or of which version it is.
struct Judged {
  std::optional<Wrong> wrong;
  int version = 0;
};

// First what it says it is, which is read without evaluating anything that the file brings along;
// of a schema that is known, the check of the whole runs no code of a stranger's.
Expected<Judged> judge(Sqlite& connection, const std::string& file) {
  const auto application = connection.ask("PRAGMA application_id");
  if (!application) return tl::unexpected(application.error());
  if (*application != fmt::to_string(SubnetDatabaseFile::kApplication)) {
    return fail(std::errc::invalid_argument,
                file +
                    ": is a database of another program; name another file (sm.database, or "
                    "weft sm run --database)");
  }
  const auto text = connection.ask("PRAGMA user_version");
  if (!text) return tl::unexpected(text.error());
  const auto version = known_version(*text);
  if (!version) {
    return Judged{
        Wrong{"version-" + *text,
              fmt::format("it is of version {}, and this is Weft {}, which has version {}", *text,
                          WEFT_VERSION, SubnetDatabaseFile::kVersion)}};
  }
  const auto schema = connection.ask(kAllOfSchema);
  if (!schema) return tl::unexpected(schema.error());
  const auto wanted = schema_of(*version);
  if (!wanted) return tl::unexpected(wanted.error());
  if (*schema != *wanted) {
    return Judged{Wrong{"corrupt", "its tables are not those of its version"}};
  }
  const auto sound = connection.ask("PRAGMA integrity_check(1)");
  if (!sound) return tl::unexpected(sound.error());
  if (*sound != "ok") {
    return Judged{Wrong{"corrupt", "its integrity check fails: " +
                                       printable(sound->substr(sound->rfind('\n') + 1))}};
  }
  return Judged{std::nullopt, *version};
}

bool is_there(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

// Nothing: it is no ordinary file.
std::optional<std::uint64_t> size_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
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
    // A log without anything in it is of the connection that has just looked at the file.
    if (*part != '\0' && size_of(from) == 0) std::remove(from.c_str());
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
  int version = 0;
};

Expected<Looked> look_at(const std::string& file) {
  if (!is_there(file)) return Looked{Wrong{"corrupt", "there is its log alone"}, std::nullopt};
  const auto size = size_of(file);
  if (size == 0) return Looked{Wrong{"corrupt", "it is empty"}, std::nullopt};
  if (std::max(size, size_of(file + "-wal")) > kSubnetDatabaseFileMostBytes) {
    return Looked{Wrong{"corrupt", "it is larger than any database of a subnet"}, std::nullopt};
  }
  const auto refused = [](Error error) -> Expected<Looked> {
    if (error.code != std::errc::bad_message) return tl::unexpected(std::move(error));
    return Looked{Wrong{"corrupt", std::move(error.message)}, std::nullopt};
  };
  auto connection = Sqlite::open(file);
  if (!connection) return refused(connection.error());
  connection->keep_log(true);  // whatever it turns out to be, it is kept as it was
  auto judged = judge(*connection, file);
  if (!judged) return refused(judged.error());
  if (judged->wrong) return Looked{std::move(judged->wrong), std::nullopt};
  if (auto ready = connection->run(kJournal); !ready) return refused(ready.error());
  connection->keep_log(false);
  return Looked{std::nullopt, std::move(*connection), judged->version};
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
    if (looked->connection) {
      return SubnetDatabaseFile{std::move(*looked->connection), looked->version, ""};
    }
    const auto kept = keep_aside(file, looked->wrong->kind);
    if (!kept) return tl::unexpected(kept.error());
    said = fmt::format("subnet database {} cannot be used ({}): kept as {}, and begun anew", file,
                       looked->wrong->why, *kept);
  }
  auto made = make_new(file);
  if (!made) return tl::unexpected(made.error());
  return SubnetDatabaseFile{std::move(*made), kVersion, std::move(said)};
}

Expected<void> SubnetDatabaseFile::upgrade() {
  if (version == kVersion) return {};
  auto done = connection.run(fmt::format("BEGIN IMMEDIATE; {} COMMIT", steps(version, kVersion)));
  if (done) version = kVersion;
  return done;
}

}  // namespace weft::daemon
