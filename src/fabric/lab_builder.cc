// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "fabric/lab_lan.h"
#include "fabric/lab_subnets.h"

namespace weft::fabric {

bool good_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= kMaxName && name.front() != '-' &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

namespace {

constexpr std::size_t kMaxParts = 256;
// In taken_: by a link to another site.
constexpr std::size_t kWan = ~std::size_t{0};

bool good_description(std::string_view text) {
  return text.size() <= kMaxDescription && std::all_of(text.begin(), text.end(), printable);
}

std::size_t lids_of(const LabNode& node) {
  return node.kind == NodeKind::kSwitch ? 1 : node.ports;
}

}  // namespace

tl::unexpected<Error> LabBuilder::wrong(const Where& where, const std::string& message) const {
  std::string place = file_;
  if (where.line != 0) place += fmt::format(":{}", where.line);
  if (!where.key.empty()) place += fmt::format(": {}", where.key);
  return fail(std::errc::invalid_argument, fmt::format("{}: {}", place, message));
}

Expected<void> LabBuilder::add_part(LabPart part, Where where) {
  // It becomes a file name.
  if (!good_name(part.name) || part.name.front() == '.') {
    return wrong(where, fmt::format("the name of a part has 1 to {} letters, digits and ._-, the "
                                    "first no '.'",
                                    kMaxName));
  }
  for (std::size_t i = 0; part.address && i < lab_.parts.size(); ++i) {
    if (lab_.parts[i].address != part.address) continue;
    const Where key{.line = where.line, .key = where.key + ".address"};
    return wrong(
        key, fmt::format("{} is the address of part {} of line {} too", to_string(*part.address),
                         lab_.parts[i].name, part_where_[i].line));
  }
  if (lab_.parts.size() >= kMaxParts) {
    return wrong(where, fmt::format("a lab has at most {} parts", kMaxParts));
  }
  lab_.parts.push_back(std::move(part));
  part_where_.push_back(std::move(where));
  return {};
}

Expected<void> LabBuilder::add_node(LabNode node, Where where) {
  if (!good_name(node.name)) {
    return wrong(where, fmt::format("a name has 1 to {} letters, digits and ._-", kMaxName));
  }
  if (const auto other = index_.find(node.name); other != index_.end()) {
    return wrong(where, fmt::format("the name {} is taken by the {} of line {}", node.name,
                                    to_string(lab_.nodes[other->second].kind),
                                    node_where_[other->second].line));
  }
  if (node.ports < 1 || node.ports > kMaxPorts) {
    return wrong(where, fmt::format("a node has 1 to {} ports, not {}", kMaxPorts, node.ports));
  }
  if (node.description.empty()) node.description = node.name;
  if (!good_description(node.description)) {
    return wrong(where, fmt::format("a description has at most {} ASCII characters, none of them a "
                                    "quotation mark or a control character",
                                    kMaxDescription));
  }
  const std::size_t guids = node.kind == NodeKind::kSwitch ? 1 : node.ports;
  if (node.port_guids.size() > guids) {
    return wrong(where, fmt::format("{} port GUIDs for {}", node.port_guids.size(), guids));
  }
  node.port_guids.resize(guids);
  const std::size_t addresses = node.kind == NodeKind::kChannelAdapter ? node.ports : 0;
  if (node.addresses.size() > addresses) {
    return wrong(where, fmt::format("{} addresses for {}", node.addresses.size(), addresses));
  }
  node.addresses.resize(addresses);
  index_.emplace(node.name, static_cast<std::uint32_t>(lab_.nodes.size()));
  lab_.nodes.push_back(std::move(node));
  node_where_.push_back(std::move(where));
  return {};
}

Expected<void> LabBuilder::add_host(const LabHost& host, const Where& where) {
  const auto [other, fresh] = host_where_.emplace(host.address, where);
  if (!fresh) {
    return wrong(where,
                 fmt::format("{} is in line {} too", to_string(host.address), other->second.line));
  }
  lab_.hosts.push_back(host);
  return {};
}

void LabBuilder::add_link(LinkText link, Where where) {
  link_texts_.push_back(std::move(link));
  link_where_.push_back(std::move(where));
}

// Switches, nodes, routers: as they are written.
void LabBuilder::put_in_order() {
  std::vector<std::uint32_t> order(lab_.nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return lab_.nodes[i].kind; });
  std::vector<LabNode> nodes;
  std::vector<Where> where;
  nodes.reserve(order.size());
  where.reserve(order.size());
  for (const std::uint32_t i : order) {
    index_[lab_.nodes[i].name] = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back(std::move(lab_.nodes[i]));
    where.push_back(std::move(node_where_[i]));
  }
  lab_.nodes = std::move(nodes);
  node_where_ = std::move(where);
}

Expected<void> LabBuilder::check_size() const {
  std::size_t lids = 0;
  for (const LabNode& node : lab_.nodes)
    lids += lids_of(node);
  if (lab_.nodes.empty()) return wrong({}, "there is no node in it");
  if (lids > kMaxLids) {
    return wrong(
        {}, fmt::format("{} switches and adapter ports: a subnet has {} LIDs", lids, kMaxLids));
  }
  return {};
}

Expected<void> LabBuilder::claim_guid(Guid guid, std::uint32_t node) {
  const auto [other, fresh] = guid_owner_.emplace(guid, node);
  if (fresh || other->second == node) return {};
  return wrong(node_where_[node],
               fmt::format("GUID {} is {}'s too", to_string(guid), lab_.nodes[other->second].name));
}

// Those that were given first: the others make room for them.
Expected<void> LabBuilder::check_guids() {
  for (std::uint32_t i = 0; i < lab_.nodes.size(); ++i) {
    const LabNode& node = lab_.nodes[i];
    std::vector<Guid> given = node.port_guids;
    std::erase(given, Guid{});
    std::sort(given.begin(), given.end());
    if (const auto twice = std::adjacent_find(given.begin(), given.end()); twice != given.end()) {
      return wrong(node_where_[i], fmt::format("two ports with GUID {}", to_string(*twice)));
    }
    if (node.guid != Guid{}) given.push_back(node.guid);
    for (const Guid guid : given) {
      if (auto claimed = claim_guid(guid, i); !claimed) return claimed;
    }
  }
  for (std::uint32_t i = 0; i < lab_.nodes.size(); ++i) {
    LabNode& node = lab_.nodes[i];
    std::string salt;
    while (node.guid == Guid{}) {
      const Guid guid = derived_guid(lab_.name + salt, node.name);
      if (guid_owner_.emplace(guid, i).second) node.guid = guid;
      salt += '+';
    }
    if (node.system_guid == Guid{}) node.system_guid = node.guid;
    for (std::size_t port = 0; port < node.port_guids.size(); ++port) {
      Guid& guid = node.port_guids[port];
      if (guid != Guid{}) continue;
      const bool of_switch = node.kind == NodeKind::kSwitch;
      guid = of_switch ? node.guid : Guid{node.guid.value() + port + 1};
      if (auto claimed = claim_guid(guid, i); !claimed) return claimed;
    }
  }
  return {};
}

// Those that were given; the others make room for them.
Expected<void> LabBuilder::check_addresses() {
  for (std::uint32_t i = 0; i < lab_.nodes.size(); ++i) {
    const std::vector<Ipv4>& addresses = lab_.nodes[i].addresses;
    for (std::size_t port = 0; port < addresses.size(); ++port) {
      if (addresses[port] == Ipv4{}) continue;
      const Where where{.line = node_where_[i].line, .key = node_where_[i].key + ".ip"};
      if (!lab_.network.has_host(addresses[port])) {
        return wrong(where, fmt::format("{} is no host's address in network {}",
                                        to_string(addresses[port]), to_string(lab_.network)));
      }
      const LabEnd end{.node = i, .port = static_cast<std::uint8_t>(port + 1)};
      const auto [other, fresh] = address_owner_.emplace(addresses[port], end);
      if (!fresh) {
        return wrong(where, fmt::format("{} is the address of {} too", to_string(addresses[port]),
                                        lab_.end_name(other->second)));
      }
    }
  }
  return {};
}

// Against the ports that have theirs from the file; the others get what is left.
Expected<void> LabBuilder::check_hosts() const {
  for (const LabHost& host : lab_.hosts) {
    const auto owner = address_owner_.find(host.address);
    if (owner == address_owner_.end()) continue;
    return wrong(host_where_.at(host.address),
                 fmt::format("is the address of {} of this lab", lab_.end_name(owner->second)));
  }
  return {};
}

Expected<void> LabBuilder::draw_addresses() {
  const Ipv4 last = lab_.network.last();
  Ipv4 next = lab_.network.first();
  for (LabNode& node : lab_.nodes) {
    for (Ipv4& address : node.addresses) {
      if (address != Ipv4{}) continue;
      while (next <= last && (address_owner_.contains(next) || host_where_.contains(next)))
        next = Ipv4{next.value() + 1};
      if (next > last) {
        return wrong(
            network_where_,
            fmt::format("{} has addresses for {} ports, and there are more",
                        to_string(lab_.network), last.value() - lab_.network.base.value()));
      }
      address = next;
      next = Ipv4{next.value() + 1};
    }
  }
  return {};
}

Expected<LabEnd> LabBuilder::resolve_end(const EndText& end, const Where& where) const {
  const auto node = index_.find(end.node);
  if (node == index_.end()) {
    return wrong(where, fmt::format("{}: there is no such switch, node or router", end.node));
  }
  if (!end.port) return LabEnd{.node = node->second, .port = 0};
  const unsigned ports = lab_.nodes[node->second].ports;
  if (*end.port < 1 || *end.port > ports) {
    return wrong(where,
                 fmt::format("{}:{}: {} has ports 1 to {}", end.node, *end.port, end.node, ports));
  }
  return LabEnd{.node = node->second, .port = static_cast<std::uint8_t>(*end.port)};
}

Expected<void> LabBuilder::take_port(const LabEnd& end, std::size_t link, const Where& where) {
  std::size_t& taken = taken_[end.node][end.port];
  if (taken == kWan) {
    return wrong(where, fmt::format("port {} leads to another site", lab_.end_name(end)));
  }
  if (taken != 0) {
    return wrong(where, fmt::format("port {} is taken by the link of line {}", lab_.end_name(end),
                                    link_where_[taken - 1].line));
  }
  taken = link + 1;
  return {};
}

Expected<void> LabBuilder::take_free_port(LabEnd& end, std::size_t link, const Where& where) {
  std::vector<std::size_t>& taken = taken_[end.node];
  const auto free = std::find(taken.begin() + 1, taken.end(), 0u);
  if (free == taken.end()) {
    return wrong(where, fmt::format("{}: all its {} ports are taken", lab_.nodes[end.node].name,
                                    lab_.nodes[end.node].ports));
  }
  end.port = static_cast<std::uint8_t>(free - taken.begin());
  return take_port(end, link, where);
}

Expected<void> LabBuilder::resolve_links() {
  taken_.reserve(lab_.nodes.size());
  for (const LabNode& node : lab_.nodes)
    taken_.emplace_back(node.ports + 1u, 0u);
  for (const LabExtender& extender : lab_.extenders) {
    const bool has_ports = extender.mode == ExtenderMode::kBridge;
    for (std::size_t i = 0; has_ports && i < extender.remotes.size(); ++i)
      taken_[extender.node][extender.port_of(i)] = kWan;
  }
  for (std::size_t i = 0; i < link_texts_.size(); ++i) {
    LabLink link = link_texts_[i].link;
    for (std::size_t side = 0; side < 2; ++side) {
      const auto end = resolve_end(link_texts_[i].ends[side], link_where_[i]);
      if (!end) return tl::unexpected(end.error());
      link.ends[side] = *end;
      if (end->port == 0) continue;
      if (auto taken = take_port(*end, i, link_where_[i]); !taken) return taken;
    }
    lab_.links.push_back(std::move(link));
  }
  for (std::size_t i = 0; i < lab_.links.size(); ++i) {
    for (LabEnd& end : lab_.links[i].ends) {
      if (end.port != 0) continue;
      if (auto taken = take_free_port(end, i, link_where_[i]); !taken) return taken;
    }
  }
  return {};
}

Expected<void> LabBuilder::check_link_names() const {
  std::unordered_map<std::string_view, std::size_t> names;
  for (std::size_t i = 0; i < lab_.links.size(); ++i) {
    const std::string& name = lab_.links[i].name;
    if (name.empty()) continue;
    if (!good_name(name)) {
      return wrong(link_where_[i], fmt::format("the name of a link has 1 to {} letters, digits "
                                               "and ._-",
                                               kMaxName));
    }
    const auto [other, fresh] = names.emplace(name, i);
    if (!fresh) {
      return wrong(link_where_[i], fmt::format("the name {} is taken by the link of line {}", name,
                                               link_where_[other->second].line));
    }
  }
  return {};
}

Expected<void> LabBuilder::check_management() const {
  if (auto done = check_management(lab_.management, management_where_); !done) return done;
  for (std::size_t i = 0; i < lab_.more_subnets.size(); ++i) {
    if (auto done = check_management(lab_.more_subnets[i], subnet_where_[i]); !done) return done;
  }
  return lab_.more_subnets.empty() ? Expected<void>() : check_subnets();
}

Expected<void> LabBuilder::check_management(const LabManagement& management,
                                            const Where& where) const {
  if (management.mkey_protect && management.mkeys.empty()) {
    return wrong({.line = where.line, .key = where.key + ".mkey_protect"},
                 "is for ports that have keys: say where they are kept, as in mkeys = "
                 "\"keys\"");
  }
  if (management.node.empty()) return {};
  const LabNode* const node = lab_.find_node(management.node);
  if (node == nullptr) return wrong(where, fmt::format("there is no node {}", management.node));
  if (node->kind != NodeKind::kChannelAdapter &&
      management.manager == LabManagement::Manager::kOpenSm) {
    return wrong(where, fmt::format("{} is a {}; OpenSM runs on a node", management.node,
                                    to_string(node->kind)));
  }
  return {};
}

// Of a lab that has several.
Expected<void> LabBuilder::check_subnets() const {
  const std::size_t count = lab_.more_subnets.size() + 1;
  const auto where = [this](std::size_t i) -> const Where& {
    return i == 0 ? management_where_ : subnet_where_[i - 1];
  };
  for (std::size_t i = 0; i < count; ++i) {
    const LabManagement& management = lab_.management_of(i);
    if (management.manager != LabManagement::Manager::kWeft) {
      return wrong(where(i), "of several subnets, each has Weft's own manager");
    }
    if (management.node.empty()) {
      return wrong(where(i),
                   "of several subnets, each says where its manager is, as in node = \"s1\"");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (lab_.management_of(j).subnet_prefix != management.subnet_prefix) continue;
      return wrong(where(i), fmt::format("the subnet of {} has this subnet_prefix, too",
                                         lab_.management_of(j).node));
    }
  }
  if (const auto [one, other] = LabSubnets(lab_).shared(); one != other) {
    return wrong(where(other),
                 fmt::format("links join {} with {}: they are one subnet",
                             lab_.management_of(other).node, lab_.management_of(one).node));
  }
  return {};
}

Expected<void> LabBuilder::check_parts() const {
  std::vector<bool> used(lab_.parts.size());
  for (std::size_t i = 0; i < lab_.nodes.size() && !used.empty(); ++i)
    used[lab_.nodes[i].part] = true;
  if (const auto empty = std::find(used.begin(), used.end(), false); empty != used.end()) {
    const auto part = static_cast<std::size_t>(empty - used.begin());
    return wrong(part_where_[part],
                 fmt::format("no switch or node is in part {0}: they say so with "
                             "part = \"{0}\"",
                             lab_.parts[part].name));
  }
  for (std::size_t i = 0; i < lab_.links.size(); ++i) {
    if (!lab_.is_cut(lab_.links[i])) continue;
    const LabPart& a = lab_.parts[lab_.nodes[lab_.links[i].ends[0].node].part];
    const LabPart& b = lab_.parts[lab_.nodes[lab_.links[i].ends[1].node].part];
    if (carrier_between(a, b)) continue;
    const LabPart& without = a.address ? b : a;
    return wrong(link_where_[i],
                 fmt::format("it joins parts {} and {}, and {} has no address: give it one, or "
                             "neither where both run on one machine",
                             a.name, b.name, without.name));
  }
  return {};
}

Expected<void> LabBuilder::check_negotiations() const {
  for (std::size_t i = 0; i < lab_.links.size(); ++i) {
    const LabLink& link = lab_.links[i];
    if (!link.negotiation) continue;
    if (lab_.is_cut(link)) {
      return wrong(link_where_[i],
                   "the ports of a link that negotiates are in one part of the lab");
    }
    const LinkWidth width = lab_.width_of(link);
    if (width == LinkWidth::k2x) {
      return wrong(link_where_[i], "a link that negotiates is 1x, 4x, 8x or 12x wide, not 2x");
    }
    const auto options =
        link.negotiation->options(static_cast<std::uint32_t>(width), link.emulation.delay);
    if (const auto made = phy::DdrLink::make(options); !made) {
      return wrong(link_where_[i], made.error().message);
    }
  }
  return {};
}

Expected<void> LabBuilder::check_lan() const {
  const auto conflict = find_lan_conflict(lab_);
  if (!conflict) return {};
  const Where& node = node_where_[conflict->node];
  return wrong({.line = node.line, .key = node.key + ".lan"}, conflict->message);
}

Expected<Lab> LabBuilder::finish() {
  if (lab_.name.empty()) lab_.name = "lab";
  if (!good_name(lab_.name)) {
    return wrong({.line = 0, .key = "name"},
                 fmt::format("a name has 1 to {} letters, digits and ._-", kMaxName));
  }
  put_in_order();
  resolve_extenders();
  if (const auto done = check_size(); !done) return tl::unexpected(done.error());
  if (const auto done = check_guids(); !done) return tl::unexpected(done.error());
  if (const auto done = check_addresses(); !done) return tl::unexpected(done.error());
  if (const auto done = check_hosts(); !done) return tl::unexpected(done.error());
  if (const auto done = draw_addresses(); !done) return tl::unexpected(done.error());
  if (const auto done = resolve_links(); !done) return tl::unexpected(done.error());
  if (const auto done = check_link_names(); !done) return tl::unexpected(done.error());
  if (const auto done = check_management(); !done) return tl::unexpected(done.error());
  if (const auto done = check_prefixes(); !done) return tl::unexpected(done.error());
  if (const auto done = check_parts(); !done) return tl::unexpected(done.error());
  if (const auto done = check_negotiations(); !done) return tl::unexpected(done.error());
  if (const auto done = check_lan(); !done) return tl::unexpected(done.error());
  if (const auto done = check_services(); !done) return tl::unexpected(done.error());
  return std::move(lab_);
}

}  // namespace weft::fabric
