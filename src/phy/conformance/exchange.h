// SPDX-License-Identifier: Apache-2.0
// What was seen of two ports that negotiate: what each sent, and as far as somebody could see it,
// what became of their link and what they commanded their SerDes. The judge has nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "phy/conformance/seen_mad.h"
#include "phy/link_speed.h"
#include "phy/negotiation/port_speeds.h"
#include "phy/negotiation/serdes_control.h"

namespace weft::phy::conformance {

struct Observation {
  enum class Kind : std::uint8_t {
    kMessage,   // `node` sent `mad`, which came at `arrived`
    kLinkUp,    // `node` was told that the link is up at `speed`
    kLinkDown,  // or that it is no longer
    kLine,      // `node` set its lines to `speed` and `use`
    kTransmit,  // it transmits with `configuration`; of a sweep, an iteration begins
    kReceive,   // `lane` receives with `configuration`
    kMeasured,  // with that it saw `measured`
    kAnswers,   // what it would answer a subnet manager changed: `polling`, `speeds`
  };

  Kind kind = Kind::kMessage;
  Time time{};
  unsigned node = 0;  // 0 or 1
  SeenMad mad{};
  std::optional<Time> arrived{};  // nothing: it was lost
  LinkSpeed speed = LinkSpeed::kSdr;
  LineUse use = LineUse::kTrain;
  std::uint32_t lane = 0;
  std::uint32_t configuration = 0;
  LaneMeasurement measured{};
  bool polling = false;  // LinkPhyState is Polling, and LinkState Down
  PortSpeeds speeds{};
};

struct Exchange {
  std::vector<Observation> observations{};  // in the order of time
  Time begin{};
  Time end{};
  // What there would be observations of.
  bool lines = false;           // kLinkUp, kLinkDown, kLine
  bool configurations = false;  // kTransmit, kReceive, kMeasured
  bool answers = false;         // kAnswers
};

}  // namespace weft::phy::conformance
