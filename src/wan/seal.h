// SPDX-License-Identifier: Apache-2.0
// What protects the datagrams of a WAN session: each is encrypted and authenticated under the key
// of its direction and epoch. On the wire, big-endian:
//
//   header    the sender's choice, as long as both ends know; authenticated, not encrypted
//   epoch     4 bytes: which key; authenticated
//   sequence  8 bytes: counts a direction's datagrams through all epochs; authenticated
//   frame     encrypted and authenticated
//   tag       16 bytes
//
// What travels beside a datagram, in a header of the network, is authenticated behind all that is
// before the frame.
//
// The nonce is the key's salt, its last eight bytes XOR the sequence number (as in RFC 8446, 5.3).
// A sender takes the next epoch's key when one has done its share; a receiver follows when it has
// opened a datagram with it. Nothing has to be agreed for that: a key follows from its epoch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/aead.h"
#include "base/bytes.h"
#include "base/counters.h"

namespace weft::wan {

struct SealHeader {
  static constexpr std::size_t kSize = 12;

  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;

  static SealHeader read(std::span<const std::byte, kSize> from);
  void write(std::span<std::byte, kSize> to) const;
};

// What a datagram has beside its header and its frame.
inline constexpr std::size_t kSealOverhead = SealHeader::kSize + Aead::kTagBytes;

// Which cipher two ends take, each of which offers those that it has, the fastest first: the first
// of the client's order, or of the server's when that one has no instructions for AES and so begins
// with ChaCha20-Poly1305, which all processors are quick at. Nothing: they have none in common.
[[nodiscard]] std::optional<AeadAlgorithm> agree_on_cipher(std::span<const AeadAlgorithm> client,
                                                           std::span<const AeadAlgorithm> server);

// The associated data of a datagram: what of it is in the clear, and what goes beside it.
class Associated {
 public:
  Associated(Bytes clear, Bytes beside) : bytes_(clear) {
    if (beside.empty()) return;
    joined_.assign(clear.begin(), clear.end());
    joined_.insert(joined_.end(), beside.begin(), beside.end());
    bytes_ = joined_;
  }
  Associated(const Associated&) = delete;
  Associated& operator=(const Associated&) = delete;
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> joined_;
  Bytes bytes_;
};

[[nodiscard]] Aead::Nonce seal_nonce(const Aead::Nonce& salt, std::uint64_t sequence);

// How much one key is used. RFC 9001, 6.6 and B.1 allow AES-GCM 2^23 datagrams of 64 KiB each, and
// AES-GCM 2^52 and ChaCha20-Poly1305 2^36 that are not genuine; the lowest of each, halved, serves
// for all.
struct SealLimits {
  std::uint64_t datagrams = std::uint64_t{1} << 22;  // sealed with one key; at least 1
  std::uint64_t bytes = std::uint64_t{1} << 37;      // of frames sealed with one key
  std::uint64_t forged = std::uint64_t{1} << 35;     // refused with one key before it is given up
};

enum class SealCounter : std::uint8_t {
  kSealed,
  kSealedBytes,
  kRotated,
  kRefused,
  kCount,
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(SealCounter::kCount)>
    kSealCounterInfo{{
        {"wan_sealed", "datagrams sealed"},
        {"wan_sealed_bytes", "bytes of frames in them"},
        {"wan_seal_rotated", "keys of a later epoch taken into use for sealing"},
        {"wan_seal_refused", "frames not sealed: no key, or no number left"},
    }};
using SealCounters = CounterSet<SealCounter, kSealCounterInfo>;

enum class OpenCounter : std::uint8_t {
  kOpened,
  kOpenedBytes,
  kRotated,
  kShort,
  kUnknownEpoch,
  kEndedEpoch,
  kForged,
  kReplayed,
  kTooOld,
  kWorn,
  kCount,
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(OpenCounter::kCount)>
    kOpenCounterInfo{{
        {"wan_opened", "datagrams that were genuine and new"},
        {"wan_opened_bytes", "bytes of frames in them"},
        {"wan_open_rotated", "times that the other end went on to a later epoch"},
        {"wan_open_short", "datagrams too short to be sealed ones"},
        {"wan_open_unknown_epoch",
         "datagrams of an epoch too far ahead, or whose key is not to be "
         "had"},
        {"wan_open_ended_epoch", "datagrams of an epoch whose key is erased"},
        {"wan_open_forged", "datagrams that are not as the other end sealed them"},
        {"wan_open_replayed", "datagrams that had been opened before"},
        {"wan_open_too_old", "datagrams overtaken by more than the replay window"},
        {"wan_open_worn", "datagrams of a key that met too many forged ones"},
    }};
using OpenCounters = CounterSet<OpenCounter, kOpenCounterInfo>;

}  // namespace weft::wan
