// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/subnet_database_thread.h"

#include <signal.h>

#include <cassert>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {

SubnetDatabaseThread::~SubnetDatabaseThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SubnetDatabaseThread::begin(DatabaseJob job) {
  assert(!is_busy_);
  is_busy_ = true;
  {
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
  }
  changed_.notify_all();
  if (thread_.joinable()) return;
  // Signals are for the thread that waits in the reactor.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::optional<DatabaseOutcome> SubnetDatabaseThread::take_outcome() {
  if (!is_busy_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!outcome_) return std::nullopt;
  is_busy_ = false;
  return std::exchange(outcome_, std::nullopt);
}

void SubnetDatabaseThread::wait() {
  if (!is_busy_) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return outcome_.has_value(); });
}

Expected<PastTopology> SubnetDatabaseThread::topology(std::size_t most) {
  assert(!is_busy_ && writer_);
  return read_topology(writer_->connection(), most);
}

void SubnetDatabaseThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || job_; });
    if (!job_) return;
    DatabaseJob job = *std::exchange(job_, std::nullopt);
    lock.unlock();
    DatabaseOutcome outcome = carry_out(std::move(job));
    lock.lock();
    outcome_ = std::move(outcome);
    changed_.notify_all();
  }
}

DatabaseOutcome SubnetDatabaseThread::carry_out(DatabaseJob job) {
  DatabaseOutcome outcome;
  Expected<void> done;
  if (job.anew) done = open(outcome.notes);
  if (done) done = write(job);
  if (done) {
    outcome.rows = job.changes.size() + job.events.size();
  } else {
    outcome.error = done.error();
    outcome.events = std::move(job.events);
  }
  if (!done || job.end) writer_.reset();
  return outcome;
}

Expected<void> SubnetDatabaseThread::open(std::vector<std::string>& notes) {
  writer_.reset();
  auto opened = SubnetDatabaseFile::open(file_);
  if (!opened) return tl::unexpected(opened.error());
  if (!opened->set_aside.empty()) notes.push_back(opened->set_aside);
  if (auto upgraded = opened->upgrade(); !upgraded) return upgraded;
  auto writer = SubnetDatabaseWriter::open(std::move(opened->connection));
  if (!writer) return tl::unexpected(writer.error());
  writer_ = std::move(*writer);
  identity_ = identity_of(file_);
  return {};
}

// In one transaction: who dies in the middle of it has what was true before.
Expected<void> SubnetDatabaseThread::write(const DatabaseJob& job) {
  // SQLite would go on with a file that nobody will ever find again.
  if (identity_of(file_) != identity_) {
    return fail(std::errc::no_such_file_or_directory, file_ + ": it has been moved or removed");
  }
  auto done = writer_->begin();
  if (done && job.anew) done = writer_->clear();
  for (const SubnetChange& change : job.changes) {
    if (done) done = writer_->write(change);
  }
  for (const PastEvent& event : job.events) {
    if (done) done = writer_->write(event);
  }
  if (done && job.end) done = writer_->end_topology(*job.end);
  if (done) done = writer_->commit(io::wall_clock());
  return done;
}

}  // namespace weft::daemon
