// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/subnet_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {

SubnetDatabase::SubnetDatabase(Options options)
    : options_(std::move(options)), due_(Time{}), retry_after_(options_.retry_after) {
}

Expected<std::unique_ptr<SubnetDatabase>> SubnetDatabase::open(Options options) {
  std::unique_ptr<SubnetDatabase> database(new SubnetDatabase(std::move(options)));
  if (auto done = database->read(); !done) {
    if (done.error().code == std::errc::invalid_argument) return tl::unexpected(done.error());
    database->counters_.add(DatabaseCounter::kFailures);
    database->trouble_ = done.error().message;
    database->notes_.push_back(
        fmt::format("the subnet database cannot be used, and nothing of before is known: {}",
                    done.error().message));
  }
  return database;
}

Expected<void> SubnetDatabase::read() {
  auto opened = SubnetDatabaseFile::open(options_.file);
  if (!opened) return tl::unexpected(opened.error());
  if (!opened->set_aside.empty()) notes_.push_back(opened->set_aside);
  auto contents = read_contents(opened->connection, io::wall_clock());
  if (!contents) return tl::unexpected(contents.error());
  contents_ = std::move(*contents);
  if (contents_.left_out > 0) {
    notes_.push_back(fmt::format("subnet database {}: {} records make no sense, and are left out",
                                 options_.file, contents_.left_out));
  }
  return {};
}

void SubnetDatabase::run(Time now) {
  if (!due_ && waits()) due_ = now + options_.write_after;
  if (!due_ || *due_ > now) return;
  due_.reset();
  auto done = begin();
  if (done) done = write(options_.rows_at_once, options_.rows_at_once);
  if (!done) return failed(done.error(), now);
  // The rest at once, but after whatever else waits.
  if (waits()) due_ = now;
}

// Until the next run() nobody knows the time for what has come since.
std::optional<Time> SubnetDatabase::deadline() const {
  return due_ || !waits() ? due_ : std::optional(Time{});
}

Expected<void> SubnetDatabase::begin() {
  if (writer_) return {};
  auto done = begin_anew();
  if (!done) {
    writer_.reset();
    return done;
  }
  if (!std::exchange(trouble_, {}).empty()) {
    notes_.push_back(fmt::format("the subnet database {} is written again", options_.file));
  }
  retry_after_ = options_.retry_after;
  return {};
}

Expected<void> SubnetDatabase::begin_anew() {
  auto opened = SubnetDatabaseFile::open(options_.file);
  if (!opened) return tl::unexpected(opened.error());
  if (!opened->set_aside.empty()) notes_.push_back(opened->set_aside);
  auto writer = SubnetDatabaseWriter::open(std::move(opened->connection));
  if (!writer) return tl::unexpected(writer.error());
  writer_ = std::move(*writer);
  identity_ = identity_of(options_.file);
  changes_.clear();
  is_asking_ = true;
  if (record_all_) record_all_();
  is_asking_ = false;
  // In one transaction: who dies in the middle of it has what was true before.
  auto done = writer_->begin();
  if (done) done = writer_->clear();
  for (const SubnetChange& change : changes_) {
    if (done) done = writer_->write(change);
  }
  if (done) done = writer_->commit(io::wall_clock());
  if (!done) return done;
  counters_.add(DatabaseCounter::kTransactions);
  counters_.add(DatabaseCounter::kRows, changes_.size());
  changes_.clear();
  return {};
}

Expected<void> SubnetDatabase::write(std::size_t changes, std::size_t events) {
  changes = std::min(changes, changes_.size());
  events = std::min(events, events_.size());
  if (changes + events == 0) return {};
  // SQLite would go on with a file that nobody will ever find again.
  if (identity_of(options_.file) != identity_) {
    return fail(std::errc::no_such_file_or_directory,
                options_.file + ": it has been moved or removed");
  }
  auto done = writer_->begin();
  for (std::size_t i = 0; done && i < changes; ++i)
    done = writer_->write(changes_[i]);
  for (std::size_t i = 0; done && i < events; ++i)
    done = writer_->write(events_[i]);
  if (done) done = writer_->commit(io::wall_clock());
  if (!done) return done;
  changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(changes));
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(events));
  counters_.add(DatabaseCounter::kTransactions);
  counters_.add(DatabaseCounter::kRows, changes + events);
  return {};
}

Expected<void> SubnetDatabase::write_all() {
  auto done = begin();
  if (done) done = write(changes_.size(), events_.size());
  return done;
}

void SubnetDatabase::failed(const Error& error, Time now) {
  counters_.add(DatabaseCounter::kFailures);
  writer_.reset();
  changes_.clear();
  if (trouble_.empty()) {
    notes_.push_back(fmt::format(
        "the subnet database cannot be written, and is tried again later: {}", error.message));
  }
  trouble_ = error.message;
  due_ = now + retry_after_;
  retry_after_ = std::min(2 * retry_after_, options_.retry_at_most);
}

void SubnetDatabase::close(Time now) {
  auto done = write_all();
  if (done) done = writer_->begin();
  if (done) done = writer_->end_topology(io::wall_clock());
  if (done) done = writer_->commit(io::wall_clock());
  if (!done) failed(done.error(), now);
  writer_.reset();
}

Expected<PastTopology> SubnetDatabase::topology(Time now, std::size_t most) {
  if (auto done = write_all(); !done) {
    failed(done.error(), now);
    return tl::unexpected(done.error());
  }
  return read_topology(writer_->connection(), most);
}

// While the file is not open, nothing need wait: all is going to be recorded anew.
void SubnetDatabase::add(SubnetChange change) {
  if (!writer_) return;
  if (changes_.size() >= options_.most_changes && !is_asking_) {
    writer_.reset();
    changes_.clear();
    due_ = Time{};
    return;
  }
  changes_.push_back(std::move(change));
}

void SubnetDatabase::record_lid(Guid port, const sm::LidRange& lids) {
  add(LidChange{.port = port, .lids = lids});
}

void SubnetDatabase::forget_lid(Guid port) {
  add(LidChange{.port = port});
}

void SubnetDatabase::record_group(const wire::MemberRecord& like, bool lasting) {
  add(GroupChange{.mgid = like.mgid,
                  .lasting = lasting,
                  .like = std::make_unique<const wire::MemberRecord>(like)});
}

void SubnetDatabase::forget_group(const Gid& mgid) {
  add(GroupChange{.mgid = mgid});
}

void SubnetDatabase::record_member(const Gid& mgid, const Gid& port,
                                   const sm::GroupMember& member) {
  add(MemberChange{.mgid = mgid, .port = port, .member = member});
}

void SubnetDatabase::forget_member(const Gid& mgid, const Gid& port) {
  add(MemberChange{.mgid = mgid, .port = port});
}

void SubnetDatabase::record_service(const sm::ServiceState& service) {
  ServiceChange change{.record = std::make_unique<const wire::ServiceRecord>(service.record),
                       .is_there = true};
  if (service.left) change.ends = io::wall_clock() + *service.left;
  add(std::move(change));
}

void SubnetDatabase::forget_service(const wire::ServiceRecord& service) {
  add(ServiceChange{.record = std::make_unique<const wire::ServiceRecord>(service)});
}

void SubnetDatabase::record_node(const sm::TopologyNode& node, bool is_there) {
  add(NodeChange{.when = io::wall_clock(), .is_there = is_there, .node = node});
}

void SubnetDatabase::record_link(const sm::TopologyLink& link, bool is_up) {
  add(LinkChange{.when = io::wall_clock(), .is_up = is_up, .link = link});
}

void SubnetDatabase::record_event(const sm::ManagerEvent& event) {
  if (events_.size() >= SubnetDatabaseWriter::kMostEvents) events_.pop_front();
  events_.push_back({.when = io::wall_clock(), .what = event});
}

}  // namespace weft::daemon
