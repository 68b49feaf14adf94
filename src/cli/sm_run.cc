// SPDX-License-Identifier: Apache-2.0
#include "cli/sm_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/event_view.h"
#include "cli/node_place.h"
#include "daemon/lab/manager_process.h"
#include "io/clock.h"

namespace weft::cli {
namespace {

constexpr unsigned kUsualProtection = 1;  // others may read, but do not see the key

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

// The node that --node names; without it, the one that `weft run --node` runs this on.
Expected<umad::Place> find_place(const SmRunOptions& options) {
  if (!options.node && options.lab.empty()) {
    if (auto place = umad::place_from_environment()) return place;
  }
  if (!options.node) {
    return fail(std::errc::invalid_argument,
                "say on which node of a lab it is to run, with --node NAME");
  }
  auto found = find_node(options.lab, *options.node);
  if (!found) return tl::unexpected(found.error());
  return std::move(found->place);
}

fabric::LabManagement management_of(const SmRunOptions& options) {
  fabric::LabManagement out;
  out.engine = options.engine.value_or(out.engine);
  out.lmc = static_cast<std::uint8_t>(options.lmc.value_or(out.lmc));
  out.priority = static_cast<std::uint8_t>(options.priority.value_or(out.priority));
  out.partitions = options.partitions.value_or("");
  out.qos = options.qos.value_or("");
  return out;
}

}  // namespace

int sm_run(const SmRunOptions& options) {
  if (options.mkey_protect && !options.mkeys) {
    return refuse("sm",
                  "--mkey-protect is for ports that have keys: say where they are kept, "
                  "with --mkeys FILE");
  }
  auto place = find_place(options);
  if (!place) return refuse("sm", place.error().message);
  const daemon::ManagerProcessConfig config{
      .place = std::move(*place),
      .port = options.port,
      .management = management_of(options),
      .mkeys = options.mkeys.value_or(""),
      .mkey_protect = static_cast<std::uint8_t>(options.mkey_protect.value_or(kUsualProtection)),
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
