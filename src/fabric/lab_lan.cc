// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_lan.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "fabric/lab.h"

namespace weft::fabric {
namespace {

constexpr std::string_view kNode = "{node}";
constexpr std::string_view kPort = "{port}";
constexpr std::string_view kNameAlphabet =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what)) {
    out.append(text.substr(0, at)).append(by);
    text.remove_prefix(at + what.size());
  }
  return out.append(text);
}

std::string filled(std::string_view pattern, std::string_view node, unsigned port) {
  return replaced(replaced(pattern, kPort, fmt::to_string(port)), kNode, node);
}

// Names that begin alike are told apart by what they are as a whole.
std::string fitting(const std::string& name) {
  if (name.size() <= kMostInterfaceName) return name;
  constexpr std::size_t kDigits = 8;
  const std::uint64_t hash = derived_guid("lan", name).value() >> 8;
  return fmt::format("{}-{:08x}", name.substr(0, kMostInterfaceName - kDigits - 1),
                     static_cast<std::uint32_t>(hash));
}

bool of(std::string_view text, std::string_view more) {
  return text.find_first_not_of(std::string(kNameAlphabet).append(more)) == std::string_view::npos;
}

}  // namespace

LanPlace lan_place(const LabLan& lan, std::string_view node, unsigned port) {
  LanPlace place{.name = {}, .netns = filled(lan.netns, node, port)};
  if (!lan.name.empty()) {
    place.name = filled(lan.name, node, port);
  } else if (lan.netns.find(kNode) != std::string::npos) {
    place.name = fmt::format("lan{}", port);
  } else {
    const std::string behind = port == 1 ? "" : fmt::format("-{}", port);
    place.name = fitting(fmt::format("lan-{}{}", node, behind));
  }
  return place;
}

bool good_interface_pattern(std::string_view text) {
  return !text.empty() && text.size() <= kMostLanPattern && of(filled(text, "n", 1), "");
}

bool good_netns_pattern(std::string_view text) {
  if (text.empty() || text.size() > kMostLanPattern) return false;
  const std::string example = filled(text, "n", 1);
  if (!text.starts_with('/')) return of(example, "@+") && example != "." && example != "..";
  return example.find_first_of("{}") == std::string::npos;
}

bool good_interface_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostInterfaceName && name != "." && name != ".." &&
         of(name, "");
}

std::optional<LanConflict> find_lan_conflict(const Lab& lab) {
  std::map<std::tuple<std::uint16_t, std::string, std::string>, LabEnd> owners;
  for (std::uint32_t i = 0; i < lab.nodes.size(); ++i) {
    const LabNode& node = lab.nodes[i];
    for (std::uint8_t port = 1; node.lan && port <= node.ports; ++port) {
      LanPlace place = lan_place(*node.lan, node.name, port);
      if (!good_interface_name(place.name)) {
        return LanConflict{i, fmt::format("no interface can be called {}: a name has at most {} "
                                          "characters",
                                          place.name, kMostInterfaceName)};
      }
      const LabEnd end{.node = i, .port = port};
      const auto [other, fresh] =
          owners.emplace(std::tuple(node.part, place.netns, place.name), end);
      if (fresh) continue;
      return LanConflict{
          i, fmt::format("{} and {} would both have the interface {} in {}: {{node}} and {{port}} "
                         "in name or netns tell them apart",
                         lab.end_name(other->second), lab.end_name(end), place.name,
                         place.netns.empty() ? "one namespace" : "namespace " + place.netns)};
    }
  }
  return std::nullopt;
}

}  // namespace weft::fabric
