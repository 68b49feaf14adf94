// SPDX-License-Identifier: Apache-2.0
// Any bytes as a packet that a port spreads over receive queues: its flow is told without reading
// beyond it, does not depend on how the packet lies in memory nor on what changes from packet to
// packet, and leads to a queue that is there.
#include <algorithm>
#include <vector>

#include "base/random.h"
#include "hca/receive_side_scaling.h"
#include "input.h"
#include "wire/bth.h"
#include "wire/grh.h"
#include "wire/lrh.h"

using namespace weft;
using namespace weft::hca;
using fuzz::require;

namespace {

// Where the BTH is; nothing: there is none.
std::size_t bth_of(Bytes packet) {
  const auto lrh = wire::Lrh::parse(packet);
  if (!lrh || lrh->next_header < wire::Lnh::iba_local) return 0;
  const bool global = lrh->next_header == wire::Lnh::iba_global;
  const std::size_t at = wire::Lrh::kSize + (global ? wire::Grh::kSize : 0);
  return packet.size() >= at + wire::Bth::kSize ? at : 0;
}

// Exactly so many bytes, so that a sanitizer sees who reads beyond.
std::vector<std::byte> copy(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes input = std::as_bytes(std::span(data, size));
  if (input.empty()) return 0;
  const auto cut = std::to_integer<std::uint8_t>(input[0]);
  const std::vector<std::byte> packet = copy(input.subspan(1));
  const PacketFlow flow = flow_of(packet, {});
  require(flow_of(packet, {}) == flow);

  const std::size_t bth = bth_of(packet);
  if (bth != 0) {
    const auto opcode = *wire::Bth::parse(Bytes(packet).subspan(bth));
    const std::size_t headers = bth + wire::Bth::kSize + wire::info(opcode.opcode).headers_size;
    if (const std::size_t at = headers + cut; at <= packet.size()) {
      const auto front = copy(Bytes(packet).first(at));
      const auto rest = copy(Bytes(packet).subspan(at));
      require(flow_of(front, rest) == flow);
    }
    std::vector<std::byte> next = packet;
    wire::BthView(MutableBytes(next).subspan(bth)).set_psn(Psn{cut});
    wire::LrhView(next).set_vl(Vl{cut});
    require(flow_of(next, {}) == flow);
  }

  SeededEntropy entropy{Random(cut)};
  ReceiveSideScaling rss(entropy);
  require(!rss.queue_for(rss.hash(flow)));
  require(rss.add(3).has_value());
  require(rss.queue_for(rss.hash(flow)) == 3);
  return 0;
}
