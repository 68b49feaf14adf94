// SPDX-License-Identifier: Apache-2.0
// Keeps a tunnel's port in the state that the fabric's port at the other site has, as far as one
// cable between the two fabric ports would:
//
//   - the cable is in while there is a session, and both fabric ports look for a neighbour;
//   - when one of them goes down, the other one does;
//   - this port is armed when the other site's fabric port is, so that the fabric's port here may
//     become Active only then (IBA 7.2.7, ActiveEnable).
//
// Each end tells the other what it sees of the fabric's port, and how often that went down of its
// own accord. What an end does because it was told so does not count, or the two would go round.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "link/port.h"

namespace weft::wan {

class PortMirror {
 public:
  // What the fabric's port is in, as wire::PortState; kUnknown: nobody can tell yet.
  static constexpr std::uint8_t kUnknown = 0;

  explicit PortMirror(link::Port& port) : port_(port) {}

  // There is no session: the cable is out.
  void unplug(Time now);
  // There is one.
  void plug(Time now);
  // The other end says so, in the newest of its frames.
  void hear(std::uint8_t state, std::uint8_t downs);
  // From the port's owner.
  void state_changed(link::PortState before, Time now);
  // Does to the port what follows. After the port has run.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // What the other end is to be told.
  [[nodiscard]] std::uint8_t state() const { return state_; }
  [[nodiscard]] std::uint8_t downs() const { return downs_; }

 private:
  // As long as a fabric's port may take to train: before that it is not missed.
  static constexpr Duration kTraining = 500ms;

  [[nodiscard]] std::uint8_t look(Time now) const;
  void set_polling(bool polling, Time now);

  link::Port& port_;
  bool plugged_ = false;
  bool following_ = false;  // the cable is out because the other fabric port is not there
  bool own_doing_ = false;  // what happens to the port now does not count
  bool asked_active_ = false;
  std::uint8_t state_ = kUnknown;
  std::uint8_t downs_ = 0;
  std::uint8_t heard_state_ = kUnknown;
  std::uint8_t heard_downs_ = 0;
  std::uint8_t done_downs_ = 0;  // of the other port's, those that this port went through as well
  Time polling_since_{};
};

}  // namespace weft::wan
