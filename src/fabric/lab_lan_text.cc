// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_lan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

Done read_name(LabLan& lan, const Value& value) {
  const auto text = value.string();
  if (!text || !good_interface_pattern(*text)) {
    return value.wrong(std::string(kInterfacePatternWanted));
  }
  lan.name = *text;
  return {};
}

Done read_netns(LabLan& lan, const Value& value) {
  if (const auto some = value.boolean(); some && !*some) {
    lan.netns.clear();
    return {};
  }
  const auto text = value.string();
  if (!text || !good_netns_pattern(*text)) {
    return value.wrong(fmt::format("{}; false is the daemon's own", kNetnsPatternWanted));
  }
  lan.netns = *text;
  return {};
}

Done read_bridge(LabLan& lan, const Value& value) {
  const auto some = value.boolean();
  const auto text = value.string();
  if (!some && (!text || *text != "auto")) {
    return value.wrong("must be true, false or \"auto\"");
  }
  lan.bridge.reset();
  if (some) lan.bridge = *some;
  return {};
}

Keys<LabLan> lan_keys() {
  return {
      {"name", read_name},
      {"netns", read_netns},
      {"mtu",
       [](LabLan& lan, const Value& value) {
         return store(lan.mtu, value.integer(kLeastLanMtu, kMostLanMtu));
       }},
      {"queues",
       [](LabLan& lan, const Value& value) {
         return store(lan.queues, value.integer(1, kMostLanQueues));
       }},
      {"offloads",
       [](LabLan& lan, const Value& value) { return store(lan.offloads, value.boolean()); }},
      {"channels",
       [](LabLan& lan, const Value& value) {
         return store(lan.channels, value.integer(0, kMostLanChannels));
       }},
      {"bridge", read_bridge},
  };
}

}  // namespace

Done read_lan(std::optional<LabLan>& lan, const Value& value) {
  if (const auto on = value.boolean(); on) {
    if (!*on) {
      lan.reset();
    } else if (!lan) {
      lan.emplace();
    }
    return {};
  }
  if (!value.table()) return value.wrong("must be true or false, or a table");
  if (!lan) lan.emplace();
  return read_keys(lan_keys(), *lan, value);
}

std::optional<LabLan> common_lan(const Lab& lab) {
  const LabNode* first = nullptr;
  std::size_t adapters = 0;
  std::size_t on = 0;
  for (const LabNode& node : lab.nodes) {
    if (node.kind != NodeKind::kChannelAdapter) continue;
    ++adapters;
    if (!node.lan) continue;
    ++on;
    if (first == nullptr) first = &node;
  }
  return on * 2 > adapters ? first->lan : std::nullopt;
}

std::string lan_words(const std::optional<LabLan>& lan, const std::optional<LabLan>& common) {
  if (lan == common) return "";
  if (!lan) return "false";
  const LabLan usual = common.value_or(LabLan{});
  std::vector<std::string> words;
  if (lan->name != usual.name) words.push_back("name = " + quoted(lan->name));
  if (lan->netns != usual.netns) {
    words.push_back("netns = " + (lan->netns.empty() ? "false" : quoted(lan->netns)));
  }
  if (lan->mtu != usual.mtu) words.push_back(fmt::format("mtu = {}", lan->mtu));
  if (lan->queues != usual.queues) words.push_back(fmt::format("queues = {}", lan->queues));
  if (lan->offloads != usual.offloads) words.push_back(fmt::format("offloads = {}", lan->offloads));
  if (lan->channels != usual.channels) words.push_back(fmt::format("channels = {}", lan->channels));
  if (lan->bridge != usual.bridge) {
    words.push_back(lan->bridge ? fmt::format("bridge = {}", *lan->bridge) : "bridge = \"auto\"");
  }
  return words.empty() ? "true" : fmt::format("{{ {} }}", fmt::join(words, ", "));
}

}  // namespace weft::fabric
