// SPDX-License-Identifier: Apache-2.0
// SQLite with this project's errors. One thread, and no other process: a database that is open is
// locked. A connection must not live across a fork().
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace weft::daemon {

// What is in a file, as it may go to terminals and into JSON: ASCII, with '?' for all that is not
// printable.
[[nodiscard]] std::string printable(std::string_view text);

// A statement that is made once and run often. Parameters count from 1, columns from 0.
class SqliteStatement {
 public:
  // Text and blobs are copied.
  SqliteStatement& bind(int parameter, std::int64_t value);
  SqliteStatement& bind(int parameter, std::string_view text);
  SqliteStatement& bind(int parameter, Bytes blob);
  SqliteStatement& bind_null(int parameter);

  // True: there is a row, whose columns are valid until the next step(). False: that was all, and
  // the statement can be bound and run anew.
  Expected<bool> step();
  // To its end, for what has no rows.
  Expected<void> run();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] Bytes blob(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  friend class Sqlite;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Sqlite {
 public:
  // An existing file, or ":memory:". Errors, here and below, begin with the name of the file:
  //   bad_message                it is no database, or what is in it makes no sense
  //   device_or_resource_busy    another connection has it open
  //   no_such_file_or_directory  it is not there, and cannot be made
  //   no_space_on_device, read_only_file_system, io_error
  static Expected<Sqlite> open(const std::string& file);

  // No row, text or blob is longer, whatever the file says: it is bad_message.
  static constexpr int kLongest = 1 << 20;

  // Whether the log stays as it is when the connection goes, instead of becoming part of the file.
  void keep_log(bool keep);
  // Statements without rows, separated by semicolons.
  Expected<void> run(const std::string& statements);
  Expected<SqliteStatement> prepare(std::string_view statement);
  // The first column of the first row; empty where there is none.
  Expected<std::string> ask(std::string_view statement);

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  Sqlite() = default;

  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace weft::daemon
