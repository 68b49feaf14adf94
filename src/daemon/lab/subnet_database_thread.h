// SPDX-License-Identifier: Apache-2.0
// The thread that writes a subnet database: a disk may take a tenth of a second and more to confirm
// what it was given, and its owner has packets to forward meanwhile. One job at a time is in hand.
// The thread begins with the first one, so that the process may fork before.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/subnet_database_file.h"
#include "daemon/lab/subnet_database_rows.h"

namespace weft::daemon {

// What is to be written, in one transaction.
struct DatabaseJob {
  // The file is opened, and what it has of changes gives way to these; otherwise it is open.
  bool anew = false;
  std::deque<SubnetChange> changes{};
  std::deque<PastEvent> events{};
  // All nodes and links are gone since then, on the wall's clock, and the file is let go of.
  std::optional<Duration> end{};
};

struct DatabaseOutcome {
  // Nothing of the job is written, and the file is not open.
  std::optional<Error> error{};
  std::vector<std::string> notes{};  // sentences for people
  std::size_t rows = 0;              // that are written
  std::deque<PastEvent> events{};    // that are not
};

class SubnetDatabaseThread {
 public:
  explicit SubnetDatabaseThread(std::string file) : file_(std::move(file)) {}
  // Waits for the job in hand.
  ~SubnetDatabaseThread();
  SubnetDatabaseThread(const SubnetDatabaseThread&) = delete;
  SubnetDatabaseThread& operator=(const SubnetDatabaseThread&) = delete;

  // From a job until its outcome was taken.
  [[nodiscard]] bool is_busy() const { return is_busy_; }
  // Not while it is busy.
  void begin(DatabaseJob job);
  // Nothing: it is not busy, or the job has not ended.
  std::optional<DatabaseOutcome> take_outcome();
  // Until the job in hand has ended.
  void wait();
  // Reads, on the caller's thread. Not while it is busy, nor after a job that failed.
  Expected<PastTopology> topology(std::size_t most);

 private:
  void run();
  DatabaseOutcome carry_out(DatabaseJob job);
  Expected<void> open(std::vector<std::string>& notes);
  Expected<void> write(const DatabaseJob& job);

  const std::string file_;
  bool is_busy_ = false;  // the owner's
  std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex.
  std::optional<DatabaseJob> job_;
  std::optional<DatabaseOutcome> outcome_;
  bool stopping_ = false;
  // Of the thread while it is busy, else of the owner.
  std::optional<SubnetDatabaseWriter> writer_;
  std::optional<FileIdentity> identity_;  // of what it writes to
  std::thread thread_;
};

}  // namespace weft::daemon
