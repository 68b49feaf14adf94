// SPDX-License-Identifier: Apache-2.0
// `weft wan-emulator`: makes the way between two programs look like a WAN.
#include "daemon/wan/wan_emulator.h"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/report_view.h"
#include "cli/signals.h"
#include "cli/style.h"
#include "io/text_file.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;
using Config = daemon::WanEmulatorConfig;

constexpr const char* kWanEmulatorCommand = "wan-emulator";
constexpr std::size_t kMostSettings = 65'536;  // bytes of a file of them

std::atomic<bool> read_again{false};
std::atomic<bool> report_now{false};

void on_signal(daemon::WanEmulator& emulator, int signal) {
  if (signal != SIGHUP && signal != SIGUSR1) return emulator.stop();
  (signal == SIGHUP ? read_again : report_now) = true;
  emulator.wake();
}

struct Directions {
  wan::PathEmulation forward;
  wan::PathEmulation backward;
};

// `which`: "path", both of them, "forward" or "backward". Errors name the setting.
Expected<void> apply(Directions& directions, std::string_view which, std::string_view list) {
  for (const bool forward : {true, false}) {
    if (which == (forward ? "backward" : "forward")) continue;
    wan::PathEmulation& emulation = forward ? directions.forward : directions.backward;
    const auto parsed = wan::parse_path_emulation(list, emulation);
    if (!parsed) return tl::unexpected(parsed.error());
    emulation = *parsed;
  }
  return {};
}

// Lines as "forward loss=1%,delay=2ms". Errors name file and line.
Expected<void> apply_file(Directions& directions, const std::string& file) {
  const auto text = io::read_text_file(file, kMostSettings);
  if (!text) return tl::unexpected(text.error());
  std::string_view rest = *text;
  for (int number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    line = line.substr(0, line.find('#'));
    const auto word = [&line] {
      line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
      const std::string_view taken = line.substr(0, line.find_first_of(" \t\r"));
      line.remove_prefix(taken.size());
      return taken;
    };
    const std::string_view which = word();
    const std::string_view list = word();
    if (which.empty()) continue;
    const bool known = which == "path" || which == "forward" || which == "backward";
    const auto done =
        known && word().empty()
            ? apply(directions, which, list)
            : Expected<void>(fail(std::errc::invalid_argument,
                                  "a line is path, forward or backward, and a list without "
                                  "blanks, as in: path rate=1Gb/s,delay=50ms"));
    if (!done) {
      return fail(done.error().code, fmt::format("{}:{}: {}", file, number, done.error().message));
    }
  }
  return {};
}

Expected<Directions> directions_of(const WanEmulatorOptions& options) {
  Directions directions;
  for (const auto& [which, list] :
       {std::pair("path", &options.path), std::pair("forward", &options.forward),
        std::pair("backward", &options.backward)}) {
    if (const auto done = apply(directions, which, *list); !done) {
      return fail(done.error().code, fmt::format("--{} {}", which, done.error().message));
    }
  }
  if (options.settings.empty()) return directions;
  if (const auto done = apply_file(directions, options.settings); !done) {
    return tl::unexpected(done.error());
  }
  return directions;
}

Expected<Config> config_of(const WanEmulatorOptions& options) {
  Config config;
  config.carries = options.carries == "udp" ? Config::Carries::kUdp : Config::Carries::kStream;
  config.listen = options.listen;
  config.target = options.target;
  config.equipment = options.equipment;
  if (!options.memory.empty()) {
    const auto memory = parse_quantity(options.memory, kSizeUnits);
    if (!memory || *memory == 0) {
      return fail(std::errc::invalid_argument,
                  fmt::format("--memory {}: must be a size, as in 512MiB or 2GB", options.memory));
    }
    config.memory = *memory;
  }
  auto directions = directions_of(options);
  if (!directions) return tl::unexpected(directions.error());
  config.forward = directions->forward;
  config.backward = directions->backward;
  return config;
}

void print_paths_report(const Json& report, const Style& style) {
  for (const char* name : {"forward", "backward"}) {
    const Json& direction = object_of(report, name);
    const std::string emulation = text_of(direction, "emulation");
    fmt::print("{} {}\n", style.bold(std::string(name) + ":"),
               emulation.empty() ? "none" : emulation);
    fmt::print("  {}\n", members(direction, {"under_way", "under_way_bytes", "waiting_bytes"}));
    print_counters(object_of(direction, "counters"));
  }
  const Json& equipment = object_of(report, "equipment");
  if (equipment.empty()) return;
  fmt::print("{} {}\n", style.bold("equipment:"), text_of(equipment, "list"));
  print_counters(object_of(equipment, "counters"));
}

void read_settings_again(daemon::WanEmulator& emulator, const WanEmulatorOptions& options) {
  const auto directions = directions_of(options);
  const auto done = directions ? emulator.change(directions->forward, directions->backward)
                               : Expected<void>(tl::unexpected(directions.error()));
  if (!done) {
    fmt::print(stderr, "weft {}: nothing is changed: {}\n", kWanEmulatorCommand,
               done.error().message);
    return;
  }
  fmt::print(stderr, "weft {}: the settings are changed\n", kWanEmulatorCommand);
}

}  // namespace

void define_wan_emulator(CLI::App& emulator, WanEmulatorOptions& options) {
  emulator.add_option("CARRIES", options.carries, "udp: datagrams; stream: TCP or Unix sockets")
      ->required()
      ->check(CLI::IsMember({"udp", "stream"}));
  emulator.add_option("LISTEN", options.listen, "Where it listens, as in 127.0.0.1:4000")
      ->required();
  emulator.add_option("TARGET", options.target, "Where that goes, as in [::1]:5000")->required();
  emulator
      .add_option("--path", options.path, "Both directions, as in rate=10Gb/s,delay=50ms,loss=1%")
      ->option_text("LIST");
  emulator.add_option("--forward", options.forward, "What is different from LISTEN to TARGET")
      ->option_text("LIST");
  emulator.add_option("--backward", options.backward, "What is different from TARGET to LISTEN")
      ->option_text("LIST");
  emulator.add_option("--settings", options.settings, "A file of such lists, read again on SIGHUP")
      ->option_text("FILE");
  emulator
      .add_option("--memory", options.memory, "For what is under way, each direction; default 1GiB")
      ->option_text("SIZE");
  emulator
      .add_option("--equipment", options.equipment, "In lines: regenerator:stm64,add-drop:stm64")
      ->option_text("LIST");
  emulator.add_option("--interval", options.interval, "Report so often; default: at the end")
      ->option_text("SECONDS")
      ->check(CLI::Range(0.0, 1e6));
  emulator.add_flag("--json", options.json, "Report in JSON, a line each");
}

int wan_emulator(const WanEmulatorOptions& options) {
  const auto config = config_of(options);
  if (!config) return refuse(kWanEmulatorCommand, config.error().message);
  const auto emulator = daemon::WanEmulator::open(*config);
  if (!emulator) return refuse(kWanEmulatorCommand, emulator.error().message);
  const Signals<daemon::WanEmulator, on_signal> signals(**emulator,
                                                        {SIGTERM, SIGINT, SIGHUP, SIGUSR1});
  fmt::print(stderr, "weft {}: {} {} to {}\n", kWanEmulatorCommand, options.carries,
             (*emulator)->listens(), options.target);
  const auto report = [&] {
    const Json now = (*emulator)->report();
    print_standing_report(now, options.json,
                          [&](const Style& style) { print_paths_report(now, style); });
  };
  const auto interval =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.interval));
  const auto ended = (*emulator)->run(interval, report, [&] {
    if (read_again.exchange(false)) read_settings_again(**emulator, options);
    if (report_now.exchange(false)) report();
  });
  report();
  if (ended) return kOk;
  fmt::print(stderr, "weft {}: {}\n", kWanEmulatorCommand, ended.error().message);
  return kProblem;
}

}  // namespace weft::cli
