// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_extender_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "fabric/lab_dscp_text.h"
#include "fabric/lab_egress_text.h"
#include "fabric/lab_fec_text.h"
#include "fabric/lab_label_text.h"
#include "fabric/lab_line_text.h"
#include "fabric/lab_site_text.h"
#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

// What the standard's credit can grant (IBA 7.9.4.4): with less, a tunnel is no better than a link.
constexpr std::uint64_t kStandardCredit = std::uint64_t{128} << 10;
// A fibre may be that: what it needs is a packet, and more is of use than a port can count.
constexpr std::uint64_t kLeastOnFibre = std::uint64_t{8} << 10;
constexpr std::uint64_t kMostOnFibre = std::uint64_t{128} << 30;

constexpr std::string_view kNull = "null";

constexpr Duration kShortestKeyTime = 1s;

struct ExtenderText {
  LabNode node;
  LabExtender extender;
  LabRemote usual;  // what its remotes are where they do not say
};

// What an extender may say for all of its remotes, or of one.
const Keys<LabRemote>& encapsulation_keys() {
  static const Keys<LabRemote> keys{
      {"encapsulation",
       [](LabRemote& remote, const Value& value) {
         return store(remote.encapsulation, value.string());
       }},
      {"interface", [](LabRemote& remote,
                       const Value& value) { return store(remote.interface, value.string()); }},
      {"labels", [](LabRemote& remote,
                    const Value& value) { return store(remote.labels, read_labels(value)); }},
      {"own_labels",
       [](LabRemote& remote, const Value& value) {
         return store(remote.own_labels, read_labels(value));
       }},
      {"dscp",
       [](LabRemote& remote, const Value& value) { return store(remote.dscp, read_dscp(value)); }},
      {"fec",
       [](LabRemote& remote, const Value& value) { return store(remote.fec, read_fec(value)); }},
      {"egress", [](LabRemote& remote,
                    const Value& value) { return store(remote.egress, read_egress(value)); }},
  };
  return keys;
}

constexpr std::string_view kBridge = "bridge";
constexpr std::string_view kRouter = "router";
constexpr std::string_view kRoce = "roce";

Done read_buffer(ExtenderText& text, const Value& value) {
  const auto words = value.words();
  const auto bytes = words ? parse_quantity(*words, kSizeUnits) : std::nullopt;
  if (!bytes) return value.wrong("must be a size, as in \"64MiB\"");
  text.extender.buffer_bytes = *bytes;
  return {};
}

Done read_prefixes(LabRemote& remote, const Value& value) {
  const auto entries = value.array();
  if (!entries) return tl::unexpected(entries.error());
  for (const Value& entry : *entries) {
    if (Done done = store(remote.prefixes.emplace_back(), entry.gid_prefix()); !done) return done;
  }
  return {};
}

// A number, or the name that every system has for its table.
Done read_route_table(ExtenderText& text, const Value& value) {
  const auto name = value.string();
  constexpr std::uint32_t kMain = 254;  // rtnetlink(7): RT_TABLE_MAIN
  if (name && *name == "main") {
    text.extender.route_table = kMain;
    return {};
  }
  const auto number = value.integer(1, 0xFFFF'FFFF);
  if (!number) return value.wrong("must be \"main\" or the number of a routing table");
  text.extender.route_table = static_cast<std::uint32_t>(*number);
  return {};
}

Done read_next_hop(LabRemote& remote, const Value& value) {
  const auto text = value.string();
  const auto address = text ? parse_gid(*text) : std::nullopt;
  if (!address || address->is_zero() || address->is_multicast() || address->is_ipv4_mapped()) {
    return value.wrong(
        "must be the IPv6 address by which routes lead there, as in \"2001:db8::2\"");
  }
  remote.next_hop = *address;
  return {};
}

Done read_key_time(ExtenderText& text, const Value& value) {
  const auto words = value.words();
  const auto time = words ? parse_quantity(*words, kTimeUnits) : std::nullopt;
  constexpr auto kLongest = static_cast<std::uint64_t>(Duration(std::chrono::hours(24)).count());
  if (!time || *time > kLongest || Duration(static_cast<Duration::rep>(*time)) < kShortestKeyTime) {
    return value.wrong("must be a time from 1s to 86400s, as in \"3600s\"");
  }
  text.extender.key_time = Duration(static_cast<Duration::rep>(*time));
  return {};
}

// One, or several of which any will do.
Done read_fingerprints(LabRemote& remote, const Value& value) {
  const auto one = value.string();
  if (one) {
    remote.fingerprints = {*one};
    return {};
  }
  const auto several = value.array();
  if (!several || several->empty()) {
    return value.wrong("must be a fingerprint, the name of a file with one, or several of them");
  }
  for (const Value& each : *several) {
    auto text = each.string();
    if (!text) return tl::unexpected(text.error());
    remote.fingerprints.push_back(std::move(*text));
  }
  return {};
}

constexpr std::string_view kAuto = "auto";

Done read_rate(LabRemote& remote, const Value& value) {
  if (value.string() == kAuto) {
    remote.adapts_rate = true;
    return {};
  }
  const auto words = value.words();
  const auto bytes = words ? parse_quantity(*words, kRateUnits) : std::nullopt;
  if (!bytes || *bytes == 0)
    return value.wrong("must be a rate, as in \"2.5Gb/s\", not 0, or \"auto\"");
  remote.rate_bytes_per_s = *bytes;
  return {};
}

Done read_remotes(ExtenderText& text, const Value& table) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  Keys<LabRemote> keys{
      {"address", read_address},
      {"paths", read_paths},
      {"prefixes", read_prefixes},
      {"next_hop", read_next_hop},
      {"fingerprint", read_fingerprints},
      {"fibre", [](LabRemote& remote,
                   const Value& value) { return store(remote.fibre, read_fibre(value)); }},
      {"line", read_line},
      {"line_rate", read_line_rate},
      {"svc", read_svc},
      {"rate", read_rate},
  };
  keys.insert(keys.end(), encapsulation_keys().begin(), encapsulation_keys().end());
  for (const auto& [name, value] : *entries) {
    LabRemote remote;
    remote.name = name;
    if (Done done = read_keys(keys, remote, value); !done) return done;
    text.extender.remotes.push_back(std::move(remote));
  }
  return {};
}

Done read_setup(ExtenderText& text, const Value& value) {
  const auto setup = value.string();
  if (setup != "tcp" && setup != "none") return value.wrong("must be tcp or none");
  text.extender.tcp_setup = setup == "tcp";
  return {};
}

Done read_mode(ExtenderText& text, const Value& value) {
  const auto mode = value.string();
  if (mode == kBridge) {
    text.extender.mode = ExtenderMode::kBridge;
  } else if (mode == kRouter) {
    text.extender.mode = ExtenderMode::kRouter;
  } else if (mode == kRoce) {
    text.extender.mode = ExtenderMode::kRoce;
  } else {
    return value.wrong("must be bridge, router or roce");
  }
  return {};
}

Keys<ExtenderText> extender_keys(const Keys<LabNode>& node_keys) {
  Keys<ExtenderText> keys{
      {"mode", read_mode},
      {"listen",
       [](ExtenderText& text, const Value& value) { return read_listen(text.extender, value); }},
      {"hosts", [](ExtenderText& text,
                   const Value& value) { return store(text.extender.hosts, value.string()); }},
      {"buffer", read_buffer},
      {"route_table", read_route_table},
      {"key", [](ExtenderText& text,
                 const Value& value) { return store(text.extender.key, value.string()); }},
      {"certificate",
       [](ExtenderText& text, const Value& value) {
         return store(text.extender.certificate, value.string());
       }},
      {"key_time", read_key_time},
      {"insecure",
       [](ExtenderText& text, const Value& value) {
         return store(text.extender.insecure, value.boolean());
       }},
      {"setup", read_setup},
      {"remote", read_remotes},
  };
  for (const Key<LabRemote>& key : encapsulation_keys()) {
    keys.push_back({key.name, [set = key.set](ExtenderText& text, const Value& value) {
                      return set(text.usual, value);
                    }});
  }
  for (const Key<LabNode>& key : node_keys) {
    keys.push_back({key.name, [set = key.set](ExtenderText& text, const Value& value) {
                      return set(text.node, value);
                    }});
  }
  return keys;
}

// Which keys there are depends on it, wherever it stands.
bool is_router(const Value& extender) {
  const auto entries = extender.table();
  return entries && std::ranges::any_of(*entries, [](const auto& entry) {
           const auto mode =
               entry.first == "mode" ? entry.second.string() : Expected<std::string>("");
           return mode == kRouter || mode == kRoce;
         });
}

// All of its remotes or none: what the others need makes no sense of it.
Done check_fibres(const LabExtender& extender, const Value& value) {
  if (extender.listen != PartAddress{} || !extender.key.empty() || extender.tcp_setup) {
    return value.wrong("has remotes on fibres, for which it neither listens nor has a key");
  }
  if (extender.mode == ExtenderMode::kRouter) {
    return value.wrong("cannot be a router on fibres: mode = \"bridge\"");
  }
  if (extender.buffer_bytes < kLeastOnFibre || extender.buffer_bytes > kMostOnFibre) {
    return value.wrong("needs a buffer from 8KiB to 128GiB");
  }
  for (const LabRemote& remote : extender.remotes) {
    const std::string_view layers = remote.encapsulation;
    if (remote.fibre.empty()) {
      return value.wrong(
          fmt::format("remote {} is not on a fibre, as others are: give it an extender of its own",
                      remote.name));
    }
    if (remote.address || remote.paths != 1 || !remote.fingerprints.empty() ||
        !remote.interface.empty() || !remote.line.empty() || remote.dscp || remote.fec) {
      return value.wrong(
          fmt::format("remote {} is on a fibre, which has neither address, "
                      "fingerprint, interface nor line, nor dscp, nor fec",
                      remote.name));
    }
    if (remote.adapts_rate) {
      return value.wrong(fmt::format(
          "remote {} is on a fibre, which is as fast as it is: rate = \"auto\" is for a WAN",
          remote.name));
    }
    if (layers.empty() || layers == kNull) continue;
    return value.wrong(
        fmt::format("remote {} is on a fibre, where encapsulation is \"null\"", remote.name));
  }
  return {};
}

Done check_paths(const LabExtender& extender, const LabRemote& remote, const Value& value) {
  const std::size_t known = remote.more_addresses.size() + 1;
  if (remote.address && known != remote.paths) {
    return value.wrong(fmt::format(
        "remote {} has {} paths and {} addresses: paths is for one that comes here from wherever",
        remote.name, remote.paths, known));
  }
  if (remote.paths == 1) return {};
  if (extender.tcp_setup) {
    return value.wrong(
        fmt::format("remote {} has several paths, and would be lost with the one that has the "
                    "connection of setup = \"tcp\": leave that out, or have keys",
                    remote.name));
  }
  if (extender.insecure && !remote.address) {
    return value.wrong(fmt::format(
        "remote {} has no addresses: without keys nobody could tell its paths apart", remote.name));
  }
  return {};
}

Done check_network(const LabExtender& extender, const Value& value) {
  for (const LabRemote& remote : extender.remotes) {
    if (!remote.fibre.empty()) return check_fibres(extender, value);
    if (Done done = check_paths(extender, remote, value); !done) return done;
    if (Done done = check_line(extender, remote, value); !done) return done;
    if (remote.encapsulation != kNull) continue;
    return value.wrong(fmt::format(
        "remote {} needs a fibre without an encapsulation, as in fibre = \"tcp:192.0.2.1:7471\"",
        remote.name));
  }
  if (extender.listen == PartAddress{}) {
    return value.wrong("needs an address of this machine, as in listen = \"192.0.2.1:7471\"");
  }
  if (extender.buffer_bytes > kStandardCredit) return {};
  return value.wrong("needs a buffer of more than 128 KiB; only on fibres may it be less");
}

// What crosses the WAN is sealed unless somebody says that it need not be.
Done check_keys(const LabExtender& extender, const Value& value) {
  if (extender.on_fibres()) return {};
  if (extender.insecure) {
    if (!extender.key.empty()) return value.wrong("has a key, and insecure = true: one of the two");
    return {};
  }
  if (extender.tcp_setup) {
    return value.wrong(
        "has setup = \"tcp\", which is for insecure = true: with keys, their control channel is "
        "that");
  }
  if (extender.key.empty()) {
    return value.wrong(
        "needs a key, for what crosses the WAN is encrypted: `weft extend keygen site.key` makes "
        "one and prints its fingerprint; say key = \"site.key\" here, and to each remote the "
        "fingerprint of the other's; or insecure = true");
  }
  for (const LabRemote& remote : extender.remotes) {
    if (!remote.fingerprints.empty()) continue;
    return value.wrong(fmt::format(
        "remote {} needs the fingerprint of its key, as in fingerprint = \"SHA256:...\": it is "
        "what `weft extend keygen` or `weft extend fingerprint` prints at that site",
        remote.name));
  }
  return {};
}

}  // namespace

Done add_extenders(LabBuilder& builder, const Value& table, const Keys<LabNode>& switch_keys,
                   const Keys<LabNode>& router_keys, const LabNode& model) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  const Keys<ExtenderText> of_switches = extender_keys(switch_keys);
  const Keys<ExtenderText> of_routers = extender_keys(router_keys);
  for (const auto& [name, value] : *entries) {
    const bool router = is_router(value);
    ExtenderText text{.node = model, .extender = {}, .usual = {}};
    text.node.name = name;
    text.node.kind = router ? NodeKind::kRouter : NodeKind::kSwitch;
    Done done = read_keys(router ? of_routers : of_switches, text, value);
    if (!done) return done;
    for (LabRemote& remote : text.extender.remotes) {
      if (remote.encapsulation.empty()) remote.encapsulation = text.usual.encapsulation;
      if (remote.interface.empty()) remote.interface = text.usual.interface;
      if (remote.labels.empty()) remote.labels = text.usual.labels;
      if (remote.own_labels.empty()) remote.own_labels = text.usual.own_labels;
      if (!remote.dscp) remote.dscp = text.usual.dscp;
      if (!remote.fec) remote.fec = text.usual.fec;
      if (!remote.egress) remote.egress = text.usual.egress;
    }
    done = check_network(text.extender, value);
    if (done) done = check_keys(text.extender, value);
    if (!done) return done;
    Done added =
        builder.add_extender(std::move(text.node), std::move(text.extender), value.where());
    if (!added) return added;
  }
  return {};
}

namespace {

std::string remote_words(const LabRemote& remote) {
  std::vector<std::string> keys;
  if (remote.address) {
    keys.push_back("address = " + address_words(*remote.address, remote.more_addresses));
  }
  if (!remote.address && remote.paths != 1) {
    keys.push_back(fmt::format("paths = {}", remote.paths));
  }
  if (!remote.prefixes.empty()) {
    std::vector<std::string> values;
    for (const GidPrefix& prefix : remote.prefixes)
      values.push_back(quoted(prefix.to_string()));
    keys.push_back(fmt::format("prefixes = [{}]", fmt::join(values, ", ")));
  }
  if (!remote.encapsulation.empty()) {
    keys.push_back("encapsulation = " + quoted(remote.encapsulation));
  }
  if (!remote.fibre.empty()) keys.push_back("fibre = " + quoted(remote.fibre));
  std::ranges::move(line_words(remote), std::back_inserter(keys));
  if (!remote.interface.empty()) keys.push_back("interface = " + quoted(remote.interface));
  if (!remote.labels.empty()) keys.push_back("labels = " + label_words(remote.labels));
  if (!remote.own_labels.empty()) keys.push_back("own_labels = " + label_words(remote.own_labels));
  if (remote.dscp) keys.push_back("dscp = " + dscp_words(*remote.dscp));
  if (remote.fec) keys.push_back("fec = " + quoted(fec_words(*remote.fec)));
  if (remote.egress) keys.push_back("egress = " + egress_words(*remote.egress));
  if (remote.next_hop) keys.push_back("next_hop = " + quoted(remote.next_hop->to_string()));
  if (remote.rate_bytes_per_s != 0) {
    keys.push_back("rate = " + quoted(quantity_text(remote.rate_bytes_per_s, kRateUnits)));
  }
  if (remote.adapts_rate) keys.push_back("rate = " + quoted(kAuto));
  if (!remote.fingerprints.empty()) {
    std::vector<std::string> values;
    for (const std::string& fingerprint : remote.fingerprints)
      values.push_back(quoted(fingerprint));
    keys.push_back(fmt::format("fingerprint = [{}]", fmt::join(values, ", ")));
  }
  return fmt::format("remote.{} = {{ {} }}", quoted(remote.name), fmt::join(keys, ", "));
}

}  // namespace

std::string extender_words(const LabExtender& extender, std::vector<std::string> words) {
  if (extender.mode == ExtenderMode::kRouter) words.push_back("mode = " + quoted(kRouter));
  if (extender.mode == ExtenderMode::kRoce) {
    words.push_back("mode = " + quoted(kRoce));
    words.push_back("hosts = " + quoted(extender.hosts));
  }
  if (extender.route_table) {
    words.push_back(fmt::format("route_table = {}", *extender.route_table));
  }
  if (!extender.on_fibres()) {
    words.push_back("listen = " + address_words(extender.listen, extender.more_listens));
  }
  if (extender.buffer_bytes != LabExtender{}.buffer_bytes) {
    words.push_back("buffer = " + quoted(size_text(extender.buffer_bytes)));
  }
  if (extender.insecure) words.emplace_back("insecure = true");
  if (extender.tcp_setup) words.emplace_back("setup = \"tcp\"");
  if (!extender.key.empty()) words.push_back("key = " + quoted(extender.key));
  if (!extender.certificate.empty()) {
    words.push_back("certificate = " + quoted(extender.certificate));
  }
  if (extender.key_time != LabExtender{}.key_time) {
    const auto time = static_cast<std::uint64_t>(extender.key_time.count());
    words.push_back("key_time = " + quoted(quantity_text(time, kTimeUnits)));
  }
  for (const LabRemote& remote : extender.remotes)
    words.push_back(remote_words(remote));
  return fmt::format("{{ {} }}", fmt::join(words, ", "));
}

}  // namespace weft::fabric
