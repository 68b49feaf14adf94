// SPDX-License-Identifier: Apache-2.0
// A data service as a process of its own on a node of a lab that has a place for one (type
// "process"): threads of which each is a program on the node's adapter (service_worker.h), with an
// instance of the service in each. They tell each other what all must know.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "daemon/service/firewall_log.h"
#include "daemon/service/firewall_rules.h"
#include "daemon/service/pair_link.h"
#include "daemon/service/service_maker.h"
#include "daemon/service/service_worker.h"
#include "fabric/lab_service.h"
#include "io/reactor.h"
#include "io/system_entropy.h"
#include "umad/connection.h"

namespace weft::daemon {

struct ServiceProcessConfig {
  static constexpr unsigned kMostThreads = 64;
  umad::Place place;
  fabric::LabService service{};  // its type, and what that wants
  // Of the node: a router's, or one of another service; none: all that it has of a router, of
  // another one the first.
  std::vector<mgmt::PortNumber> ports{};
  unsigned threads = 1;  // 1 to kMostThreads
  // On which core each thread is to run, in turn; none: wherever.
  std::vector<unsigned> cores{};
  std::string pair{};  // node of the pair's other member; empty: there is none
  // Other instances in this process, which hear() what is told them: called by any thread. Empty:
  // there are none.
  std::function<void(std::size_t service, Bytes record)> others{};
};

class ServiceProcess final : private ServiceWorker::Peers {
 public:
  // Errors: the service's own file cannot be read or is wrong; there is no such type; a type that
  // works in one thread or at one port, and more are wanted; those of ServiceWorker::open() and
  // PairLink::open().
  static Expected<std::unique_ptr<ServiceProcess>> open(const ServiceProcessConfig& config);

  struct Report;
  // Serves until stop(). `say` hears, in sentences, that packets come to it, and that the other one
  // of the pair is there; `reloaded` what came of reload(), `reported` what report_now() has asked
  // for. Errors: those of ServiceWorker::begin() and run().
  using Say = std::function<void(const std::string& sentence)>;
  using Reloaded = std::function<void(const Expected<FirewallReload>& reload)>;
  using Reported = std::function<void(const Report& report)>;
  Expected<void> run(const Say& say, const Reloaded& reloaded = {}, const Reported& reported = {});
  // From any thread, and from signal handlers.
  void stop();
  // Likewise: the rules are read anew, and exchanged in all threads as one, if they are right.
  void reload();
  // Likewise: each thread says what it has counted.
  void report_now();

  // Any thread: what another instance has published.
  void hear(std::size_t service, Bytes record);

  // Sentences for who starts it.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // Of all threads together, when run() has returned: what the runtime did, what the service drops
  // for which reasons, what else it counts, and what the threads do.
  struct Report {
    std::vector<CounterValue> runtime;
    std::vector<CounterValue> drops;
    std::vector<CounterValue> service;
    std::vector<CounterValue> threads;
    std::vector<std::uint64_t> packets;  // that came to each thread
    nlohmann::json details;              // of a single thread: what services of its type know
  };
  [[nodiscard]] Report report() const;

 private:
  explicit ServiceProcess(ServiceProcessConfig config) : config_(std::move(config)) {}
  Expected<void> add_worker(std::size_t i);
  bool publish(const ServiceWorker& from, std::size_t service, Bytes record) override;
  void paths_changed(const ServiceWorker& from) override;
  [[nodiscard]] std::uint64_t orders() const override { return orders_.load(); }
  void end_of_thread(const Expected<void>& ended);
  Expected<void> await_threads(const Say& say, const Reloaded& reloaded, const Reported& reported);
  Expected<void> begin_reload();
  void begin_report();
  // What thread `i` has counted, by itself or when it has ended.
  void add_to(Report& report, std::size_t i) const;

  const ServiceProcessConfig config_;
  io::SystemEntropy entropy_;
  std::unique_ptr<io::Reactor> reactor_;  // of the thread that calls run()
  FirewallLog log_;
  std::vector<MadeService> made_;  // but for the services themselves, which are in the workers
  std::atomic<std::uint64_t> orders_{0};
  std::vector<std::unique_ptr<ServiceWorker>> workers_;
  std::unique_ptr<PairLink> pair_;  // null: none
  std::atomic<std::size_t> running_{0};
  std::atomic<bool> reload_{false};
  std::atomic<bool> report_{false};
  // Of what all threads do once: exchange their rules, or say what they have counted. Threads know
  // it too.
  struct UnderWay {
    std::atomic<std::size_t> left;  // threads that have not yet
    std::mutex mutex;
    FirewallReload done{};  // where most was forgotten
    // Of those that have said it; nothing: rules are exchanged.
    std::optional<Report> report{};
  };
  // Tells each thread its own.
  void order(std::shared_ptr<UnderWay> under_way,
             const std::function<void(UnderWay&, std::size_t thread, Time)>& what);
  std::shared_ptr<UnderWay> under_way_;  // null: nothing is
  std::mutex mutex_;                     // of `outcome_`
  Expected<void> outcome_;
  std::vector<std::string> notes_;
};

}  // namespace weft::daemon
