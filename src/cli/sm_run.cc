// SPDX-License-Identifier: Apache-2.0
#include "cli/sm_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/database_place.h"
#include "cli/event_view.h"
#include "cli/sm_place.h"
#include "daemon/lab/manager_process.h"
#include "fabric/lab_file.h"
#include "fabric/subnet_prefix.h"
#include "io/clock.h"
#include "io/text_file.h"

namespace weft::cli {
namespace {

// For the signal handler, which is told nothing.
std::atomic<daemon::ManagerProcess*> managing{nullptr};

void on_signal(int) {
  if (daemon::ManagerProcess* const process = managing.load()) process->stop();
}

void handle_signals(daemon::ManagerProcess& process) {
  managing = &process;
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP})
    sigaction(signal, &action, nullptr);
}

// The file by which the manager remembers; empty: none.
std::string database_of(const SmRunOptions& options, const umad::Place& place, std::uint32_t port) {
  if (options.database == fabric::kNoDatabase) return "";
  if (options.database) return std::filesystem::absolute(*options.database);
  const std::string lab = std::filesystem::path(place.lab).filename();
  const auto usual = usual_database(lab, fmt::format("subnet-{}:{}.db", place.node, port));
  if (usual) return *usual;
  fmt::print(stderr, "weft sm: nothing is remembered: {}\n", usual.error().message);
  return "";
}

// Nothing: it is none.
std::optional<std::uint64_t> prefix_of(const SmRunOptions& options) {
  if (!options.subnet_prefix) return fabric::kDefaultSubnetPrefix;
  const auto prefix = parse_gid_prefix(*options.subnet_prefix);
  return prefix ? fabric::subnet_of(*prefix) : std::nullopt;
}

fabric::LabManagement management_of(const SmRunOptions& options, std::uint64_t subnet_prefix) {
  fabric::LabManagement out;
  out.engine = options.engine.value_or(out.engine);
  out.lmc = static_cast<std::uint8_t>(options.lmc.value_or(out.lmc));
  out.priority = static_cast<std::uint8_t>(options.priority.value_or(out.priority));
  out.subnet_prefix = subnet_prefix;
  out.partitions = options.partitions.value_or("");
  out.qos = options.qos.value_or("");
  out.prefix_routes = options.prefix_routes.value_or("");
  out.mkeys = options.mkeys.value_or("");
  if (options.mkey_protect) out.mkey_protect = static_cast<std::uint8_t>(*options.mkey_protect);
  return out;
}

// The lab file whose services and rules the manager is to have.
Expected<std::optional<fabric::Lab>> policies_of(const SmRunOptions& options) {
  if (!options.policies) return std::nullopt;
  const auto text = io::read_text_file(*options.policies, fabric::kMostFile);
  if (!text) return tl::unexpected(text.error());
  auto lab = fabric::parse_lab(*text, *options.policies);
  if (!lab) return tl::unexpected(lab.error());
  return std::move(*lab);
}

}  // namespace

int sm_run(const SmRunOptions& options) {
  if (options.mkey_protect && !options.mkeys) {
    return refuse("sm",
                  "--mkey-protect is for ports that have keys: say where they are kept, "
                  "with --mkeys FILE");
  }
  const auto prefix = prefix_of(options);
  if (!prefix) {
    return refuse("sm", fmt::format("--subnet-prefix: {}: {}", *options.subnet_prefix,
                                    fabric::kSubnetPrefixWanted));
  }
  auto policies = policies_of(options);
  if (!policies) return refuse("sm", policies.error().message);
  auto place = manager_place(options.lab, options.node);
  if (!place) return refuse("sm", place.error().message);
  const auto port =
      options.port ? Expected<std::uint32_t>(*options.port) : daemon::usual_manager_port(*place);
  if (!port) return refuse("sm", port.error().message);
  const std::string database = database_of(options, *place, *port);
  const daemon::ManagerProcessConfig config{.place = std::move(*place),
                                            .port = *port,
                                            .management = management_of(options, *prefix),
                                            .policies = std::move(*policies),
                                            .database = database,
                                            .once = options.once};
  const bool json = options.json;
  const auto process = daemon::ManagerProcess::open(config, [json](const sm::ManagerEvent& event) {
    // Where there is no room for what it says, it goes on all the same.
    if (std::ferror(stdout) != 0) return;
    print_event(std::chrono::duration<double>(io::wall_clock()).count(),
                std::string(sm::to_string(event.kind)), event.text, json);
    std::fflush(stdout);
  });
  if (!process) return refuse("sm", process.error().message);
  handle_signals(**process);
  const auto ended = (*process)->run();
  managing = nullptr;
  if (ended) return kOk;
  fmt::print(stderr, "weft sm: {}\n", ended.error().message);
  return kProblem;
}

}  // namespace weft::cli
