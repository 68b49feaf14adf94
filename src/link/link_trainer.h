// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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
  // End `from` has what is up train again in place (IBA vol 2, 5.6, Recovery): until it is up
  // again, or is lost, up() says no.
  virtual void retrain(std::size_t from, Time now) = 0;
  [[nodiscard]] virtual bool recovering() const = 0;

  // Whether symbols are to be expected to arrive wrong at end `to`; as long as up() says yes.
  [[nodiscard]] virtual bool has_errors(std::size_t to) const = 0;
  // While it is up: a packet of so many symbols, its delimiters included, is sent to end `to`
  // behind those before it. How many of its symbols arrive wrong.
  virtual std::uint64_t wrong_symbols(std::size_t to, std::size_t symbols, Time now) = 0;
  // Those of packets and those between them, while the link was up, by then.
  [[nodiscard]] virtual std::uint64_t symbol_errors(std::size_t to, Time now) const = 0;
  // Sees what the ports say to each other before that. Null for none; it outlives the trainer.
  virtual void set_tap(LinkTap* tap) = 0;
};

}  // namespace weft::link
