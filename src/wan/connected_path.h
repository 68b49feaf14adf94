// SPDX-License-Identifier: Apache-2.0
// A path through a network that has connections of its own, over the path that carries its packets:
// the seam where such networks join the stack of layers, which knows no state. What is sent through
// it goes out in packets of the connection, and so does what both ends say to set it up, keep it up
// and end it; established() is whether it stands, ready() whether it lets something through.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/time.h"
#include "wan/path.h"

namespace weft::wan {

class ConnectedPath : public Path {
 public:
  // A packet has come by the path below, `marked` with congestion experienced (ECN). The frame in
  // it, good until the next one comes; empty: none.
  [[nodiscard]] virtual Bytes receive(Bytes packet, bool marked, Time now) = 0;
  // Does what is due. It sets itself up, and again when it was lost, until stop(), which ends it.
  virtual void run(Time now) = 0;
  [[nodiscard]] virtual std::optional<Time> deadline() const = 0;
  virtual void stop(Time now) = 0;
  // Whether an answer of the path may have changed since the last time.
  [[nodiscard]] virtual bool take_changed() = 0;

  // What it is doing, in a word for a person.
  [[nodiscard]] virtual std::string_view state_text() const = 0;
  [[nodiscard]] virtual std::vector<CounterValue> counters() const = 0;
};

}  // namespace weft::wan
