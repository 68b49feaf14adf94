// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/subnet_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {

SubnetDatabase::SubnetDatabase(Options options)
    : options_(std::move(options)),
      thread_(options_.file),
      due_(Time{}),
      retry_after_(options_.retry_after) {
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
  auto contents = read_contents(opened->connection, opened->version, io::wall_clock());
  if (!contents) return tl::unexpected(contents.error());
  contents_ = std::move(*contents);
  if (contents_.left_out > 0) {
    notes_.push_back(fmt::format("subnet database {}: {} records make no sense, and are left out",
                                 options_.file, contents_.left_out));
  }
  return {};
}

void SubnetDatabase::run(Time now) {
  if (auto outcome = thread_.take_outcome()) heed(std::move(*outcome), now);
  if (!due_ && waits()) due_ = now + options_.write_after;
  if (!due_ || *due_ > now) return;
  // What has become of it is looked at when that may have come to something.
  due_ = now + options_.write_after;
  if (!thread_.is_busy()) thread_.begin(next_job());
}

// Until the next run() nobody knows the time for what has come since.
std::optional<Time> SubnetDatabase::deadline() const {
  return due_ || !waits() ? due_ : std::optional(Time{});
}

DatabaseJob SubnetDatabase::next_job() {
  const bool anew = !std::exchange(is_open_, true);
  if (anew && record_all_) {
    changes_.clear();
    is_asking_ = true;
    record_all_();
    is_asking_ = false;
  }
  return {
      .anew = anew, .changes = std::exchange(changes_, {}), .events = std::exchange(events_, {})};
}

void SubnetDatabase::heed(DatabaseOutcome outcome, Time now) {
  due_ = is_open_ ? std::nullopt : std::optional(Time{});
  for (std::string& note : outcome.notes)
    notes_.push_back(std::move(note));
  if (!outcome.error) {
    counters_.add(DatabaseCounter::kTransactions);
    counters_.add(DatabaseCounter::kRows, outcome.rows);
    retry_after_ = options_.retry_after;
    if (std::exchange(trouble_, {}).empty()) return;
    notes_.push_back(fmt::format("the subnet database {} is written again", options_.file));
    return;
  }
  counters_.add(DatabaseCounter::kFailures);
  is_open_ = false;
  changes_.clear();
  // What has come meanwhile is later than what was not written.
  while (!outcome.events.empty() && events_.size() < SubnetDatabaseWriter::kMostEvents) {
    events_.push_front(std::move(outcome.events.back()));
    outcome.events.pop_back();
  }
  if (trouble_.empty()) {
    notes_.push_back(
        fmt::format("the subnet database cannot be written, and is tried again later: {}",
                    outcome.error->message));
  }
  trouble_ = outcome.error->message;
  due_ = now + retry_after_;
  retry_after_ = std::min(2 * retry_after_, options_.retry_at_most);
}

void SubnetDatabase::write_all(Time now, std::optional<Duration> end) {
  const auto finish = [&] {
    thread_.wait();
    if (auto outcome = thread_.take_outcome()) heed(std::move(*outcome), now);
  };
  finish();
  if (is_open_ && !waits() && !end) return;
  DatabaseJob job = next_job();
  job.end = end;
  thread_.begin(std::move(job));
  finish();
}

void SubnetDatabase::close(Time now) {
  write_all(now, io::wall_clock());
}

Expected<PastTopology> SubnetDatabase::topology(Time now, std::size_t most) {
  write_all(now, std::nullopt);
  if (!trouble_.empty()) return fail(std::errc::io_error, trouble_);
  return thread_.topology(most);
}

// While the file is not open, nothing need wait: all is going to be recorded anew.
void SubnetDatabase::add(SubnetChange change) {
  if (!is_open_) return;
  if (changes_.size() >= options_.most_changes && !is_asking_) {
    is_open_ = false;
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

void SubnetDatabase::record_subscription(const sm::SubscriptionState& subscription) {
  add(SubscriptionChange{
      .subscription = std::make_unique<const sm::SubscriptionState>(subscription),
      .is_there = true});
}

void SubnetDatabase::forget_subscription(const sm::SubscriptionState& subscription) {
  add(SubscriptionChange{.subscription =
                             std::make_unique<const sm::SubscriptionState>(subscription)});
}

void SubnetDatabase::record_alias(const sm::AliasGuid& alias) {
  add(AliasChange{.port = alias.port, .index = alias.index, .guid = alias.guid});
}

void SubnetDatabase::forget_alias(Guid port, std::uint8_t index) {
  add(AliasChange{.port = port, .index = index});
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
