// SPDX-License-Identifier: Apache-2.0
// The path of a tunnel that is made of several ways to the remote, or of one whose rate follows
// what becomes of what is sent: its legs. Frames go by those that work, the nearest first, as fast
// as each can carry them; when one works no more the others go on, and the tunnel hears nothing of
// it.
//
//   tunnel -- frames --> bundle | leg 0 -- heads, reports --> carrier (sealed, UDP, ...)
//                               | leg 1 -- heads, reports --> carrier
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "wan/leg.h"
#include "wan/leg_message.h"
#include "wan/pacing.h"
#include "wan/path.h"

namespace weft::wan {

class PathBundle final : public Path {
 public:
  struct Options {
    // What leaves is watched by the other end: always where there are several legs. Where it is
    // not, this answers an other end that wants its own to be, and adds nothing to frames.
    bool watched = false;
    // Of each leg, beside what pace its carrier has.
    std::optional<PacingSettings> pacing{};
  };

  // One to kMostLegs carriers, which both ends have in the same order, and which outlive it.
  PathBundle(std::span<Path* const> carriers, const Options& options, Time now);
  PathBundle(const PathBundle&) = delete;
  PathBundle& operator=(const PathBundle&) = delete;

  // The frame for the tunnel in what has come by one of the carriers, empty where there is none.
  // `marked`: with congestion experienced. Which carrier it was does not matter: it says so itself.
  [[nodiscard]] Bytes receive(Bytes datagram, bool marked, Time now);

  // When woken by nothing else: does what is due. True: an answer of this path has changed.
  bool run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const std::vector<std::unique_ptr<Leg>>& legs() const { return legs_; }
  // Datagrams that no leg could have sent.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

  // wan::Path
  [[nodiscard]] bool established() const override;
  [[nodiscard]] bool ready() const override { return next_leg() != nullptr; }
  [[nodiscard]] std::size_t longest_frame() const override;
  [[nodiscard]] std::size_t burst() const override;
  [[nodiscard]] std::uint32_t receive_room() const override;
  [[nodiscard]] Pace pace() const override;
  [[nodiscard]] std::size_t options_room() const override;
  [[nodiscard]] Duration spread() const override;
  void send(std::span<const OutFrame> frames, Time now) override;

 private:
  // Of those that work, or else of all; nothing: none is ready.
  [[nodiscard]] Leg* next_leg() const;
  [[nodiscard]] bool any_works() const;

  const bool watched_;
  std::vector<std::unique_ptr<Leg>> legs_;
  std::uint64_t malformed_ = 0;
};

}  // namespace weft::wan
