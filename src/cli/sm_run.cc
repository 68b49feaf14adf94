// SPDX-License-Identifier: Apache-2.0
#include "cli/sm_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/database_place.h"
#include "cli/event_view.h"
#include "cli/policy_file.h"
#include "cli/signals.h"
#include "cli/sm_place.h"
#include "daemon/lab/manager_process.h"
#include "fabric/lab_file.h"
#include "fabric/subnet_prefix.h"
#include "io/clock.h"
#include "io/text_file.h"

namespace weft::cli {
namespace {

void on_signal(daemon::ManagerProcess& process, int) {
  process.stop();
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
  if (auto read = read_policies(*lab, *options.policies); !read) {
    return tl::unexpected(read.error());
  }
  return std::move(*lab);
}

}  // namespace

void define_sm_run(CLI::App& sm, SmRunOptions& run) {
  sm.add_option("--engine", run.engine, "Of run: minhop (default), updn, ftree, dor, layered")
      ->option_text("NAME")
      ->check(CLI::IsMember(
          std::vector<std::string>(fabric::kEngines.begin(), fabric::kEngines.end())));
  sm.add_option("--priority", run.priority, "Of run: among managers, 0 (default) to 15")
      ->option_text("NUMBER")
      ->check(CLI::Range(0, 15));
  sm.add_option("--lmc", run.lmc, "Of run: adapters have 2^LMC LIDs, 0 (default) to 7")
      ->option_text("LMC")
      ->check(CLI::Range(0, 7));
  sm.add_option("--subnet-prefix", run.subnet_prefix,
                "Of run: the first 64 bits of GIDs; default fe80::/64")
      ->option_text("PREFIX");
  sm.add_option("--partitions", run.partitions, "Of run: a file like OpenSM's partitions.conf")
      ->option_text("FILE");
  sm.add_option("--prefix-routes", run.prefix_routes,
                "Of run: a file like OpenSM's prefix-routes.conf")
      ->option_text("FILE");
  sm.add_option("--qos", run.qos, "Of run: a file with OpenSM's qos_ options")->option_text("FILE");
  sm.add_option("--mkeys", run.mkeys, "Of run: protect ports; a file that keeps their M_Keys")
      ->option_text("FILE");
  sm.add_option("--mkey-protect", run.mkey_protect, "Of run: how much, 0 to 3; default 1")
      ->option_text("LEVEL")
      ->check(CLI::Range(0, 3));
  sm.add_option("--policies", run.policies, "Of run: a lab file; its data services and rules")
      ->option_text("FILE");
  sm.add_option("--database", run.database, "Of run: the file to remember by, or none")
      ->option_text("FILE");
  sm.add_flag("--once", run.once, "Of run: end when the subnet is set up");
}

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
  const Signals<daemon::ManagerProcess, on_signal> signals(**process, {SIGTERM, SIGINT, SIGHUP});
  const auto ended = (*process)->run();
  if (ended) return kOk;
  fmt::print(stderr, "weft sm: {}\n", ended.error().message);
  return kProblem;
}

int sm_command(SmOptions asked, SmRunOptions run) {
  if (asked.action != "run") {
    asked.node = run.node;
    asked.port = run.port;
    if (!run.any()) return sm(asked);
    return refuse(
        "sm",
        "--engine, --priority, --lmc, --subnet-prefix, --partitions, --prefix-routes, "
        "--qos, --mkeys, --mkey-protect, --policies, --database and --once are of run only");
  }
  if (!asked.from.empty()) {
    return refuse("sm", fmt::format("{}: one word too many", asked.from));
  }
  run.lab = asked.lab;
  run.json = asked.json;
  return sm_run(run);
}

}  // namespace weft::cli
