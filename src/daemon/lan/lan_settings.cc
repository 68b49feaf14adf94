// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kNamespaces = "/run/netns/";

tl::unexpected<Error> wrong(std::string_view name, std::string_view message) {
  return fail(std::errc::invalid_argument, fmt::format("{}: {}", name, message));
}

Expected<std::uint32_t> number(std::string_view name, const Json& value, std::uint32_t least,
                               std::uint32_t most) {
  const std::int64_t read = value.is_number_integer() ? value.get<std::int64_t>() : -1;
  if (read >= least && read <= most) return static_cast<std::uint32_t>(read);
  return wrong(name, fmt::format("must be a number from {} to {}", least, most));
}

template <class Field>
Expected<void> change(Field& field, const Expected<std::uint32_t>& read) {
  if (!read) return tl::unexpected(read.error());
  field = static_cast<Field>(*read);
  return {};
}

Expected<void> change(fabric::LabLan& lan, const std::string& name, const Json& value) {
  const auto* const text = value.get_ptr<const Json::string_t*>();
  if (name == "name") {
    if (text == nullptr || !fabric::good_interface_pattern(*text)) {
      return wrong(name, fabric::kInterfacePatternWanted);
    }
    lan.name = *text;
    return {};
  }
  if (name == "netns") {
    const bool own = text != nullptr && text->empty();
    if (text == nullptr || (!own && !fabric::good_netns_pattern(*text))) {
      return wrong(name, fabric::kNetnsPatternWanted);
    }
    lan.netns = *text;
    return {};
  }
  if (name == "mtu") {
    return change(lan.mtu, number(name, value, fabric::kLeastLanMtu, fabric::kMostLanMtu));
  }
  if (name == "queues") return change(lan.queues, number(name, value, 1, fabric::kMostLanQueues));
  if (name == "channels") {
    return change(lan.channels, number(name, value, 0, fabric::kMostLanChannels));
  }
  if (name == "offloads" && value.is_boolean()) {
    lan.offloads = value.get<bool>();
    return {};
  }
  if (name == "bridge") {
    const bool automatic = text != nullptr && *text == "auto";
    if (!automatic && !value.is_boolean()) return wrong(name, "must be true, false or \"auto\"");
    lan.bridge.reset();
    if (!automatic) lan.bridge = value.get<bool>();
    return {};
  }
  return wrong(name, "no LAN port has such an option");
}

// Of this thread, in its own user namespace.
bool has_capability(unsigned capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (syscall(SYS_capget, &header, data.data()) != 0) return true;
  return (data[capability / 32].effective >> capability % 32 & 1) != 0;
}

}  // namespace

Expected<void> change_lan(fabric::LabLan& lan, const Json& options) {
  for (const auto& [name, value] : options.items()) {
    if (auto changed = change(lan, name, value); !changed) return changed;
  }
  return {};
}

std::string netns_file(const std::string& netns) {
  return netns.empty() || netns.front() == '/' ? netns : std::string(kNamespaces) + netns;
}

std::vector<std::string> missing_for_lan(const std::vector<const fabric::LabNode*>& nodes) {
  std::vector<std::string> out;
  if (nodes.empty()) return out;
  std::set<std::string> wanted;
  for (const fabric::LabNode* const node : nodes) {
    for (unsigned port = 1; port <= node->ports; ++port)
      wanted.insert(fabric::lan_place(*node->lan, node->name, port).netns);
  }
  const bool others = wanted.size() > wanted.count("");
  const char* const lacking = !has_capability(CAP_NET_ADMIN)             ? "CAP_NET_ADMIN"
                              : others && !has_capability(CAP_SYS_ADMIN) ? "CAP_SYS_ADMIN"
                                                                         : nullptr;
  if (lacking != nullptr) {
    out.push_back(
        fmt::format("the LAN has no interfaces: making them{} needs the capability {}; "
                    "the rest of the lab runs",
                    others ? " in other network namespaces" : "", lacking));
  } else if (access("/dev/net/tun", F_OK) != 0) {
    out.emplace_back(
        "the LAN has no interfaces: there is no /dev/net/tun (modprobe tun); the rest of the lab "
        "runs");
  }
  std::vector<std::string> missing;
  std::ranges::copy_if(wanted, std::back_inserter(missing), [](const std::string& netns) {
    return !netns.empty() && access(netns_file(netns).c_str(), F_OK) != 0;
  });
  if (!missing.empty()) {
    out.push_back(
        fmt::format("the LAN has no interfaces in network namespaces that are not there: "
                    "{}; make them with ip netns add, then weft lan up NODE",
                    fmt::join(missing, ", ")));
  }
  return out;
}

}  // namespace weft::daemon
