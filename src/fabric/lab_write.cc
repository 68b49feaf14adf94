// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "fabric/lab_extender_text.h"
#include "fabric/lab_file.h"
#include "fabric/lab_hosts_text.h"
#include "fabric/lab_lan_text.h"
#include "fabric/lab_negotiation_text.h"
#include "fabric/lab_service_text.h"
#include "fabric/toml_string.h"
#include "link/emulation_text.h"

namespace weft::fabric {
namespace {

using Out = std::back_insert_iterator<std::string>;

// Names may have a dot, which TOML takes for a level unless it is quoted; the rest of their
// alphabet needs no quotes.
std::string key(const std::string& name) {
  return name.find('.') == std::string::npos ? name : fmt::format("\"{}\"", name);
}

void add(std::vector<std::string>& words, std::string_view name, const std::string& value) {
  words.push_back(fmt::format("{} = {}", name, value));
}

void add_limits(std::vector<std::string>& words, const PortLimits& limits) {
  constexpr PortLimits kUsual;
  if (limits.data_vls != kUsual.data_vls) add(words, "vls", fmt::to_string(limits.data_vls));
  if (limits.mtu != kUsual.mtu) add(words, "mtu", fmt::to_string(limits.mtu));
  if (limits.width != kUsual.width)
    add(words, "width", fmt::format("\"{}\"", to_string(limits.width)));
  if (limits.speed != kUsual.speed)
    add(words, "speed", fmt::format("\"{}\"", to_string(limits.speed)));
}

// Those that the lab gives by itself stay out.
void add_guids(std::vector<std::string>& words, const Lab& lab, const LabNode& node) {
  const auto text = [](Guid guid) { return fmt::format("\"{}\"", to_string(guid)); };
  if (node.guid != derived_guid(lab.name, node.name)) add(words, "guid", text(node.guid));
  if (node.system_guid != node.guid) add(words, "system_guid", text(node.system_guid));
  if (node.kind == NodeKind::kSwitch) {
    if (node.port_guids[0] != node.guid) add(words, "port_guid", text(node.port_guids[0]));
    return;
  }
  std::vector<std::string> ports;
  bool usual = true;
  for (std::size_t i = 0; i < node.port_guids.size(); ++i) {
    usual = usual && node.port_guids[i].value() == node.guid.value() + i + 1;
    ports.push_back(text(node.port_guids[i]));
  }
  if (!usual) add(words, "port_guids", fmt::format("[{}]", fmt::join(ports, ", ")));
}

// Whether each port has the address that it would have if none were given.
bool usual_addresses(const Lab& lab) {
  Ipv4 next = lab.network.first();
  for (const LabNode& node : lab.nodes) {
    for (const Ipv4 address : node.addresses) {
      if (address != next) return false;
      next = Ipv4{next.value() + 1};
    }
  }
  return true;
}

void add_addresses(std::vector<std::string>& words, const LabNode& node) {
  std::vector<std::string> ports;
  for (const Ipv4 address : node.addresses)
    ports.push_back(fmt::format("\"{}\"", to_string(address)));
  if (ports.size() == 1) return add(words, "ip", ports.front());
  if (!ports.empty()) add(words, "ip", fmt::format("[{}]", fmt::join(ports, ", ")));
}

std::string words_of(const Lab& lab, const LabNode& node, const LabExtender* extender,
                     bool with_addresses, const std::optional<LabLan>& lan) {
  const LabNode usual;
  std::vector<std::string> words;
  const unsigned usual_ports = node.kind == NodeKind::kSwitch && extender == nullptr ? 36 : 1;
  const bool bridges = extender != nullptr && extender->mode == ExtenderMode::kBridge;
  const unsigned ports = bridges ? extender->first_port - 1u : node.ports;
  if (ports != usual_ports) add(words, "ports", fmt::to_string(ports));
  if (node.description != node.name) add(words, "description", quoted(node.description));
  add_guids(words, lab, node);
  if (with_addresses) add_addresses(words, node);
  if (node.vendor_id != 0) add(words, "vendor", fmt::format("0x{:06x}", node.vendor_id));
  if (node.device_id != 0) add(words, "device", fmt::to_string(node.device_id));
  if (node.revision != 0) add(words, "revision", fmt::format("0x{:x}", node.revision));
  if (node.linear_entries != usual.linear_entries) {
    add(words, "linear_entries", fmt::to_string(node.linear_entries));
  }
  if (node.multicast_entries != usual.multicast_entries) {
    add(words, "multicast_entries", fmt::to_string(node.multicast_entries));
  }
  if (node.enhanced_port0) add(words, "enhanced_port0", "true");
  if (node.part != 0) add(words, "part", quoted(lab.parts[node.part].name));
  if (node.kind == NodeKind::kChannelAdapter && node.lan != lan) {
    add(words, "lan", lan_words(node.lan, lan));
  }
  add_limits(words, node.limits);
  if (extender != nullptr) return extender_words(*extender, std::move(words));
  return words.empty() ? "{}" : fmt::format("{{ {} }}", fmt::join(words, ", "));
}

void write_emulation(Out out, const link::Emulation& emulation) {
  for (const auto& [name, value] : link::emulation_settings(emulation)) {
    // TOML's numbers need no quotes; those with a unit do.
    const bool number = value.find_first_not_of("0123456789.e+-") == std::string::npos;
    const std::string_view quote = number ? "" : "\"";
    fmt::format_to(out, "{} = {}{}{}\n", name, quote, value, quote);
  }
}

// Of some kinds those that are extenders, or those that are not.
void write_nodes(Out out, const Lab& lab, const std::vector<NodeKind>& kinds, bool extenders,
                 std::string_view heading) {
  const bool with_addresses = !usual_addresses(lab);
  const auto lan = common_lan(lab);
  bool first = true;
  for (std::uint32_t i = 0; i < lab.nodes.size(); ++i) {
    const LabNode& node = lab.nodes[i];
    const LabExtender* const extender = lab.find_extender(i);
    const bool of_kind = std::ranges::find(kinds, node.kind) != kinds.end();
    if (!of_kind || (extender != nullptr) != extenders) continue;
    if (std::exchange(first, false)) fmt::format_to(out, "\n[{}]\n", heading);
    fmt::format_to(out, "{} = {}\n", key(node.name),
                   words_of(lab, node, extender, with_addresses, lan));
  }
}

void write_parts(Out out, const Lab& lab) {
  if (!lab.parts.empty()) fmt::format_to(out, "\n[part]\n");
  for (const LabPart& part : lab.parts) {
    const std::string address =
        part.address ? fmt::format("{{ address = \"{}\" }}", to_string(*part.address)) : "{}";
    fmt::format_to(out, "{} = {}\n", key(part.name), address);
  }
}

// `table`: one of several.
void write_management(Out out, const LabManagement& management, bool table) {
  const LabManagement usual;
  std::vector<std::string> words;
  if (management.manager != usual.manager) {
    add(words, "manager", fmt::format("\"{}\"", to_string(management.manager)));
  }
  if (management.node != usual.node) add(words, "node", quoted(management.node));
  if (management.engine != usual.engine) add(words, "engine", quoted(management.engine));
  if (management.lmc != usual.lmc) add(words, "lmc", fmt::to_string(management.lmc));
  if (management.priority != usual.priority) {
    add(words, "priority", fmt::to_string(management.priority));
  }
  if (management.subnet_prefix != usual.subnet_prefix) {
    add(words, "subnet_prefix", quoted(GidPrefix(management.subnet_prefix).to_string()));
  }
  if (management.partitions != usual.partitions) {
    add(words, "partitions", quoted(management.partitions));
  }
  if (management.qos != usual.qos) add(words, "qos", quoted(management.qos));
  if (management.prefix_routes != usual.prefix_routes) {
    add(words, "prefix_routes", quoted(management.prefix_routes));
  }
  if (management.database != usual.database) add(words, "database", quoted(management.database));
  if (management.mkeys != usual.mkeys) add(words, "mkeys", quoted(management.mkeys));
  if (management.mkey_protect) {
    add(words, "mkey_protect", fmt::to_string(*management.mkey_protect));
  }
  if (words.empty()) return;
  if (table) {
    fmt::format_to(out, "\n[[sm]]\n{}\n", fmt::join(words, "\n"));
  } else {
    fmt::format_to(out, "sm = {{ {} }}\n", fmt::join(words, ", "));
  }
}

}  // namespace

std::string write_lab(const Lab& lab, std::string_view comment) {
  std::string text;
  const Out out(text);
  while (!comment.empty()) {
    const std::size_t end = comment.find('\n');
    fmt::format_to(out, "# {}\n", comment.substr(0, end));
    comment.remove_prefix(end == std::string_view::npos ? comment.size() : end + 1);
  }
  fmt::format_to(out, "name = \"{}\"\n", lab.name);
  if (lab.network != Ipv4Network{}) {
    fmt::format_to(out, "network = \"{}\"\n", to_string(lab.network));
  }
  if (!lab.data.policy_file.empty()) {
    fmt::format_to(out, "policies = {}\n", quoted(lab.data.policy_file));
  }
  const bool is_one = lab.more_subnets.empty();
  if (is_one) write_management(out, lab.management, false);
  if (const auto lan = common_lan(lab)) {
    fmt::format_to(out, "lan = {}\n", lan_words(lan, std::nullopt));
  }
  for (std::size_t i = 0; !is_one && i <= lab.more_subnets.size(); ++i)
    write_management(out, lab.management_of(i), true);
  write_parts(out, lab);
  write_nodes(out, lab, {NodeKind::kSwitch}, false, "switch");
  write_nodes(out, lab, {NodeKind::kSwitch, NodeKind::kRouter}, true, "extender");
  write_nodes(out, lab, {NodeKind::kChannelAdapter}, false, "node");
  write_nodes(out, lab, {NodeKind::kRouter}, false, "router");
  text += hosts_text(lab);
  text += services_text(lab);
  if (!lab.links.empty()) text += '\n';
  for (const LabLink& link : lab.links) {
    fmt::format_to(out, "[[link]]\nends = [\"{}\", \"{}\"]\n", lab.end_name(link.ends[0]),
                   lab.end_name(link.ends[1]));
    if (!link.name.empty()) fmt::format_to(out, "name = \"{}\"\n", link.name);
    if (link.width) fmt::format_to(out, "width = \"{}\"\n", to_string(*link.width));
    if (link.speed) fmt::format_to(out, "speed = \"{}\"\n", to_string(*link.speed));
    if (link.negotiation) text += negotiation_lines(*link.negotiation);
    if (!link.up) text += "up = false\n";
    write_emulation(out, link.emulation);
  }
  return text;
}

}  // namespace weft::fabric
