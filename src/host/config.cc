// SPDX-License-Identifier: Apache-2.0
#include "host/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace weft::host {
namespace {

// Port 65535 is where multicast goes, so it is never a queue pair's.
constexpr std::uint32_t kLowestPort = 1024;
constexpr std::uint32_t kHighestPort = 65534;
constexpr std::uint32_t kSmallestBuffer = 4096;
constexpr std::uint32_t kLargestBuffer = 1u << 30;
constexpr std::uint32_t kLongestKeepAlive = 1'000'000;

// Read by `weft run` itself, by the shim and by the tree's own scripts: known, but no part of
// Config.
constexpr std::array<std::string_view, 9> kReadByOthers{
    "WEFT_LIBDIR",       "WEFT_SYSROOT", "WEFT_BUILD", "WEFT_SOURCE",     "WEFT_SIM_SEEDS",
    "WEFT_FUZZ_SECONDS", "WEFT_LOG",     "WEFT_AGENT", "WEFT_RUNTIME_DIR"};

std::optional<std::uint32_t> config_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

tl::unexpected<Error> wrong(std::string_view name, std::string_view value,
                            std::string_view choices) {
  return fail(std::errc::invalid_argument,
              fmt::format("{}={}: the value must be {}", name, value, choices));
}

Expected<void> set_wire(Config& config, std::string_view name, std::string_view value) {
  for (const Wire wire : {Wire::kUdp, Wire::kBare, Wire::kRoce}) {
    if (value != to_string(wire)) continue;
    config.wire = wire;
    return {};
  }
  return wrong(name, value, "udp, bare or roce");
}

Expected<void> set_interface(Config& config, std::string_view name, std::string_view value) {
  const bool printable = std::all_of(value.begin(), value.end(),
                                     [](char c) { return c > ' ' && c != '/' && c != 0x7F; });
  if (value.size() >= IFNAMSIZ || !printable) {
    return wrong(name, value, "the name of a network interface, such as eth0");
  }
  config.interface = value;
  return {};
}

Expected<void> set_capture(Config& config, std::string_view, std::string_view value) {
  config.capture = value;
  return {};
}

Expected<void> set_stats(Config& config, std::string_view name, std::string_view value) {
  if (value != "0" && value != "1") return wrong(name, value, "0 or 1");
  config.stats = value == "1";
  return {};
}

Expected<void> set_ports(Config& config, std::string_view name, std::string_view value) {
  const std::size_t dash = value.find('-');
  const auto first = config_number(value.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : config_number(value.substr(dash + 1));
  if (!first || !last || *first < kLowestPort || *last > kHighestPort || *first > *last) {
    return wrong(name, value,
                 fmt::format("FIRST-LAST, two UDP ports in order between {} and {}", kLowestPort,
                             kHighestPort));
  }
  config.first_port = static_cast<std::uint16_t>(*first);
  config.last_port = static_cast<std::uint16_t>(*last);
  return {};
}

Expected<void> set_socket_buffer(Config& config, std::string_view name, std::string_view value) {
  const auto bytes = config_number(value);
  if (!bytes || *bytes < kSmallestBuffer || *bytes > kLargestBuffer) {
    return wrong(
        name, value,
        fmt::format("a number of bytes between {} and {}", kSmallestBuffer, kLargestBuffer));
  }
  config.socket_buffer = *bytes;
  return {};
}

Expected<void> set_faults(Config& config, std::string_view name, std::string_view value) {
  auto faults = port::parse_faults(value);
  if (!faults) {
    return fail(faults.error().code, fmt::format("{}={}: {}", name, value, faults.error().message));
  }
  config.faults = *faults;
  return {};
}

Expected<void> set_keep_alive(Config& config, std::string_view name, std::string_view value) {
  const auto seconds = config_number(value);
  if (!seconds || *seconds > kLongestKeepAlive) {
    return wrong(name, value, fmt::format("a number of seconds, at most {}", kLongestKeepAlive));
  }
  config.keep_alive = std::chrono::seconds{*seconds};
  return {};
}

Expected<void> set_cm_port(Config& config, std::string_view name, std::string_view value) {
  const auto port = config_number(value);
  if (!port || *port < kLowestPort || *port > kHighestPort) {
    return wrong(name, value,
                 fmt::format("a UDP port between {} and {}", kLowestPort, kHighestPort));
  }
  config.cm_port = static_cast<std::uint16_t>(*port);
  return {};
}

Expected<void> set_node(Config& config, std::string_view, std::string_view value) {
  config.node = value;
  return {};
}

Expected<void> set_lab(Config& config, std::string_view, std::string_view value) {
  config.lab = value;
  return {};
}

using Setter = Expected<void> (*)(Config&, std::string_view name, std::string_view value);
struct Row {
  ConfigVariable variable;
  Setter set;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table{
      {{"WEFT_WIRE", "udp|bare|roce",
        "what travels: RoCEv2 between Weft peers (udp, default) or with any (roce), or the message "
        "alone (bare)"},
       set_wire},
      {{"WEFT_INTERFACE", "NAME", "offer the device of this network interface only; default: all"},
       set_interface},
      {{"WEFT_CAPTURE", "FILE", "append every packet sent and received to this pcapng file"},
       set_capture},
      {{"WEFT_STATS", "0 | 1", "print the counters to stderr when the program exits"}, set_stats},
      {{"WEFT_PORTS", "FIRST-LAST", "UDP ports of queue pairs; default 49152-65534"}, set_ports},
      {{"WEFT_SOCKET_BUFFER", "BYTES",
        "buffer memory to ask of the kernel, each way; default 4194304"},
       set_socket_buffer},
      {{"WEFT_FAULT", "LIST", "spoil what arrives, as in loss=1%,reorder=1%,delay=2ms,seed=7"},
       set_faults},
      {{"WEFT_KEEP_ALIVE", "SECONDS",
        "how long the peer of an idle connection may be silent; 0: for ever; default 600"},
       set_keep_alive},
      {{"WEFT_CM_PORT", "PORT",
        "UDP port of queue pair 1 on wire udp, the same on every host; default 14791"},
       set_cm_port},
      {{"WEFT_NODE", "NAME",
        "set by weft run --node: the node of the lab whose directory is WEFT_LAB"},
       set_node},
      {{"WEFT_LAB", "DIRECTORY", "set by weft run --node: where the daemon of the lab listens"},
       set_lab},
  };
  return table;
}

Expected<void> refuse_unknown(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!name.starts_with("WEFT_")) continue;
    if (std::find(kReadByOthers.begin(), kReadByOthers.end(), name) != kReadByOthers.end()) {
      continue;
    }
    const bool known = std::any_of(rows().begin(), rows().end(),
                                   [&](const Row& row) { return row.variable.name == name; });
    if (known) continue;
    std::vector<std::string_view> choices;
    for (const Row& row : rows())
      choices.push_back(row.variable.name);
    return fail(
        std::errc::invalid_argument,
        fmt::format("{}: there is no such variable; there are {}", name, fmt::join(choices, ", ")));
  }
  return {};
}

}  // namespace

std::string_view to_string(Wire wire) {
  switch (wire) {
    case Wire::kUdp:
      return "udp";
    case Wire::kBare:
      return "bare";
    case Wire::kRoce:
      return "roce";
  }
  return "unknown";
}

const std::vector<ConfigVariable>& config_variables() {
  static const std::vector<ConfigVariable> table = [] {
    std::vector<ConfigVariable> out;
    for (const Row& row : rows())
      out.push_back(row.variable);
    return out;
  }();
  return table;
}

Expected<Config> read_config(const std::function<const char*(const char*)>& get,
                             const std::vector<std::string>& names) {
  if (const auto known = refuse_unknown(names); !known) return tl::unexpected(known.error());
  Config config;
  for (const Row& row : rows()) {
    // An empty value is as good as none, which is what `WEFT_WIRE= program` is written for.
    const char* value = get(std::string(row.variable.name).c_str());
    if (value == nullptr || *value == '\0') continue;
    if (const auto set = row.set(config, row.variable.name, value); !set) {
      return tl::unexpected(set.error());
    }
  }
  return config;
}

Expected<Config> read_config_from_environment() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return read_config([](const char* name) { return std::getenv(name); }, names);
}

}  // namespace weft::host
