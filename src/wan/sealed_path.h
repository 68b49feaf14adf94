// SPDX-License-Identifier: Apache-2.0
// A path whose frames travel sealed over another one, its carrier. Two ends agree on keys apart
// from it, and may do so again at any time; datagrams say in the clear which keys they are of:
//
//   version   1 byte: 129, which no frame begins with
//   keys      7 bytes: their name, which both ends know
//   sealed    as wan/seal.h has it; what is before it is its header
//
// Keys are opened with as soon as they are taken, and sealed with from when the other end is known
// to have them, at the latest because it has sent something with them: so nothing is lost when they
// change. Those before them go some time after.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aead.h"
#include "base/bytes.h"
#include "base/counters.h"
#include "base/time.h"
#include "wan/landing.h"
#include "wan/opener.h"
#include "wan/path.h"
#include "wan/sealer.h"

namespace weft::wan {

// What two ends have agreed on.
struct SealKeys {
  std::uint64_t name = 0;  // below 2^56; nothing but keys and their owners depends on it
  std::unique_ptr<AeadKeySource> outgoing;
  std::unique_ptr<AeadKeySource> incoming;
};

enum class SealedPathCounter : std::uint8_t { kKeys, kNotSealed, kUnknownKeys, kNoKeys, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(SealedPathCounter::kCount)>
    kSealedPathCounters{{
        {"wan_seal_keys", "times that both ends agreed on keys"},
        {"wan_open_not_sealed", "datagrams that are none of this format: the other end seals not"},
        {"wan_open_unknown_keys", "datagrams of keys that this end has not, or no more"},
        {"wan_seal_no_keys", "frames lost because there were no keys to seal them with"},
    }};

class SealedPath final : public Path {
 public:
  static constexpr std::size_t kHead = 8;  // version, keys
  static constexpr std::uint8_t kVersion = 129;
  static constexpr std::size_t kOverhead = kHead + kSealOverhead;

  struct Options {
    SealLimits limits{};
    Duration epoch_time = 1h;  // an epoch's key is sealed with no longer
    Duration old_time = 10s;   // keys before those that the other end uses are kept so long
  };

  // `carrier` outlives it, and carries kLeastFrame and kOverhead bytes at least.
  SealedPath(Path& carrier, const Options& options) : carrier_(carrier), options_(options) {}

  // What datagrams are read into: they are opened where they lie there, so that packets need not be
  // copied. It outlives this.
  void set_landing(Landing& landing) { landing_ = &landing; }

  // Opens datagrams of these keys from now on. More than kMostKeys are never kept.
  void take(SealKeys keys, Time now);
  // The other end is known to have taken them: seals with them, unless it does so with later ones
  // already.
  void use(std::uint64_t name, Time now);
  // There are none to seal with, or those that there are can be used no more.
  [[nodiscard]] bool needs_keys() const { return sending_ == nullptr || spent_; }

  // Whether a datagram, whoever has sent it, names keys of this path.
  [[nodiscard]] bool knows(Bytes datagram) const;

  struct Arrived {
    Bytes frame;          // in the landing if the datagram was, else until the next one is received
    bool newest = false;  // none that was sent later has come before
  };
  // A datagram that came by the carrier, and what came beside it (OutFrame::options), of which
  // neither is genuine without the other. Nothing: it was refused, and counted; what lies in the
  // landing may have been overwritten all the same.
  [[nodiscard]] std::optional<Arrived> receive(Bytes datagram, Time now, Bytes beside = {});

  // wan::Path
  [[nodiscard]] bool established() const override {
    return !needs_keys() && carrier_.established();
  }
  [[nodiscard]] bool ready() const override { return carrier_.ready(); }
  [[nodiscard]] std::size_t longest_frame() const override;
  [[nodiscard]] std::size_t burst() const override { return carrier_.burst(); }
  [[nodiscard]] std::uint32_t receive_room() const override { return carrier_.receive_room(); }
  [[nodiscard]] Pace pace() const override { return carrier_.pace(); }
  [[nodiscard]] std::size_t options_room() const override { return carrier_.options_room(); }
  void send(std::span<const OutFrame> frames, Time now) override;

  // Of all keys so far.
  [[nodiscard]] std::vector<CounterValue> counters() const;

 private:
  static constexpr std::size_t kMostKeys = 3;

  struct Generation {
    Generation(SealKeys taken, const Options& options);
    const SealKeys keys;
    std::array<std::byte, kHead> head{};
    Sealer sealer;
    Opener opener;
    Time epoch_since{};
    std::uint64_t end = 0;      // one beyond the newest number that has come
    std::optional<Time> until;  // later ones are in use: it goes then
  };

  using Generations = std::vector<std::unique_ptr<Generation>>;

  [[nodiscard]] MutableBytes room_for(Bytes datagram);
  [[nodiscard]] Generations::const_iterator find(std::uint64_t name) const;
  void begin_with(Generations::const_iterator begun, Time now);
  void come(Generations::const_iterator genuine, Time now);
  void drop(Generations::const_iterator dropped);
  void expire(Time now);

  Path& carrier_;
  const Options options_;
  Landing* landing_ = nullptr;
  Generations generations_;  // as they were taken
  Generation* sending_ = nullptr;
  bool spent_ = false;
  CounterSet<SealedPathCounter, kSealedPathCounters> counters_;
  std::vector<CounterValue> gone_;  // of generations that are dropped
  std::vector<std::byte> frame_;    // that was opened last, unless it is in the landing
  // Kept between calls: the datagrams, one behind the other, and what refers to them.
  std::vector<std::byte> memory_;
  std::vector<Bytes> sealed_;
  std::vector<OutFrame> out_;
};

}  // namespace weft::wan
