// SPDX-License-Identifier: Apache-2.0
// The file of a subnet database: its schema, and what becomes of a file that cannot be used.
//
// What cannot be used is never overwritten and never passed over: it is renamed, with what belongs
// to it, to FILE.corrupt-<time> or FILE.version-<its version>-<time>, and a new one is begun. What
// an older Weft has written can be used: it is read as it is, and becomes one of this version when
// it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "daemon/lab/sqlite.h"

namespace weft::daemon {

struct SubnetDatabaseFile {
  // Of the schema, which is in the file as user_version. Grows whenever the schema changes.
  static constexpr int kVersion = 2;
  // In the file as application_id: "Weft".
  static constexpr int kApplication = 0x57656674;

  Sqlite connection;
  int version = kVersion;  // of its schema; 1 to kVersion
  // Why the file that was there was not used, and what has become of it; empty: it was, or there
  // was none. One sentence.
  std::string set_aside;

  // Opens the file, or makes it, readable for the user alone, in a directory that is there. What is
  // there is checked as a whole first. Errors as Sqlite's; invalid_argument: it is a database, but
  // another program's.
  static Expected<SubnetDatabaseFile> open(const std::string& file);
  // Makes it one of this version. If it fails, it is what it was.
  Expected<void> upgrade();
};

// Which file it is that has this name, if there is one.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;  // inode
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
[[nodiscard]] std::optional<FileIdentity> identity_of(const std::string& file);

}  // namespace weft::daemon
