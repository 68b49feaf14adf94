// SPDX-License-Identifier: Apache-2.0
// The subnet management database of a lab: what its subnet manager and administrator remember, on
// SQLite (subnet_database_file.h says what becomes of files that cannot be used).
//
//   auto database = SubnetDatabase::open({.file = path});
//   … hand (*database)->load() and the database itself to the cores …
//   (*database)->set_source([&] { manager.record_all(); administrator.record_all(now); });
//   … run(now) after what happened, and at deadline(); close(now) before the cores go …
//
// What is recorded waits, and a quarter of a second later at most a thread begins to write it
// (subnet_database_thread.h): nothing here waits for a disk but open(), topology() and close().
// Between load() and the first run() nothing is open, and there is no thread, so that the process
// may fork. When something cannot be written, the database says so once, lets go of the file, and
// comes back to it after one second, two, four, … sixty: then it asks for all that is true by now,
// opens the file as at the beginning, and writes that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/subnet_database_rows.h"
#include "daemon/lab/subnet_database_thread.h"
#include "sm/subnet_store.h"

namespace weft::daemon {

enum class DatabaseCounter : std::uint8_t { kRows, kTransactions, kFailures, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(DatabaseCounter::kCount)>
    kDatabaseCounters{{
        {"db_rows", "changes and events that were written to the subnet database"},
        {"db_transactions", "transactions in which they were"},
        {"db_failures", "times that the subnet database could not be opened or written"},
    }};

class SubnetDatabase final : public sm::SubnetStore {
 public:
  struct Options {
    std::string file;
    Duration write_after = 250ms;  // the first change that waits
    Duration retry_after = 1s;     // a failure; twice as long after each further one
    Duration retry_at_most = 60s;
    std::size_t most_changes = 250'000;  // that wait; beyond them all is recorded anew
  };

  // Reads what there is. A file that cannot be read is no error: notes() say so. invalid_argument:
  // it is another program's database.
  static Expected<std::unique_ptr<SubnetDatabase>> open(Options options);
  ~SubnetDatabase() override = default;

  // What open() has found, once.
  [[nodiscard]] sm::StoredSubnet load() override { return std::move(contents_.subnet); }
  [[nodiscard]] std::vector<PastEvent> load_events() { return std::move(contents_.events); }
  // What its owner is to say to people since the last call: sentences.
  [[nodiscard]] std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  // Called from inside of run(), topology() and close(): records all that is true by now but
  // events.
  void set_source(std::function<void()> record_all) { record_all_ = std::move(record_all); }
  // Has written what is due, and learns what has become of what was due before.
  void run(Time now);
  // Until the thread has ended what it has in hand; the next run() knows of it.
  void wait() { thread_.wait(); }
  [[nodiscard]] std::optional<Time> deadline() const;
  // Writes all that waits, and then that all nodes and links are gone: the lab is at its end. What
  // fails now is lost. Nothing else is called after it.
  void close(Time now);

  // From the file itself, with all that waits. Errors: it cannot be written or read just now.
  Expected<PastTopology> topology(Time now, std::size_t most);

  [[nodiscard]] const std::string& file() const { return options_.file; }
  // Why it is not written just now; empty: it is.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] const CounterSet<DatabaseCounter, kDatabaseCounters>& counters() const {
    return counters_;
  }

  void record_lid(Guid port, const sm::LidRange& lids) override;
  void forget_lid(Guid port) override;
  void record_group(const wire::MemberRecord& like, bool lasting) override;
  void forget_group(const Gid& mgid) override;
  void record_member(const Gid& mgid, const Gid& port, const sm::GroupMember& member) override;
  void forget_member(const Gid& mgid, const Gid& port) override;
  void record_service(const sm::ServiceState& service) override;
  void forget_service(const wire::ServiceRecord& service) override;
  void record_subscription(const sm::SubscriptionState& subscription) override;
  void forget_subscription(const sm::SubscriptionState& subscription) override;
  void record_alias(const sm::AliasGuid& alias) override;
  void forget_alias(Guid port, std::uint8_t index) override;
  void record_node(const sm::TopologyNode& node, bool is_there) override;
  void record_link(const sm::TopologyLink& link, bool is_up) override;
  void record_event(const sm::ManagerEvent& event) override;

 private:
  explicit SubnetDatabase(Options options);
  [[nodiscard]] bool waits() const { return !changes_.empty() || !events_.empty(); }
  Expected<void> read();
  void add(SubnetChange change);
  // All that waits, or if the file is not open all that is true.
  [[nodiscard]] DatabaseJob next_job();
  void heed(DatabaseOutcome outcome, Time now);
  // Waits for what is in hand, and for that all else is written too.
  void write_all(Time now, std::optional<Duration> end);

  const Options options_;
  std::function<void()> record_all_;
  SubnetDatabaseContents contents_;
  std::vector<std::string> notes_;
  SubnetDatabaseThread thread_;
  bool is_open_ = false;              // else all is to be recorded anew
  bool is_asking_ = false;            // for all
  std::deque<SubnetChange> changes_;  // that wait
  std::deque<PastEvent> events_;      // no more than the file keeps
  std::optional<Time> due_;
  Duration retry_after_;
  std::string trouble_;
  CounterSet<DatabaseCounter, kDatabaseCounters> counters_;
};

}  // namespace weft::daemon
