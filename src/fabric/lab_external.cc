// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_external.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace weft::fabric {
namespace {

// Of each lane, bytes: what is under way to a host that is near, many times over.
constexpr std::uint64_t kBuffer = std::uint64_t{8} << 20;

// Any address of this machine, of that version of IP, and any port.
PartAddress any_like(const PartAddress& other) {
  if (!other.host.is_ipv4_mapped()) return {};
  std::array<std::uint8_t, 16> any{};
  any[10] = any[11] = 0xFF;
  return {.host = Gid{any}, .port = 0};
}

}  // namespace

LabExtender LabExternal::way_of(std::size_t index) const {
  const PartAddress& server = servers[index];
  LabExtender way;
  way.listen = listen.value_or(any_like(server));
  // Each place has a port of its own.
  if (listen && index != 0) way.listen.port = 0;
  way.buffer_bytes = kBuffer;
  way.key = key;
  way.certificate = certificate;
  way.insecure = insecure;
  LabRemote remote;
  remote.name = "server";
  remote.address = server;
  remote.fingerprints = fingerprints;
  way.remotes.push_back(std::move(remote));
  return way;
}

LabExtender LabExternalServer::ways() const {
  LabExtender ways;
  ways.listen = listens.front();
  ways.more_listens.assign(listens.begin() + 1, listens.end());
  ways.buffer_bytes = kBuffer;
  ways.key = key;
  ways.certificate = certificate;
  ways.insecure = insecure;
  const std::size_t places = insecure ? 1 : fingerprints.size();
  for (std::size_t i = 0; i < places; ++i) {
    LabRemote remote;
    remote.name = fmt::format("place{}", i + 1);
    if (!insecure) remote.fingerprints = {fingerprints[i]};
    ways.remotes.push_back(std::move(remote));
  }
  return ways;
}

}  // namespace weft::fabric
