// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_site_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

constexpr std::uint8_t kMostPaths = 8;  // as many as a tunnel can have legs

// One at least.
Expected<std::vector<PartAddress>> read_addresses(const Value& value) {
  std::vector<PartAddress> out;
  const auto several = value.array();
  if (!several) {
    if (Done done = store(out.emplace_back(), value.udp_address()); !done) {
      return tl::unexpected(done.error());
    }
    return out;
  }
  if (several->empty() || several->size() > kMostPaths) {
    return value.wrong(fmt::format("must be an address, or a list of up to {}", kMostPaths));
  }
  for (const Value& each : *several) {
    const auto address = each.udp_address();
    if (!address) return tl::unexpected(address.error());
    out.push_back(*address);
  }
  return out;
}

}  // namespace

Done read_listen(LabExtender& extender, const Value& value) {
  const auto addresses = read_addresses(value);
  if (!addresses) return tl::unexpected(addresses.error());
  for (auto each = addresses->begin(); each != addresses->end(); ++each) {
    if (std::find(addresses->begin(), each, *each) == each) continue;
    return value.wrong(fmt::format("{} is there twice", to_string(*each)));
  }
  extender.listen = addresses->front();
  extender.more_listens.assign(addresses->begin() + 1, addresses->end());
  return {};
}

Done read_address(LabRemote& remote, const Value& value) {
  const auto addresses = read_addresses(value);
  if (!addresses) return tl::unexpected(addresses.error());
  remote.address = addresses->front();
  remote.more_addresses.assign(addresses->begin() + 1, addresses->end());
  if (value.array()) remote.paths = static_cast<std::uint8_t>(addresses->size());
  return {};
}

Done read_paths(LabRemote& remote, const Value& value) {
  const auto number = value.integer(1, kMostPaths);
  if (!number) return tl::unexpected(number.error());
  remote.paths = static_cast<std::uint8_t>(*number);
  return {};
}

std::string address_words(const PartAddress& first, const std::vector<PartAddress>& more) {
  if (more.empty()) return quoted(to_string(first));
  std::vector<std::string> values{quoted(to_string(first))};
  for (const PartAddress& address : more)
    values.push_back(quoted(to_string(address)));
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace weft::fabric
