// SPDX-License-Identifier: Apache-2.0
// Labs as a seed likes them, and where the packets of one have ended.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "fabric/fabric.h"
#include "fabric/lab_generate.h"

namespace weft::fabric {

inline Expected<Lab> some_lab(Random& random) {
  const auto up_to = [&](unsigned most) { return static_cast<unsigned>(random.between(1, most)); };
  switch (random.below(4)) {
    case 0:
      return generate_fat_tree({up_to(3), up_to(3)}, "tree");
    case 1:
      return generate_torus({up_to(4), up_to(3)}, up_to(2), "torus");
    case 2:
      return generate_dragonfly({1, up_to(2), 1}, "fly");
    default:
      return generate_line({up_to(5)}, up_to(3), "line");
  }
}

inline link::Emulation some_emulation(Random& random) {
  link::Emulation emulation;
  if (random.chance(0.5)) return emulation;
  emulation.delay = Duration(static_cast<std::int64_t>(random.below(200'000)));
  emulation.loss = random.chance(0.5) ? 0.05 : 0;
  emulation.credit_loss = random.chance(0.3) ? 0.1 : 0;
  emulation.bit_errors = random.chance(0.3) ? 1e-5 : 0;
  emulation.duplicate = random.chance(0.3) ? 0.05 : 0;
  emulation.seed = random.next();
  return emulation;
}

// Where packets end, all over the fabric.
struct Ends {
  std::uint64_t arrived = 0;  // at an adapter: given to a program, or no queue pair waits there
  std::uint64_t dropped = 0;  // with a reason
  std::uint64_t created = 0;  // copies and duplicates
};

inline Ends ends_of(const Fabric& fabric) {
  Ends ends;
  using enum NodeCounter;
  using Link = link::PortCounter;
  using Wire = link::LinkCounter;
  for (std::size_t i = 0; i < fabric.node_count(); ++i) {
    const Node& node = fabric.node(i);
    for (unsigned number = node.kind() == NodeKind::kSwitch ? 0 : 1; number <= node.port_count();
         ++number) {
      const NodePort& port = node.port(static_cast<mgmt::PortNumber>(number));
      ends.arrived += port.counters().get(kNoQueuePair) + port.counters().get(kDelivered);
      for (const NodeCounter counter : {kNoRoute, kLoop, kNoVl, kInboundPKey, kOutboundPKey,
                                        kInboundRaw, kOutboundRaw, kNotMine, kBadPKey, kNotRouted,
                                        kNoPacket, kForged, kOutdated, kProgramFull, kProgramStuck})
        ends.dropped += port.counters().get(counter);
      ends.created += port.counters().get(kReplicated);
      if (!port.has_link()) continue;
      for (const Link counter :
           {Link::kTxInactive, Link::kTxNoVl, Link::kTxMtu, Link::kTxHoqLife, Link::kTxSwitchLife,
            Link::kTxVlStalled, Link::kTxLinkLost, Link::kRxBadVcrc, Link::kRxMalformed,
            Link::kRxBadVl, Link::kRxOverrun, Link::kRxWrongState})
        ends.dropped += port.link().counters().get(counter);
    }
  }
  for (std::size_t i = 0; i < fabric.link_count(); ++i) {
    for (const Wire counter : {Wire::kDown, Wire::kLost, Wire::kNoMemory})
      ends.dropped += fabric.link(i).counters().get(counter);
    ends.created += fabric.link(i).counters().get(Wire::kDuplicated);
  }
  return ends;
}

}  // namespace weft::fabric
