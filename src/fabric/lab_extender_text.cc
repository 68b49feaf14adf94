// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_extender_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/quantity.h"

namespace weft::fabric {
namespace {

// What the standard's credit can grant (IBA 7.9.4.4): with less, a tunnel is no better than a link.
constexpr std::uint64_t kStandardCredit = std::uint64_t{128} << 10;

struct ExtenderText {
  LabNode node;
  LabExtender extender;
  bool insecure = false;
};

constexpr std::string_view kBridge = "bridge";
constexpr std::string_view kRouter = "router";

Done read_buffer(ExtenderText& text, const Value& value) {
  const auto words = value.words();
  const auto bytes = words ? parse_quantity(*words, kSizeUnits) : std::nullopt;
  if (!bytes || *bytes <= kStandardCredit) {
    return value.wrong("must be more than 128 KiB, as in \"64MiB\"");
  }
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

Done read_remotes(ExtenderText& text, const Value& table) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  const Keys<LabRemote> keys{
      {"address", [](LabRemote& remote,
                     const Value& value) { return store(remote.address, value.udp_address()); }},
      {"prefixes", read_prefixes},
  };
  for (const auto& [name, value] : *entries) {
    LabRemote remote{.name = name, .address = {}, .prefixes = {}};
    if (Done done = read_keys(keys, remote, value); !done) return done;
    text.extender.remotes.push_back(std::move(remote));
  }
  return {};
}

Done read_mode(ExtenderText& text, const Value& value) {
  const auto mode = value.string();
  if (!mode || (*mode != kBridge && *mode != kRouter)) {
    return value.wrong("must be bridge or router");
  }
  text.extender.mode = *mode == kRouter ? ExtenderMode::kRouter : ExtenderMode::kBridge;
  return {};
}

Keys<ExtenderText> extender_keys(const Keys<LabNode>& node_keys) {
  Keys<ExtenderText> keys{
      {"mode", read_mode},
      {"listen",
       [](ExtenderText& text, const Value& value) {
         return store(text.extender.listen, value.udp_address());
       }},
      {"buffer", read_buffer},
      {"insecure", [](ExtenderText& text,
                      const Value& value) { return store(text.insecure, value.boolean()); }},
      {"remote", read_remotes},
  };
  for (const Key<LabNode>& key : node_keys) {
    keys.push_back({key.name, [set = key.set](ExtenderText& text, const Value& value) {
                      return set(text.node, value);
                    }});
  }
  return keys;
}

std::string remote_words(const LabRemote& remote) {
  std::vector<std::string> words;
  if (remote.address) words.push_back(fmt::format("address = \"{}\"", to_string(*remote.address)));
  std::vector<std::string> prefixes;
  for (const GidPrefix& prefix : remote.prefixes)
    prefixes.push_back(fmt::format("\"{}\"", prefix.to_string()));
  if (!prefixes.empty()) {
    words.push_back(fmt::format("prefixes = [{}]", fmt::join(prefixes, ", ")));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

// Which keys there are depends on it, wherever it stands.
bool is_router(const Value& extender) {
  const auto entries = extender.table();
  return entries && std::ranges::any_of(*entries, [](const auto& entry) {
           const auto mode =
               entry.first == "mode" ? entry.second.string() : Expected<std::string>("");
           return mode && *mode == kRouter;
         });
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
    ExtenderText text{.node = model, .extender = {}};
    text.node.name = name;
    text.node.kind = router ? NodeKind::kRouter : NodeKind::kSwitch;
    const Done done = read_keys(router ? of_routers : of_switches, text, value);
    if (!done) return done;
    if (text.extender.listen == PartAddress{}) {
      return value.wrong("needs an address of this machine, as in listen = \"192.0.2.1:7471\"");
    }
    if (!text.insecure) {
      return value.wrong(
          "what crosses the WAN is not encrypted: insecure = true says that this is known");
    }
    const Done added =
        builder.add_extender(std::move(text.node), std::move(text.extender), value.where());
    if (!added) return added;
  }
  return {};
}

std::string extender_words(const LabExtender& extender, std::vector<std::string> words) {
  if (extender.mode == ExtenderMode::kRouter) {
    words.push_back(fmt::format("mode = \"{}\"", kRouter));
  }
  words.push_back(fmt::format("listen = \"{}\"", to_string(extender.listen)));
  if (extender.buffer_bytes != LabExtender{}.buffer_bytes) {
    words.push_back(fmt::format("buffer = \"{}\"", size_text(extender.buffer_bytes)));
  }
  words.emplace_back("insecure = true");
  for (const LabRemote& remote : extender.remotes) {
    words.push_back(fmt::format("remote.\"{}\" = {{ {} }}", remote.name, remote_words(remote)));
  }
  return fmt::format("{{ {} }}", fmt::join(words, ", "));
}

}  // namespace weft::fabric
