// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/time.h"
#include "link/emulation.h"
#include "link/link_counters.h"
#include "link/packet.h"
#include "wire/flow_control.h"

namespace weft::link {

// Sees what goes onto a link, before any fault that the link is made to have. Of a link whose other
// end is elsewhere, what comes from there is seen as it arrives.
class LinkTap {
 public:
  virtual ~LinkTap() = default;
  // `from` is the end that sends, 0 or 1.
  virtual void sent(std::size_t from, const Packet& packet, Time now) = 0;
  virtual void sent(std::size_t from, const wire::FlowControl& packet, Time now) = 0;
};

// A cable, as whoever can pull it sees it; its ports see a Carrier.
class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() = default;

  // Takes the cable out, or puts it in again, without either port's doing.
  virtual void set_plugged(bool plugged, Time now) = 0;
  [[nodiscard]] virtual bool plugged() const = 0;
  // From here on; what is on its way stays so.
  virtual void set_emulation(const Emulation& emulation, Time now) = 0;
  [[nodiscard]] virtual const Emulation& emulation() const = 0;
  // One at a time, null for none; it outlives the link.
  virtual void set_tap(LinkTap* tap) = 0;

  [[nodiscard]] virtual bool up(Time now) const = 0;
  [[nodiscard]] virtual const LinkCounters& counters() const = 0;
};

}  // namespace weft::link
