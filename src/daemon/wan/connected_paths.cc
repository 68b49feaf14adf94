// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/connected_paths.h"

#include "daemon/wan/addressed_path.h"
#include "wan/dccp/dccp_path.h"

namespace weft::daemon {
namespace {

// Of the way of this number; the remote has an address, which check() of remote_paths.cc sees to.
wan::dccp::DccpEnds dccp_ends(const fabric::LabRemote& remote, const fabric::LabExtender& extender,
                              std::size_t way) {
  fabric::LabRemote by = remote;
  if (way != 0) by.address = remote.more_addresses[way - 1];
  const io::SocketAddress local = listens_of(extender)[listen_for(extender, by, way)];
  return {.local = local.address,
          .remote = by.address->host,
          .local_port = local.port,
          .remote_port = by.address->port,
          .partial_coverage = !extender.insecure};
}

}  // namespace

std::vector<std::unique_ptr<wan::ConnectedPath>> connect_ways(const std::vector<RemotePath*>& paths,
                                                              const fabric::LabRemote& remote,
                                                              const fabric::LabExtender& extender,
                                                              Entropy& entropy) {
  std::vector<std::unique_ptr<wan::ConnectedPath>> out;
  if (!has_layer(remote, "dccp")) return out;
  for (std::size_t way = 0; way < paths.size(); ++way) {
    out.push_back(std::make_unique<wan::dccp::DccpPath>(*paths[way],
                                                        dccp_ends(remote, extender, way), entropy));
  }
  return out;
}

}  // namespace weft::daemon
