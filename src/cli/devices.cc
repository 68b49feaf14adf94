// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/device_attributes.h"
#include "cli/style.h"
#include "cli/table.h"
#include "host/config.h"
#include "host/device_list.h"
#include "host/process.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

// IBA 14.2.5.6, in ibv_devinfo's words.
const char* state_name(port::LinkState state) {
  switch (state) {
    case port::LinkState::kDown:
      return "DOWN";
    case port::LinkState::kInit:
      return "INIT";
    case port::LinkState::kArmed:
      return "ARMED";
    case port::LinkState::kActive:
      return "ACTIVE";
  }
  return "unknown";
}

std::string link_rate_text(std::uint64_t mbps) {
  if (mbps == 0) return "unknown";
  if (mbps < 1000) return fmt::format("{} Mb/s", mbps);
  return fmt::format("{:.4g} Gb/s", static_cast<double>(mbps) / 1000);
}

Json to_json(const Device& device) {
  Json gids = Json::array();
  for (const port::GidEntry& entry : device.port.gids)
    gids.push_back(entry.gid.to_string());
  Json pkeys = Json::array();
  for (const PKey pkey : device.port.pkeys)
    pkeys.push_back(pkey.value());
  return {{"name", device.info.name},
          {"interface", device.info.interface},
          {"ifindex", device.info.ifindex},
          {"node_guid", host::format_guid(device.info.node_guid)},
          {"state", state_name(device.port.state)},
          {"link_up", device.port.link_up},
          {"mtu", device.port.active_mtu},
          {"max_mtu", device.port.max_mtu},
          {"max_message", device.port.max_message},
          {"rate_mbps", device.port.rate_mbps},
          {"gids", std::move(gids)},
          {"pkeys", std::move(pkeys)}};
}

void print_table(const std::vector<Device>& devices, const Style& style) {
  Table table({"DEVICE", "INTERFACE", "STATE", "MTU", "RATE", "GID"});
  for (const Device& device : devices) {
    std::vector<std::string> row{device.info.name,
                                 device.info.interface,
                                 state_name(device.port.state),
                                 std::to_string(device.port.active_mtu),
                                 link_rate_text(device.port.rate_mbps),
                                 "none"};
    for (std::size_t i = 0; i < device.port.gids.size(); ++i) {
      row.back() = fmt::format("{}: {}", i, device.port.gids[i].gid.to_string());
      table.add(row);
      row.assign(row.size(), "");
    }
    if (device.port.gids.empty()) table.add(row);
  }
  fmt::print("{}", table.to_string(style));
}

void print_verbose(const Device& device, const Style& style) {
  fmt::print("{}\n", style.bold(device.info.name));
  const auto line = [](std::string_view name, const auto& value) {
    fmt::print("  {:<13} {}\n", name, value);
  };
  line("interface", fmt::format("{} (index {})", device.info.interface, device.info.ifindex));
  line("node GUID", host::format_guid(device.info.node_guid));
  line("state", fmt::format("{}, link {}", state_name(device.port.state),
                            device.port.link_up ? "up" : "down"));
  line("MTU", fmt::format("{} of at most {} bytes", device.port.active_mtu, device.port.max_mtu));
  line("max message", fmt::format("{} bytes", device.port.max_message));
  line("rate", link_rate_text(device.port.rate_mbps));
  for (std::size_t i = 0; i < device.port.pkeys.size(); ++i) {
    line(fmt::format("P_Key {}", i), fmt::format("{:#06x}", device.port.pkeys[i].value()));
  }
  for (std::size_t i = 0; i < device.port.gids.size(); ++i) {
    line(fmt::format("GID {}", i), device.port.gids[i].gid.to_string());
  }
}

}  // namespace

int devices(const DevicesOptions& options) {
  const auto config = host::read_config_from_environment();
  if (!config) return refuse("devices", config.error().message);
  const auto infos = host::list_devices(*config);
  if (!infos) return refuse("devices", infos.error().message);
  const auto found = read_devices(*config, *infos);
  if (!found) return refuse("devices", found.error().message);
  if (options.json) {
    Json out = Json::array();
    for (const Device& device : *found)
      out.push_back(to_json(device));
    fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  const Style style = Style::for_stream(stdout);
  if (!options.verbose) {
    print_table(*found, style);
    return kOk;
  }
  for (const Device& device : *found)
    print_verbose(device, style);
  return kOk;
}

}  // namespace weft::cli
