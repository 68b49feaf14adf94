// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/time.h"

namespace weft::link {

class LinkTap;

// What brings a link up between two ports that look for each other, where that is more than time:
// ports that find out how fast they can be. A core; its link runs it.
class LinkTrainer {
 public:
  virtual ~LinkTrainer() = default;

  // Both ports poll and the cable is in, or no longer.
  virtual void start(Time now) = 0;
  virtual void stop(Time now) = 0;
  // Does what is due.
  virtual void run(Time now) = 0;
  [[nodiscard]] virtual std::optional<Time> deadline() const = 0;
  // Whether the link is trained: packets can be sent.
  [[nodiscard]] virtual bool up() const = 0;
  // Sees what the ports say to each other before that. Null for none; it outlives the trainer.
  virtual void set_tap(LinkTap* tap) = 0;
};

}  // namespace weft::link
