// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tl/expected.hpp>

#include "base/aead.h"
#include "base/bytes.h"
#include "base/time.h"
#include "wan/replay_window.h"
#include "wan/seal.h"

namespace weft::wan {

// One direction's receiving half: opens what a Sealer has sealed, each datagram once, and follows
// it from epoch to epoch.
class Opener {
 public:
  struct Config {
    SealLimits limits{};
    std::uint32_t first_epoch = 0;  // that the other end begins with
    std::size_t replay_window = ReplayWindow::kUsualSize;
    // How long, and for how many datagrams, the epoch that was current is still opened, once one of
    // a later epoch was. Of epochs between the two, and before, none are.
    Duration old_time = 10s;
    std::uint64_t old_datagrams = ReplayWindow::kUsualSize;
  };
  // A sender that has sent so many epochs without one datagram arriving is not followed any more:
  // what has no end would let a forger have us derive keys for ever.
  static constexpr std::uint32_t kMostAhead = 16;

  struct Opened {
    std::uint64_t sequence = 0;
    MutableBytes frame;  // in `out`
  };

  // `keys` outlives it.
  Opener(AeadKeySource& keys, const Config& config);

  // Bytes of the frame in a datagram; nothing: too short to hold one.
  [[nodiscard]] static constexpr std::optional<std::size_t> frame_size(std::size_t header,
                                                                       std::size_t datagram) {
    if (datagram < header || datagram - header < kSealOverhead) return std::nullopt;
    return datagram - header - kSealOverhead;
  }

  // Opens a datagram with a header of `header` bytes, which is genuine if the rest is. The frame
  // goes to `out`, which has room for frame_size(): elsewhere, or just where it lies in the
  // datagram. What came `beside` the datagram is genuine then too. Refused: the counter that was
  // added to, with zeros in `out` if anything.
  [[nodiscard]] tl::expected<Opened, OpenCounter> open(Bytes datagram, std::size_t header,
                                                       MutableBytes out, Time now,
                                                       Bytes beside = {});

  // When expire() has a key to erase.
  [[nodiscard]] std::optional<Time> deadline() const;
  void expire(Time now);

  [[nodiscard]] std::uint32_t epoch() const { return current_epoch_; }
  [[nodiscard]] const OpenCounters& counters() const { return counters_; }

 private:
  struct Epoch {
    AeadKey key;
    std::uint64_t forged = 0;
  };
  struct OldEpoch {
    std::uint32_t number = 0;
    std::unique_ptr<Epoch> epoch;
    Time until;
    std::uint64_t left = 0;  // datagrams that it may still open
  };

  [[nodiscard]] tl::expected<Epoch*, OpenCounter> find(std::uint32_t number);
  [[nodiscard]] tl::expected<Epoch*, OpenCounter> derive(std::unique_ptr<Epoch>& slot,
                                                         std::uint32_t number);
  void opened_with(std::uint32_t number, Time now);
  void follow(std::uint32_t number, Time now);
  tl::unexpected<OpenCounter> refuse(OpenCounter reason);

  AeadKeySource& keys_;
  Config config_;
  ReplayWindow window_;
  std::uint32_t current_epoch_;
  // Each is derived when it is first needed.
  std::unique_ptr<Epoch> current_;
  std::array<std::unique_ptr<Epoch>, kMostAhead> ahead_;  // [0] is the next epoch
  std::optional<OldEpoch> old_;
  OpenCounters counters_;
};

}  // namespace weft::wan
