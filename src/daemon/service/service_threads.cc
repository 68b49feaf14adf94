// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service_threads.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "daemon/counters_json.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

// Before one that has ended is begun anew.
constexpr Duration kServiceThreadsPause = 1s;
// For what threads are asked, which they do between two packets.
constexpr Duration kReportPatience = 200ms;
constexpr Duration kReloadPatience = 2s;

}  // namespace

struct ServiceThreads::Worked {
  const fabric::LabService* service = nullptr;
  std::string node;
  std::vector<mgmt::PortNumber> ports{};
  std::thread thread{};                       // that waits for the service's own
  std::shared_ptr<ServiceProcess> process{};  // null: it is not there just now
  std::string trouble{};                      // why not; empty: nothing is wrong
  std::uint64_t reports = 0;
  ServiceProcess::Report report{};  // the last one
  std::uint64_t wanted = 0;         // how often its rules were to be read anew
  std::uint64_t reloads = 0;
  std::optional<Expected<FirewallReload>> reload{};  // the last one
};

ServiceThreads::ServiceThreads() = default;

void ServiceThreads::end() {
  const std::lock_guard guard(mutex_);
  ending_ = true;
  changed_.notify_all();
}

ServiceThreads::~ServiceThreads() {
  end();
  {
    const std::lock_guard guard(mutex_);
    for (const auto& worked : worked_) {
      if (worked->process) worked->process->stop();
    }
  }
  for (const auto& worked : worked_) {
    if (worked->thread.joinable()) worked->thread.join();
  }
}

void ServiceThreads::add(const fabric::LabService& service, const std::string& node,
                         mgmt::PortNumber port) {
  const auto found = std::ranges::find_if(worked_, [&](const auto& worked) {
    return service.type == "router" && worked->service == &service && worked->node == node;
  });
  if (found != worked_.end()) {
    (*found)->ports.push_back(port);
    return;
  }
  auto worked = std::make_unique<Worked>();
  worked->service = &service;
  worked->node = node;
  worked->ports = {port};
  worked_.push_back(std::move(worked));
}

void ServiceThreads::start(const std::string& lab) {
  lab_ = lab;
  // Signals are for the thread that called.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (const auto& worked : worked_)
    worked->thread = std::thread([this, raw = worked.get()] { run(*raw); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool ServiceThreads::is_ending() const {
  const std::lock_guard guard(mutex_);
  return ending_;
}

void ServiceThreads::run(Worked& worked) {
  while (!is_ending()) {
    const auto served = serve(worked);
    std::shared_ptr<ServiceProcess> ended;  // goes without the lock, for it speaks to the lab
    {
      const std::lock_guard guard(mutex_);
      ended = std::exchange(worked.process, nullptr);
      changed_.notify_all();
    }
    ended.reset();
    std::unique_lock lock(mutex_);
    const std::string before = std::exchange(worked.trouble, served ? "" : served.error().message);
    if (ending_) return;
    if (!served && before != worked.trouble) {
      fmt::print(stderr, "weft: service {} at {}: {}\n", worked.service->name, worked.node,
                 worked.trouble);
    }
    changed_.wait_for(lock, kServiceThreadsPause, [this] { return ending_; });
  }
}

Expected<void> ServiceThreads::serve(Worked& worked) {
  const ServiceProcessConfig config{.place = {.lab = lab_, .node = worked.node},
                                    .service = *worked.service,
                                    .ports = worked.ports,
                                    .threads = worked.service->threads,
                                    .others = [this, &worked](std::size_t service, Bytes record) {
                                      publish(worked, service, record);
                                    }};
  std::uint64_t wanted = 0;
  {
    const std::lock_guard guard(mutex_);
    wanted = worked.wanted;
  }
  auto opened = ServiceProcess::open(config);
  if (!opened) return tl::unexpected(opened.error());
  const std::shared_ptr<ServiceProcess> process = std::move(*opened);
  {
    const std::lock_guard guard(mutex_);
    if (ending_) return {};
    worked.process = process;
    // Somebody has asked while they were read.
    if (worked.wanted != wanted) process->reload();
  }
  const auto say = [&](const std::string&) {
    const std::lock_guard guard(mutex_);
    worked.trouble.clear();
  };
  const auto reloaded = [&](const Expected<FirewallReload>& reload) {
    const std::lock_guard guard(mutex_);
    ++worked.reloads;
    worked.reload = reload;
    changed_.notify_all();
  };
  const auto reported = [&](const ServiceProcess::Report& report) {
    const std::lock_guard guard(mutex_);
    ++worked.reports;
    worked.report = report;
    changed_.notify_all();
  };
  return process->run(say, reloaded, reported);
}

void ServiceThreads::publish(const Worked& from, std::size_t service, Bytes record) const {
  for (const auto& worked : worked_) {
    if (worked.get() == &from || worked->service != from.service) continue;
    std::shared_ptr<ServiceProcess> process;
    {
      const std::lock_guard guard(mutex_);
      process = worked->process;
    }
    if (process) process->hear(service, record);
  }
}

void ServiceThreads::report(const fabric::LabService& service, const std::string& node,
                            nlohmann::json& row) const {
  const auto found = std::ranges::find_if(worked_, [&](const auto& worked) {
    return worked->service == &service && worked->node == node;
  });
  if (found == worked_.end()) return;
  const Worked& worked = **found;
  std::unique_lock lock(mutex_);
  if (worked.process) {
    const std::uint64_t before = worked.reports;
    worked.process->report_now();
    changed_.wait_for(lock, kReportPatience, [&] { return worked.reports != before; });
  }
  if (!worked.trouble.empty()) row["why"] = worked.trouble;
  row["threads"] = worked.report.packets;
  row["counters"] = counters_json(worked.report.runtime);
  row["drops"] = counters_json(worked.report.drops);
  row["service"] = counters_json(worked.report.service);
  row["port_counters"] = counters_json(worked.report.threads);
  if (service.dry_run) row["dry_run"] = true;
}

Expected<nlohmann::json> ServiceThreads::reload(const fabric::LabService& service) {
  if (const auto right = read_programs_anew(service, 1); !right) {
    return tl::unexpected(right.error());
  }
  struct Asked {
    Worked* worked;
    std::uint64_t before;
  };
  std::vector<Asked> asked;
  std::unique_lock lock(mutex_);
  for (const auto& worked : worked_) {
    if (worked->service != &service) continue;
    ++worked->wanted;
    // One that is not there reads its rules when it begins.
    if (!worked->process) continue;
    asked.push_back({worked.get(), worked->reloads});
    worked->process->reload();
  }
  const Time until = io::now() + kReloadPatience;
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [worked, before] : asked) {
    const auto done = [&, each = worked, last = before] {
      return each->reloads != last || !each->process;
    };
    if (!changed_.wait_for(lock, until - io::now(), done)) {
      return fail(
          std::errc::timed_out,
          fmt::format("the threads at {} have not said yet that they have them", worked->node));
    }
    if (worked->reloads == before) continue;  // it has ended
    if (!*worked->reload) return tl::unexpected(worked->reload->error());
    const FirewallReload& had = **worked->reload;
    rows.push_back({{"name", service.name},
                    {"node", worked->node},
                    {"port", worked->ports.front()},
                    {"rules", had.rules},
                    {"connections", had.connections},
                    {"forgotten", had.forgotten}});
  }
  return nlohmann::json{{"services", std::move(rows)}};
}

}  // namespace weft::daemon
