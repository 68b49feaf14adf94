// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service_process.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {

namespace {

// What others know, such as rates and files, is for one instance alone.
bool may_be_several(const fabric::LabService& service) {
  return service.type == "firewall" || service.type == "router";
}

Expected<void> check(const ServiceProcessConfig& config) {
  if (config.threads > 1 && !may_be_several(config.service)) {
    return fail(std::errc::invalid_argument,
                fmt::format("a {} works in one thread; firewalls and routers may have several",
                            config.service.type));
  }
  if (config.ports.size() > 1 && config.service.type != "router") {
    return fail(
        std::errc::invalid_argument,
        fmt::format("a {} works at one port, and a router at several", config.service.type));
  }
  for (auto port = config.ports.begin(); port != config.ports.end(); ++port) {
    if (std::find(config.ports.begin(), port, *port) == port) continue;
    return fail(std::errc::invalid_argument, fmt::format("port {} is named twice", *port));
  }
  return {};
}

}  // namespace

Expected<void> ServiceProcess::add_worker(std::size_t i) {
  auto made = make_service_outside(config_.service, {.node = config_.place.node}, entropy_, log_);
  if (!made) return tl::unexpected(made.error());
  ServiceWorker::Services services;
  if (made->before) services.push_back(std::move(made->before));
  services.push_back(std::move(made->service));
  ServiceWorker::Config own{.place = config_.place,
                            .ports = config_.ports,
                            .subscribes = i == 0,
                            .chain = chain_of(config_.service),
                            .in_subnet = made->in_subnet};
  if (config_.ports.empty() && config_.service.type != "router") own.ports = {1};
  made_.push_back(std::move(*made));
  if (!config_.cores.empty()) own.core = config_.cores[i % config_.cores.size()];
  ServiceWorker::Peers& peers = *this;
  auto worker = ServiceWorker::open(own, std::move(services), peers);
  if (!worker) return tl::unexpected(worker.error());
  workers_.push_back(std::move(*worker));
  return {};
}

Expected<std::unique_ptr<ServiceProcess>> ServiceProcess::open(const ServiceProcessConfig& config) {
  if (auto right = check(config); !right) return tl::unexpected(right.error());
  std::unique_ptr<ServiceProcess> process(new ServiceProcess(config));
  auto reactor = io::Reactor::create(0us);
  if (!reactor) return tl::unexpected(reactor.error());
  process->reactor_ = std::move(*reactor);
  for (std::size_t i = 0; i < config.threads; ++i) {
    if (auto added = process->add_worker(i); !added) return tl::unexpected(added.error());
  }
  if (!config.pair.empty()) {
    auto pair = PairLink::open(
        config.place, config.pair, *process->reactor_,
        [raw = process.get()](std::size_t service, Bytes record) { raw->hear(service, record); });
    if (!pair) return tl::unexpected(pair.error());
    process->pair_ = std::move(*pair);
  }
  if (!process->workers_.front()->subscribed()) {
    process->notes_.emplace_back(
        "another program on the node is told when paths change, and this one is not: answers that "
        "have become others are known up to 300 s late");
  }
  return process;
}

Expected<void> ServiceProcess::run(const Say& say, const Reloaded& reloaded,
                                   const Reported& reported) {
  for (const auto& worker : workers_) {
    if (auto begun = worker->begin(); !begun) return begun;
  }
  say(fmt::format("{} serves on node {} in {} thread{}", config_.service.type, config_.place.node,
                  config_.threads, config_.threads == 1 ? "" : "s"));
  // Signals are for the thread that called.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::vector<std::thread> threads;
  running_ = workers_.size();
  for (const auto& worker : workers_)
    threads.emplace_back([this, raw = worker.get()] { end_of_thread(raw->run()); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  auto awaited = await_threads(say, reloaded, reported);
  if (!awaited) stop();
  for (std::thread& thread : threads)
    thread.join();
  return awaited ? outcome_ : awaited;
}

// Where one ends, all do.
void ServiceProcess::end_of_thread(const Expected<void>& ended) {
  {
    const std::lock_guard guard(mutex_);
    if (!ended && outcome_) outcome_ = ended;
  }
  --running_;
  stop();
  reactor_->wake();
}

Expected<void> ServiceProcess::await_threads(const Say& say, const Reloaded& reloaded,
                                             const Reported& reported) {
  bool there = false;
  while (running_.load() > 0) {
    if (under_way_ && under_way_->left.load() == 0) {
      const auto done = std::exchange(under_way_, nullptr);
      if (done->report && reported) reported(*done->report);
      if (!done->report && reloaded) reloaded(done->done);
    }
    if (!under_way_ && reload_.exchange(false)) {
      const auto begun = begin_reload();
      if (!begun && reloaded) reloaded(tl::unexpected(begun.error()));
    }
    if (!under_way_ && report_.exchange(false)) begin_report();
    if (pair_) pair_->run(io::now());
    if (pair_ && pair_->is_connected() != there) {
      there = !there;
      say(fmt::format("the one on node {} is {}", config_.pair,
                      there ? "told what is connected" : "gone"));
    }
    const auto turn = reactor_->run_once(pair_ ? PairLink::kPause : -1ns);
    if (!turn) return tl::unexpected(turn.error());
  }
  return {};
}

// Each thread exchanges its own, and none hears by old rules what another one tells by new ones.
Expected<void> ServiceProcess::begin_reload() {
  auto programs = read_programs_anew(config_.service, workers_.size());
  if (!programs) return tl::unexpected(programs.error());
  std::vector<std::shared_ptr<service::firewall::Program>> made;
  for (service::firewall::Program& program : *programs)
    made.push_back(std::make_shared<service::firewall::Program>(std::move(program)));
  order(std::make_shared<UnderWay>(), [this, made](UnderWay& all, std::size_t i, Time now) {
    const FirewallReload done = exchange(*made_[i].firewall, std::move(*made[i]), now);
    const std::lock_guard guard(all.mutex);
    if (all.done.rules == 0 || done.forgotten > all.done.forgotten) all.done = done;
  });
  return {};
}

void ServiceProcess::begin_report() {
  auto all = std::make_shared<UnderWay>();
  all->report.emplace();
  order(std::move(all), [this](UnderWay& said, std::size_t i, Time) {
    const std::lock_guard guard(said.mutex);
    add_to(*said.report, i);
  });
}

void ServiceProcess::order(std::shared_ptr<UnderWay> under_way,
                           const std::function<void(UnderWay&, std::size_t thread, Time)>& what) {
  under_way->left = workers_.size();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->prepare([this, under_way, what, i](Time now) {
      what(*under_way, i, now);
      if (under_way->left.fetch_sub(1) == 1) reactor_->wake();
    });
  }
  under_way_ = std::move(under_way);
  ++orders_;
  for (const auto& worker : workers_)
    worker->wake();
}

void ServiceProcess::reload() {
  reload_.store(true);
  reactor_->wake();
}

void ServiceProcess::report_now() {
  report_.store(true);
  reactor_->wake();
}

void ServiceProcess::stop() {
  for (const auto& worker : workers_)
    worker->stop();
}

bool ServiceProcess::publish(const ServiceWorker& from, std::size_t service, Bytes record) {
  for (const auto& worker : workers_) {
    if (worker.get() != &from) worker->tell(service, record);
  }
  if (config_.others) config_.others(service, record);
  return !pair_ || pair_->tell(service, record);
}

void ServiceProcess::hear(std::size_t service, Bytes record) {
  for (const auto& worker : workers_)
    worker->tell(service, record);
}

void ServiceProcess::paths_changed(const ServiceWorker& from) {
  for (const auto& worker : workers_) {
    if (worker.get() != &from) worker->forget_paths();
  }
}

void ServiceProcess::add_to(Report& report, std::size_t i) const {
  const ServiceWorker& worker = *workers_[i];
  accumulate(report.runtime, worker.counters().snapshot());
  accumulate(report.drops, worker.drops());
  accumulate(report.service, worker.service_counters());
  accumulate(report.threads, worker.own_counters());
  report.packets.resize(workers_.size());
  report.packets[i] = worker.counters().get(service::RuntimeCounter::kPackets);
  if (workers_.size() == 1 && made_[i].describe) report.details = made_[i].describe();
}

ServiceProcess::Report ServiceProcess::report() const {
  Report out;
  for (std::size_t i = 0; i < workers_.size(); ++i)
    add_to(out, i);
  return out;
}

}  // namespace weft::daemon
