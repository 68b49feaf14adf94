// SPDX-License-Identifier: Apache-2.0
#include "cli/service_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/reload_view.h"
#include "cli/report_view.h"
#include "cli/service_view.h"
#include "cli/signals.h"
#include "cli/sm_place.h"
#include "cli/style.h"
#include "daemon/counters_json.h"
#include "daemon/service/service_process.h"

namespace weft::cli {
namespace {

using daemon::ServiceProcess;
using daemon::ServiceProcessConfig;
using Json = nlohmann::json;

void on_signal(ServiceProcess& process, int signal) {
  if (signal == SIGHUP) return process.reload();
  signal == SIGUSR1 ? process.report_now() : process.stop();
}

// Of those that are named, the first that this process may not run on.
std::optional<unsigned> forbidden(const std::vector<unsigned>& cores) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::nullopt;
  for (const unsigned core : cores) {
    if (core >= CPU_SETSIZE || !CPU_ISSET(core, &allowed)) return core;
  }
  return std::nullopt;
}

Json json_of(const ServiceProcess::Report& report) {
  return {{"counters", daemon::counters_json(report.runtime)},
          {"drops", daemon::counters_json(report.drops)},
          {"service", daemon::counters_json(report.service)},
          {"threads", daemon::counters_json(report.threads)},
          {"packets", report.packets},
          {"details", report.details}};
}

void print(const ServiceProcess::Report& report) {
  fmt::print("packets of each thread: {}\n", fmt::join(report.packets, " "));
  for (const auto& counters : {report.runtime, report.drops, report.service, report.threads})
    fmt::print("{}", format_counters(counters));
  print_service_details(report.details, Style::for_stream(stdout));
}

}  // namespace

void define_service_run(CLI::App& service, ServiceRunOptions& run) {
  service.add_option("WHAT", run.type, "Of NAME: reload; of run: a type");
  service
      .add_option("--node", run.node, "Of run: the node, with a service of type process in its lab")
      ->option_text("NAME");
  define_service_settings(service, run.settings, "Of run: ");
  service.add_option("--threads", run.threads, "Of run: each with flows of its own; default 1")
      ->option_text("NUMBER")
      ->check(CLI::Range(1U, ServiceProcessConfig::kMostThreads));
  service.add_option("--cores", run.cores, "Of run: on which each thread runs, in turn: 2,3")
      ->option_text("LIST")
      ->delimiter(',');
  service
      .add_option("--ports", run.ports,
                  "Of run: of the node, as in 1,2 of a router; default all of them, of others 1")
      ->option_text("LIST")
      ->delimiter(',')
      ->check(CLI::Range(1U, 254U));
  service
      .add_option("--pair", run.pair, "Of run: the node of the other one, which is told records")
      ->option_text("NAME");
}

int service_run(const ServiceRunOptions& options) {
  if (options.type.empty()) return refuse("service", "run wants a type, as in run firewall");
  if (const auto core = forbidden(options.cores)) {
    return refuse("service", fmt::format("--cores: {}: this process may not run there", *core));
  }
  const auto place = manager_place(options.lab, options.node);
  if (!place) return refuse("service", place.error().message);
  auto kind = service_of(options.type, options.settings);
  if (!kind) return refuse("service", kind.error().message);
  ServiceProcessConfig config{.place = *place,
                              .service = std::move(*kind),
                              .ports = {options.ports.begin(), options.ports.end()},
                              .threads = options.threads.value_or(1),
                              .cores = options.cores,
                              .pair = options.pair.value_or("")};
  const auto process = ServiceProcess::open(config);
  if (!process) return refuse("service", process.error().message);
  const Signals<ServiceProcess, on_signal> signals(**process, {SIGTERM, SIGINT, SIGHUP, SIGUSR1});
  ignore_broken_files();
  for (const std::string& note : (*process)->notes())
    fmt::print(stderr, "weft service: {}\n", note);
  const auto say = [&](const std::string& sentence) {
    if (options.json) return;
    fmt::print("{}\n", sentence);
    std::fflush(stdout);
  };
  const auto show = [&](const ServiceProcess::Report& report) {
    options.json ? print_json(json_of(report)) : print(report);
    std::fflush(stdout);
  };
  const auto ended = (*process)->run(
      say, [](const auto& reload) { say_reload("service", reload); }, show);
  show((*process)->report());
  if (ended) return kOk;
  fmt::print(stderr, "weft service: {}\n", ended.error().message);
  return kProblem;
}

}  // namespace weft::cli
