// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/lab_access.h"
#include "fabric/lab_builder.h"
#include "fabric/lab_extender_text.h"
#include "fabric/lab_hosts_text.h"
#include "fabric/lab_lan_text.h"
#include "fabric/lab_link_text.h"
#include "fabric/lab_service_text.h"
#include "fabric/lab_value.h"
#include "fabric/subnet_prefix.h"

namespace weft::fabric {
namespace {

template <class Target, PortLimits& (*kLimits)(Target&)>
void add_limits(Keys<Target>& keys) {
  keys.push_back({"vls", [](Target& target, const Value& value) {
                    return store(kLimits(target).data_vls, value.choice({1, 2, 4, 8, 15}));
                  }});
  keys.push_back({"mtu", [](Target& target, const Value& value) {
                    return store(kLimits(target).mtu, value.choice({256, 512, 1024, 2048, 4096}));
                  }});
  keys.push_back({"width", [](Target& target, const Value& value) {
                    return store(kLimits(target).width, value.width());
                  }});
  keys.push_back({"speed", [](Target& target, const Value& value) {
                    return store(kLimits(target).speed, value.speed());
                  }});
}

PortLimits& own_limits(LabNode& node) {
  return node.limits;
}

PortLimits& itself(PortLimits& limits) {
  return limits;
}

Keys<LabNode> node_keys() {
  Keys<LabNode> keys{
      {"ports", [](LabNode& node,
                   const Value& value) { return store(node.ports, value.integer(1, kMaxPorts)); }},
      {"description",
       [](LabNode& node, const Value& value) { return store(node.description, value.string()); }},
      {"guid", [](LabNode& node, const Value& value) { return store(node.guid, value.guid()); }},
      {"system_guid",
       [](LabNode& node, const Value& value) { return store(node.system_guid, value.guid()); }},
      {"vendor",
       [](LabNode& node, const Value& value) {
         return store(node.vendor_id, value.integer(0, 0xFF'FFFF));
       }},
      {"device",
       [](LabNode& node, const Value& value) {
         return store(node.device_id, value.integer(0, 0xFFFF));
       }},
      {"revision",
       [](LabNode& node, const Value& value) {
         return store(node.revision, value.integer(0, 0xFFFF'FFFF));
       }},
      {"part", [](LabNode& node, const Value& value) { return store(node.part, value.part()); }},
  };
  add_limits<LabNode, own_limits>(keys);
  return keys;
}

Keys<LabNode> switch_keys() {
  Keys<LabNode> keys = node_keys();
  keys.push_back({"port_guid", [](LabNode& node, const Value& value) {
                    node.port_guids.resize(1);
                    return store(node.port_guids[0], value.guid());
                  }});
  keys.push_back({"linear_entries", [](LabNode& node, const Value& value) {
                    return store(node.linear_entries, value.integer(1, 49152));
                  }});
  keys.push_back({"multicast_entries", [](LabNode& node, const Value& value) {
                    return store(node.multicast_entries, value.integer(0, 16383));
                  }});
  keys.push_back({"enhanced_port0", [](LabNode& node, const Value& value) {
                    return store(node.enhanced_port0, value.boolean());
                  }});
  return keys;
}

Done read_port_guids(LabNode& node, const Value& value) {
  const auto guids = value.array();
  if (!guids) return tl::unexpected(guids.error());
  for (const Value& entry : *guids) {
    if (Done done = store(node.port_guids.emplace_back(), entry.guid()); !done) return done;
  }
  return {};
}

// One address, which is the first port's, or one for each port.
Done read_addresses(LabNode& node, const Value& value) {
  auto addresses = value.array();
  if (!addresses) addresses = std::vector{value};
  for (const Value& entry : *addresses) {
    if (Done done = store(node.addresses.emplace_back(), entry.ipv4()); !done) return done;
  }
  return {};
}

Keys<LabNode> router_keys() {
  Keys<LabNode> keys = node_keys();
  keys.push_back({"port_guids", read_port_guids});
  return keys;
}

Keys<LabNode> adapter_keys() {
  Keys<LabNode> keys = router_keys();
  keys.push_back({"ip", read_addresses});
  keys.push_back(
      {"lan", [](LabNode& node, const Value& value) { return read_lan(node.lan, value); }});
  return keys;
}

Done read_manager(LabManagement& management, const Value& value) {
  const auto text = value.string();
  const auto manager = text ? parse_manager(*text) : std::nullopt;
  if (!manager) return value.wrong("must be weft, opensm or none");
  management.manager = *manager;
  return {};
}

Done read_engine(LabManagement& management, const Value& value) {
  const auto text = value.string();
  if (!text || std::find(kEngines.begin(), kEngines.end(), *text) == kEngines.end()) {
    return value.wrong(fmt::format("must be one of {}", fmt::join(kEngines, ", ")));
  }
  management.engine = *text;
  return {};
}

Done read_subnet_prefix(LabManagement& management, const Value& value) {
  const auto prefix = value.gid_prefix();
  if (!prefix) return tl::unexpected(prefix.error());
  const auto subnet = subnet_of(*prefix);
  if (!subnet) return value.wrong(std::string(kSubnetPrefixWanted));
  management.subnet_prefix = *subnet;
  return {};
}

Keys<LabManagement> management_keys() {
  return {
      {"manager", read_manager},
      {"subnet_prefix", read_subnet_prefix},
      {"node", [](LabManagement& management,
                  const Value& value) { return store(management.node, value.string()); }},
      {"engine", read_engine},
      {"lmc", [](LabManagement& management,
                 const Value& value) { return store(management.lmc, value.integer(0, 7)); }},
      {"priority",
       [](LabManagement& management, const Value& value) {
         return store(management.priority, value.integer(0, 15));
       }},
      {"partitions",
       [](LabManagement& management, const Value& value) {
         return store(management.partitions, value.string());
       }},
      {"qos", [](LabManagement& management,
                 const Value& value) { return store(management.qos, value.string()); }},
      {"prefix_routes",
       [](LabManagement& management, const Value& value) {
         return store(management.prefix_routes, value.string());
       }},
      {"database", [](LabManagement& management,
                      const Value& value) { return store(management.database, value.string()); }},
      {"mkeys", [](LabManagement& management,
                   const Value& value) { return store(management.mkeys, value.string()); }},
      {"mkey_protect",
       [](LabManagement& management, const Value& value) {
         return store(management.mkey_protect, value.integer(0, 3));
       }},
  };
}

// sm = "none" for sm = { manager = "none" }.
Done read_management(LabManagement& management, const Value& value) {
  if (value.string()) return read_manager(management, value);
  if (!value.table()) return value.wrong("must be weft, opensm or none, or a table");
  return read_keys(management_keys(), management, value);
}

Keys<LabAccess> access_keys() {
  Keys<LabAccess> keys;
  for (const LabRight& right : kLabRights) {
    keys.push_back(
        {right.name, [users = right.users](LabAccess& access, const Value& value) -> Done {
           const auto text = value.string();
           const auto read = text ? parse_lab_users(*text) : std::nullopt;
           if (!read) {
             return value.wrong("must be owner, everyone, or a group as in group:rdma");
           }
           access.*users = *read;
           return {};
         }});
  }
  return keys;
}

Keys<LabPart> part_keys() {
  return {{"address", [](LabPart& part, const Value& value) {
             return store(part.address, value.udp_address());
           }}};
}

// What is read first, wherever it stands: the defaults hold for the whole file, and nodes name
// their parts.
struct Top {
  std::string name;
  PortLimits limits;
  LabAccess access;
  std::optional<LabLan> lan;
  std::vector<Value> networks, managements, parts, switches, extenders, nodes, routers, hosts,
      links, services, policies;
  std::string policy_file;
};

// Those of several subnets are written [[sm]], one after the other.
Done take_managements(Top& top, const Value& value) {
  const auto several = value.array();
  for (const Value& each : several ? *several : std::vector{value})
    top.managements.push_back(each);
  return {};
}

Keys<Top> top_keys() {
  return {
      {"name", [](Top& top, const Value& value) { return store(top.name, value.string()); }},
      {"network",
       [](Top& top, const Value& value) {
         top.networks.push_back(value);
         return Done{};
       }},
      {"sm", take_managements},
      {"access",
       [](Top& top, const Value& value) { return read_keys(access_keys(), top.access, value); }},
      {"defaults",
       [](Top& top, const Value& value) {
         Keys<PortLimits> keys;
         add_limits<PortLimits, itself>(keys);
         return read_keys(keys, top.limits, value);
       }},
      {"lan", [](Top& top, const Value& value) { return read_lan(top.lan, value); }},
      {"part",
       [](Top& top, const Value& value) {
         top.parts.push_back(value);
         return Done{};
       }},
      {"switch",
       [](Top& top, const Value& value) {
         top.switches.push_back(value);
         return Done{};
       }},
      {"extender",
       [](Top& top, const Value& value) {
         top.extenders.push_back(value);
         return Done{};
       }},
      {"node",
       [](Top& top, const Value& value) {
         top.nodes.push_back(value);
         return Done{};
       }},
      {"router",
       [](Top& top, const Value& value) {
         top.routers.push_back(value);
         return Done{};
       }},
      {"hosts",
       [](Top& top, const Value& value) {
         top.hosts.push_back(value);
         return Done{};
       }},
      {"link",
       [](Top& top, const Value& value) {
         top.links.push_back(value);
         return Done{};
       }},
      {"service",
       [](Top& top, const Value& value) {
         top.services.push_back(value);
         return Done{};
       }},
      {"policy",
       [](Top& top, const Value& value) {
         top.policies.push_back(value);
         return Done{};
       }},
      {"policies",
       [](Top& top, const Value& value) { return store(top.policy_file, value.string()); }},
  };
}

Done add_parts(LabBuilder& builder, const Value& table) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& [name, value] : *entries) {
    LabPart part{.name = name, .address = {}};
    if (Done done = read_keys(part_keys(), part, value); !done) return done;
    if (Done done = builder.add_part(std::move(part), value.where()); !done) return done;
  }
  return {};
}

Done add_nodes(LabBuilder& builder, const Value& table, const Keys<LabNode>& keys,
               const LabNode& model) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& [name, value] : *entries) {
    LabNode node = model;
    node.name = name;
    if (Done done = read_keys(keys, node, value); !done) return done;
    if (Done done = builder.add_node(std::move(node), value.where()); !done) return done;
  }
  return {};
}

Done add_links(LabBuilder& builder, const Value& array) {
  const auto entries = array.array();
  if (!entries) return array.wrong("links are written [[link]], one after the other");
  const Keys<LabBuilder::LinkText> keys = link_keys();
  for (const Value& value : *entries) {
    LabBuilder::LinkText link;
    if (Done done = read_keys(keys, link, value); !done) return done;
    if (link.ends[0].node.empty()) {
      return value.wrong("a link needs its ends, as in ends = [\"host1:1\", \"leaf1:3\"]");
    }
    if (link.link.negotiation && !link.negotiates) {
      return value.wrong("negotiation and channel are of links with speed = \"auto\"");
    }
    builder.add_link(std::move(link), value.where());
  }
  return {};
}

Done add_data_services(LabBuilder& builder, const Top& top) {
  for (const Value& value : top.services) {
    if (Done done = add_services(builder, value); !done) return done;
  }
  builder.set_policy_file(top.policy_file);
  for (const Value& value : top.policies) {
    if (!top.policy_file.empty()) {
      return value.wrong("policies names a file, and rules stand there");
    }
    if (Done done = add_policies(builder, value); !done) return done;
  }
  return {};
}

Expected<LabFile> read_lab(const toml::table& root, const std::string& file) {
  LabBuilder builder(file);
  Top top;
  if (const Done done = read_keys(top_keys(), top, Value(builder, root, "")); !done) {
    return tl::unexpected(done.error());
  }
  builder.set_name(top.name);
  for (const Value& value : top.networks) {
    const auto network = value.network();
    if (!network) return tl::unexpected(network.error());
    builder.set_network(*network, value.where());
  }
  for (const Value& value : top.managements) {
    LabManagement management;
    const Done done = read_management(management, value);
    if (!done) return tl::unexpected(done.error());
    if (&value == &top.managements.front()) {
      builder.set_management(management, value.where());
    } else {
      builder.add_subnet(management, value.where());
    }
  }
  for (const Value& value : top.parts) {
    if (const Done done = add_parts(builder, value); !done) return tl::unexpected(done.error());
  }
  LabNode model;
  model.limits = top.limits;
  model.lan = top.lan;
  for (const Value& value : top.nodes) {
    const Done done = add_nodes(builder, value, adapter_keys(), model);
    if (!done) return tl::unexpected(done.error());
  }
  model.lan.reset();
  model.kind = NodeKind::kRouter;
  for (const Value& value : top.routers) {
    const Done done = add_nodes(builder, value, router_keys(), model);
    if (!done) return tl::unexpected(done.error());
  }
  model.kind = NodeKind::kSwitch;
  model.ports = 36;
  for (const Value& value : top.switches) {
    const Done done = add_nodes(builder, value, switch_keys(), model);
    if (!done) return tl::unexpected(done.error());
  }
  model.ports = 1;
  for (const Value& value : top.extenders) {
    const Done done = add_extenders(builder, value, switch_keys(), router_keys(), model);
    if (!done) return tl::unexpected(done.error());
  }
  for (const Value& value : top.hosts) {
    if (const Done done = add_hosts(builder, value); !done) return tl::unexpected(done.error());
  }
  for (const Value& value : top.links) {
    if (const Done done = add_links(builder, value); !done) return tl::unexpected(done.error());
  }
  if (const Done done = add_data_services(builder, top); !done) {
    return tl::unexpected(done.error());
  }
  auto lab = builder.finish();
  if (!lab) return tl::unexpected(lab.error());
  return LabFile{.lab = std::move(*lab), .access = std::move(top.access)};
}

}  // namespace

Expected<Lab> parse_lab(std::string_view text, const std::string& file) {
  auto read = parse_lab_file(text, file);
  if (!read) return tl::unexpected(read.error());
  return std::move(read->lab);
}

Expected<LabFile> parse_lab_file(std::string_view text, const std::string& file) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    // It quotes what it met as it was, line ends too.
    std::string description(error.description());
    std::ranges::replace_if(
        description, [](char c) { return !printable(c); }, '?');
    return fail(std::errc::invalid_argument,
                fmt::format("{}:{}: {}", file, error.source().begin.line, description));
  }
  return read_lab(parsed.table(), file);
}

}  // namespace weft::fabric
