// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/sqlite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace weft::daemon {
namespace {

constexpr int kPrimaryCode = 0xFF;

std::errc code_of(int result) {
  switch (result & kPrimaryCode) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
    case SQLITE_ERROR:  // of statements that are right: the schema is not
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      return std::errc::bad_message;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return std::errc::device_or_resource_busy;
    case SQLITE_CANTOPEN:
      return std::errc::no_such_file_or_directory;
    case SQLITE_FULL:
      return std::errc::no_space_on_device;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return std::errc::read_only_file_system;
    default:
      return std::errc::io_error;
  }
}

std::string text_of(int result, sqlite3* connection) {
  switch (code_of(result)) {
    case std::errc::device_or_resource_busy:
      return "another process has it open";
    case std::errc::no_space_on_device:
      return "the disk is full";
    default:
      break;
  }
  const int system = sqlite3_system_errno(connection);
  const bool is_io =
      (result & kPrimaryCode) == SQLITE_IOERR || (result & kPrimaryCode) == SQLITE_CANTOPEN;
  if (is_io && system != 0) {
    return fmt::format("{}: {}", sqlite3_errstr(result), std::generic_category().message(system));
  }
  return printable(sqlite3_errmsg(connection));  // which has names that are in the file
}

tl::unexpected<Error> failed(int result, sqlite3* connection) {
  const char* const file = sqlite3_db_filename(connection, nullptr);
  const bool named = file != nullptr && file[0] != '\0';
  return fail(code_of(result),
              fmt::format("{}: {}", named ? file : "database", text_of(result, connection)));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < ' ' || c >= 0x7F; }, '?');
  return out;
}

SqliteStatement& SqliteStatement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, Bytes blob) {
  sqlite3_bind_blob64(statement_.get(), parameter, blob.data(), blob.size(), SQLITE_TRANSIENT);
  return *this;
}

SqliteStatement& SqliteStatement::bind_null(int parameter) {
  sqlite3_bind_null(statement_.get(), parameter);
  return *this;
}

Expected<bool> SqliteStatement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  sqlite3* const connection = sqlite3_db_handle(statement_.get());
  if (result == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  const auto error = failed(sqlite3_extended_errcode(connection), connection);
  sqlite3_reset(statement_.get());
  return error;
}

Expected<void> SqliteStatement::run() {
  for (;;) {
    const auto more = step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
  }
}

std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteStatement::text(int column) const {
  const auto* const text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Bytes SqliteStatement::blob(int column) const {
  const auto* const data =
      static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

// What is in the file is data: neither may its schema call functions, nor may anybody's statement
// write to what SQLite itself goes by.
Expected<Sqlite> Sqlite::open(const std::string& file) {
  Sqlite opened;
  sqlite3* connection = nullptr;
  constexpr int kHow = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(file.c_str(), &connection, kHow, nullptr);
  opened.connection_.reset(connection);
  if (connection == nullptr) return fail(std::errc::not_enough_memory, file + ": no memory");
  if (result != SQLITE_OK) {
    return fail(code_of(result), fmt::format("{}: {}", file, text_of(result, connection)));
  }
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kLongest);
  constexpr const char* kCare =
      "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA locking_mode = EXCLUSIVE";
  if (auto done = opened.run(kCare); !done) return tl::unexpected(done.error());
  return opened;
}

void Sqlite::keep_log(bool keep) {
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

Expected<void> Sqlite::run(const std::string& statements) {
  const int result = sqlite3_exec(connection_.get(), statements.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return failed(result, connection_.get());
  return {};
}

Expected<SqliteStatement> Sqlite::prepare(std::string_view statement) {
  sqlite3_stmt* made = nullptr;
  const int result =
      sqlite3_prepare_v3(connection_.get(), statement.data(), static_cast<int>(statement.size()),
                         SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  if (result != SQLITE_OK) return failed(result, connection_.get());
  return SqliteStatement(made);
}

Expected<std::string> Sqlite::ask(std::string_view statement) {
  auto prepared = prepare(statement);
  if (!prepared) return tl::unexpected(prepared.error());
  const auto row = prepared->step();
  if (!row) return tl::unexpected(row.error());
  return *row ? std::string(prepared->text(0)) : std::string();
}

}  // namespace weft::daemon
