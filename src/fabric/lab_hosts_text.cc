// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_hosts_text.h"

#include <fmt/format.h>

#include "base/gid_text.h"

namespace weft::fabric {

Done add_hosts(LabBuilder& builder, const Value& table) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& [name, value] : *entries) {
    const auto address = parse_ipv4(name);
    if (!address || Gid::from_ipv4(address->value()).is_multicast()) {
      return value.wrong("hosts are called by IPv4 addresses, as in \"10.254.128.1\"");
    }
    const auto text = value.string();
    const auto gid = text ? parse_gid(*text) : std::nullopt;
    // IBA 4.1.1: of a port it has a GUID, which is not 0.
    if (!gid || gid->is_ipv4_mapped() || gid->is_multicast() || GidPrefix(*gid, 128).rest() == 0) {
      return value.wrong("must be the GID of a port, as ibaddr prints it there");
    }
    if (Done done = builder.add_host({.address = *address, .gid = *gid}, value.where()); !done) {
      return done;
    }
  }
  return {};
}

std::string hosts_text(const Lab& lab) {
  std::string text = lab.hosts.empty() ? "" : "\n[hosts]\n";
  for (const LabHost& host : lab.hosts)
    text += fmt::format("\"{}\" = \"{}\"\n", to_string(host.address), host.gid.to_string());
  return text;
}

}  // namespace weft::fabric
