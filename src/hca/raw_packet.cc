// SPDX-License-Identifier: Apache-2.0
#include "hca/raw_packet.h"

#include "wire/bth.h"
#include "wire/packet.h"

namespace weft::hca {

bool is_right(const wire::Grh& grh, std::size_t covered) {
  return grh.ip_version == wire::Grh::kIpVersion && grh.next_header == wire::Grh::kNextHeaderIba &&
         grh.payload_length + wire::Lrh::kSize + wire::Grh::kSize == covered;
}

std::optional<RawHead> read_raw_head(Bytes front) {
  const auto lrh = wire::Lrh::parse(front);
  if (!lrh || lrh->link_version != 0 || lrh->vl == kManagementVl) return std::nullopt;
  RawHead out{.lrh = *lrh};
  const std::size_t covered = lrh->packet_bytes();
  if (lrh->next_header == wire::Lnh::raw || lrh->next_header == wire::Lnh::raw_ipv6) {
    return covered < wire::Lrh::kSize ? std::nullopt : std::optional(out);
  }
  Bytes rest = front.subspan(wire::Lrh::kSize);
  if (lrh->next_header == wire::Lnh::iba_global) {
    out.grh = wire::Grh::parse(rest);
    if (!out.grh || !is_right(*out.grh, covered)) return std::nullopt;
    rest = rest.subspan(wire::Grh::kSize);
  }
  out.transport = front.size() - rest.size();
  const auto bth = wire::Bth::parse(rest);
  if (!bth || bth->dest_qp == kQp0 ||
      covered < out.transport + wire::Bth::kSize + wire::kIcrcSize) {
    return std::nullopt;
  }
  out.pkey = bth->pkey;
  return out;
}

}  // namespace weft::hca
