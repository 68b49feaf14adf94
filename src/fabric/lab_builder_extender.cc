// SPDX-License-Identifier: Apache-2.0
// The extenders of a lab that is put together, and what of them cannot be.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fibre_address.h"
#include "fabric/lab_builder.h"

namespace weft::fabric {

namespace {

// The name of the remote, of these or `remote`, that has one of its further addresses too, before
// that one; empty: none.
std::string who_has_too(const std::vector<LabRemote>& remotes, const LabRemote& remote,
                        const PartAddress& address) {
  for (const LabRemote& other : remotes) {
    const auto& more = other.more_addresses;
    if (other.address == address) return other.name;
    const auto found = std::ranges::find(more, address);
    if (found != more.end() && &*found != &address) return other.name;
    if (&other == &remote) break;
  }
  return {};
}

}  // namespace

Expected<void> LabBuilder::check_remotes(const LabExtender& extender, const Where& where) const {
  const std::vector<LabRemote>& remotes = extender.remotes;
  if (remotes.empty()) {
    return wrong(where, fmt::format("an extender leads to other sites: say where, as in "
                                    "[{}.remote.there] with address = \"192.0.2.1:7471\"",
                                    where.key));
  }
  if (extender.route_table && extender.mode != ExtenderMode::kRouter) {
    return wrong({.line = where.line, .key = where.key + ".route_table"},
                 "is of an extender with mode = \"router\"; a bridge makes one subnet of all");
  }
  for (std::size_t i = 0; i < remotes.size(); ++i) {
    const Where key{.line = where.line,
                    .key = fmt::format("{}.remote.{}", where.key, remotes[i].name)};
    if (!good_name(remotes[i].name)) {
      return wrong(key, fmt::format("a name has 1 to {} letters, digits and ._-", kMaxName));
    }
    if (extender.on_fibres()) {
      const auto stream_of = [](const LabRemote& remote) {
        return FibreAddress::parse(remote.fibre).value_or(FibreAddress{}).stream;
      };
      const auto same = [&](const LabRemote& other) {
        return stream_of(other) == stream_of(remotes[i]);
      };
      const auto first = std::ranges::find_if(remotes, same);
      if (first == remotes.begin() + static_cast<std::ptrdiff_t>(i)) continue;
      return wrong(key, fmt::format("{} is the fibre to remote {} too", first->fibre, first->name));
    }
    if (remotes[i].address && extender.listens_at(*remotes[i].address)) {
      return wrong(key, fmt::format("{} is where the extender itself listens",
                                    to_string(*remotes[i].address)));
    }
    for (const PartAddress& address : remotes[i].more_addresses) {
      if (extender.listens_at(address)) {
        return wrong(key,
                     fmt::format("{} is where the extender itself listens", to_string(address)));
      }
      const std::string other = who_has_too(remotes, remotes[i], address);
      if (other.empty()) continue;
      return wrong(key,
                   fmt::format("{} is an address of remote {} too", to_string(address), other));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (remotes[j].address != remotes[i].address) continue;
      if (!remotes[i].address) {
        if (!extender.insecure) continue;  // their keys tell them apart
        return wrong(key, fmt::format("remote {} has no address either: nobody could tell them "
                                      "apart",
                                      remotes[j].name));
      }
      return wrong(key, fmt::format("{} is the address of remote {} too",
                                    to_string(*remotes[i].address), remotes[j].name));
    }
    if (auto checked = check_remote_prefixes(extender, remotes[i], key); !checked) return checked;
  }
  return {};
}

Expected<void> LabBuilder::check_remote_prefixes(const LabExtender& extender,
                                                 const LabRemote& remote,
                                                 const Where& where) const {
  const bool routes = extender.mode == ExtenderMode::kRouter;
  const Where key{.line = where.line, .key = where.key + ".prefixes"};
  if (!routes && !remote.prefixes.empty()) {
    return wrong(key,
                 "are of an extender with mode = \"router\"; the others make one of all sites");
  }
  if (routes && remote.prefixes.empty() && !extender.route_table) {
    return wrong(where,
                 "needs the prefixes of the subnets there, as in prefixes = [\"fd00:0:0:2::/64\"]");
  }
  if (auto checked = check_next_hop(extender, remote, where); !checked) return checked;
  const GidPrefix link_local = GidPrefix(kDefaultSubnetPrefix).first(10);
  for (const GidPrefix& prefix : remote.prefixes) {
    // IBA 4.1.1. Shorter ones than those have them as exceptions.
    if (link_local.covers(prefix) || prefix.subnet() >> 56 == 0xFF) {
      return wrong(
          key, fmt::format("{}: link-local and multicast GIDs are not routed", prefix.to_string()));
    }
    for (const LabRemote& other : extender.remotes) {
      if (&other == &remote) break;
      if (std::ranges::find(other.prefixes, prefix) == other.prefixes.end()) continue;
      return wrong(key, fmt::format("{} is remote {}'s too", prefix.to_string(), other.name));
    }
  }
  return {};
}

Expected<void> LabBuilder::check_next_hop(const LabExtender& extender, const LabRemote& remote,
                                          const Where& where) const {
  const Where key{.line = where.line, .key = where.key + ".next_hop"};
  if (remote.next_hop && !extender.route_table) {
    return wrong(key, "is for an extender with a route_table, whose routes it has");
  }
  const bool ipv6 = remote.address && !remote.address->host.is_ipv4_mapped();
  if (extender.route_table && remote.prefixes.empty() && !remote.next_hop && !ipv6) {
    return wrong(where,
                 "needs the IPv6 address by which routes lead there, as in next_hop = "
                 "\"2001:db8::2\", or prefixes");
  }
  for (const LabRemote& other : extender.remotes) {
    if (&other == &remote) break;
    if (!remote.next_hop || other.next_hop != remote.next_hop) continue;
    return wrong(key,
                 fmt::format("{} is remote {}'s too", remote.next_hop->to_string(), other.name));
  }
  return {};
}

Expected<void> LabBuilder::add_extender(LabNode node, LabExtender extender, Where where) {
  if (auto checked = check_remotes(extender, where); !checked) return checked;
  if ((extender.mode == ExtenderMode::kRoce) == extender.hosts.empty()) {
    return wrong(where, extender.hosts.empty()
                            ? "needs the interface where the hosts with RoCE are, as in hosts = "
                              "\"eth1\""
                            : "hosts are of an extender with mode = \"roce\"");
  }
  const std::size_t ports = node.ports + extender.remotes.size();
  if (ports > kMaxPorts) {
    return wrong(where, fmt::format("{} ports and {} remotes: a switch has at most {} ports",
                                    node.ports, extender.remotes.size(), kMaxPorts));
  }
  if (extender.mode == ExtenderMode::kBridge) {
    extender.first_port = static_cast<std::uint8_t>(node.ports + 1);
    node.ports = static_cast<std::uint8_t>(ports);
  }
  extender_names_.push_back(node.name);
  lab_.extenders.push_back(std::move(extender));
  return add_node(std::move(node), std::move(where));
}

void LabBuilder::resolve_extenders() {
  for (std::size_t i = 0; i < lab_.extenders.size(); ++i)
    lab_.extenders[i].node = index_.at(extender_names_[i]);
}

// Of routers, against the lab's own subnet, as far as the lab says which that is.
Expected<void> LabBuilder::check_prefixes() const {
  const GidPrefix own(lab_.management.subnet_prefix);
  for (const LabExtender& extender : lab_.extenders) {
    if (extender.mode != ExtenderMode::kRouter) continue;
    const Where& where = node_where_[extender.node];
    const bool unknown = lab_.management.manager == LabManagement::Manager::kNone;
    if (lab_.management.subnet_prefix == kDefaultSubnetPrefix && !unknown) {
      return wrong(where,
                   "a router joins subnets that have prefixes of their own: say which this one "
                   "has, as in sm = { subnet_prefix = \"fd00:0:0:1::/64\" }");
    }
    for (const LabRemote& remote : extender.remotes) {
      for (const GidPrefix& prefix : remote.prefixes) {
        if (!own.covers(prefix)) continue;
        const Where key{.line = where.line,
                        .key = fmt::format("{}.remote.{}.prefixes", where.key, remote.name)};
        return wrong(key, fmt::format("{} is in the subnet of this lab", prefix.to_string()));
      }
    }
  }
  return {};
}

}  // namespace weft::fabric
