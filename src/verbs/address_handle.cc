// SPDX-License-Identifier: Apache-2.0
// Address handles, and the way back from a received datagram to its sender.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "verbs/gid_bytes.h"
#include "verbs/guard.h"
#include "verbs/objects.h"
#include "verbs/path.h"

using namespace weft;
using namespace weft::verbs;

namespace {

constexpr std::uint8_t kReplyHopLimit = 0xFF;

// What the 40 bytes before a datagram's payload tell: an IPv6 header in all of them, or an IPv4
// header in the last 20 with zeros before it (RoCEv2, annex A17.4.5.2).
struct NetworkHeader {
  Gid source;
  Gid destination;
  std::uint32_t flow_label = 0;
  std::uint8_t traffic_class = 0;
};

std::uint32_t be32(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::optional<NetworkHeader> parse_network_header(const ibv_grh& grh) {
  std::array<std::uint8_t, hca::kGrhArea> bytes{};
  static_assert(sizeof grh == sizeof bytes);
  std::memcpy(bytes.data(), &grh, sizeof grh);
  NetworkHeader header;
  if (bytes[0] >> 4 == 6) {
    const std::uint32_t first = be32(bytes.data());
    header.traffic_class = static_cast<std::uint8_t>(first >> 20);
    header.flow_label = first & 0xFFFFF;
    header.source = gid_of(grh.sgid);
    header.destination = gid_of(grh.dgid);
    return header;
  }
  const std::uint8_t* const ipv4 = bytes.data() + 20;
  const bool zeros_before =
      std::all_of(bytes.begin(), bytes.begin() + 20, [](std::uint8_t b) { return b == 0; });
  if (!zeros_before || ipv4[0] != 0x45) return std::nullopt;
  header.traffic_class = ipv4[1];
  header.source = Gid::from_ipv4(be32(ipv4 + 12));
  header.destination = Gid::from_ipv4(be32(ipv4 + 16));
  return header;
}

// The index from which a reply goes: of the GID that the datagram was sent to, or, when that is a
// group, of the first GID of the sender's address family and scope.
std::optional<std::uint8_t> reply_index(const std::vector<port::GidEntry>& gids,
                                        const NetworkHeader& header) {
  const auto fits = [&](const port::GidEntry& entry) {
    if (!header.destination.is_multicast()) return entry.gid == header.destination;
    return entry.gid.is_ipv4_mapped() == header.source.is_ipv4_mapped() &&
           entry.gid.is_link_local() == header.source.is_link_local();
  };
  const auto found = std::ranges::find_if(gids, fits);
  if (found == gids.end() || found - gids.begin() > 0xFF) return std::nullopt;
  return static_cast<std::uint8_t>(found - gids.begin());
}

}  // namespace

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  return guard_pointer([&]() -> ibv_ah* {
    auto ah = std::make_unique<Ah>();
    ah->host = Pd::of(pd).host;
    const auto path = path_of(*ah->host, *attributes);
    if (!path) return refuse(path.error());
    ah->path = *path;
    ah->context = pd->context;
    ah->pd = pd;
    ah->host->use_pd(pd->handle);
    return ah.release();
  });
}

int ibv_destroy_ah(ibv_ah* ah) {
  const std::unique_ptr<Ah> gone(&Ah::of(ah));
  return guard_errno([&] {
    gone->host->unuse_pd(gone->pd->handle);
    return 0;
  });
}

int ibv_init_ah_from_wc(ibv_context* context, uint8_t port_num, ibv_wc* wc, ibv_grh* grh,
                        ibv_ah_attr* attributes) {
  return guard_errno([&] {
    *attributes = ibv_ah_attr{};
    attributes->dlid = wc->slid;
    attributes->src_path_bits = wc->dlid_path_bits;
    attributes->port_num = port_num;
    host::Context& host = *OpenDevice::of(context).host;
    if (!host.has_port(port_num)) return report(EINVAL);
    const port::PortAttributes port = host.port_attributes(port_num);
    if (port.link_layer == port::LinkLayer::kInfiniband) attributes->sl = wc->sl;
    if ((wc->wc_flags & IBV_WC_GRH) == 0) return 0;

    const auto header = parse_network_header(*grh);
    if (!header) return report(EBADMSG);
    const auto index = reply_index(port.gids, *header);
    if (!index) return report(EADDRNOTAVAIL);
    attributes->is_global = 1;
    std::ranges::copy(header->source.bytes(), attributes->grh.dgid.raw);
    attributes->grh.sgid_index = *index;
    attributes->grh.flow_label = header->flow_label;
    attributes->grh.traffic_class = header->traffic_class;
    attributes->grh.hop_limit = kReplyHopLimit;
    return 0;
  });
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port_num) {
  ibv_ah_attr attributes{};
  if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attributes) != 0) return nullptr;
  return ibv_create_ah(pd, &attributes);
}

// Neither a MAC address nor a VLAN is chosen here: the system's own IP routing does that.
int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, uint8_t*, uint16_t*) {
  return report(EOPNOTSUPP);
}
