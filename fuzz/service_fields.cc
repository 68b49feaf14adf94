// SPDX-License-Identifier: Apache-2.0
// What services read of a packet, from any bytes: what is said to be there is there, and a packet
// that could be read can be changed so that its CRCs are right again.
#include <cstdint>
#include <vector>

#include "input.h"
#include "service/fields.h"
#include "wire/deth.h"
#include "wire/link_crc.h"
#include "wire/link_patch.h"

using namespace weft;
using namespace weft::service;
using fuzz::require;

namespace {

void check_inside(const Fields& fields, Bytes packet) {
  const std::size_t payload_end = std::size_t{fields.payload_at} + fields.payload_size;
  require(payload_end <= packet.size());
  require(fields.payload_size == 0 || fields.payload_at >= wire::Lrh::kSize);
  require(std::size_t{fields.cm.private_at} + fields.cm.private_size <= payload_end);
  constexpr std::size_t kAddress = 20;
  require(fields.arp.sender_at == 0 || fields.arp.sender_at + kAddress <= payload_end);
  require(fields.arp.target_at == 0 || fields.arp.target_at + kAddress <= payload_end);
  require(fields.problem < Problem::kCount && !text(fields.problem).empty());
}

void check_sense(const Fields& fields) {
  const bool read = fields.form != Form::kMalformed && fields.form != Form::kUnknownOpcode;
  require(read || fields.content == Content::kNone);
  require(fields.problem == Problem::kNone || fields.content != Content::kOpaque);
  require(!fields.cm.present || fields.content == Content::kMad);
  require(!fields.ip.ports || !fields.ip.later_fragment);
  require(!fields.ip.later_fragment || fields.ip.fragment);
  require(fields.ip.version == 0 || fields.ip.version == 4 || fields.ip.version == 6);
  require(fields.lan.total == 0 || fields.lan.offset < fields.lan.total);
}

// Changes some of it as a service node does.
void check_patch(const Fields& fields, std::vector<std::byte> packet) {
  if (fields.form == Form::kMalformed || fields.form == Form::kUnknownOpcode) return;
  wire::seal_link_packet(packet);
  wire::LinkPatch patch(packet);
  patch.set_route(Sl{7}, Lid{0x1234}, Lid{0x4321});
  if (fields.form == Form::kTransport) {
    patch.set_pkey(PKey{0x8765});
    patch.set_dest_qp(Qpn{0x112233});
    if (fields.has_source_qp) patch.set_source_qp(Qpn{0x998877});
    if (fields.global) patch.set_dgid({});
  }
  if (fields.payload_size != 0) patch.write(fields.payload_at, std::array{std::byte{0x5A}});
  require(patch.finish_checked());
  const Fields changed = Fields::parse(packet);
  require(changed.form == fields.form && changed.dlid == Lid{0x1234});
  if (fields.form == Form::kTransport) require(changed.dest_qp == Qpn{0x112233});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes packet = std::as_bytes(std::span(data, size));
  if (packet.size() > 65'535) return 0;
  const Fields fields = Fields::parse(packet);
  check_inside(fields, packet);
  check_sense(fields);
  check_patch(fields, {packet.begin(), packet.end()});
  return 0;
}
