// SPDX-License-Identifier: Apache-2.0
// What two parts of a lab on one machine say to each other, over a SEQPACKET socket, to join links
// between them by rings in memory (carrier/ring_memory.h). The one that comes first in the lab file
// listens at its socket `parts`; the other one comes to it, and once more when it was killed.
//
//   the one that comes                     the one that listens
//   RingHello                       -->
//                                   <--    RingWelcome
//   seek: looks for the other end   -->
//                                   <--    open, with two files: the listener's memory, and the
//                                          other's; both are zeros, and nobody can resize them
//   unseek: does not any more       -->
//                                   <--    close: neither does the listener. To be asked anew
//   wake, each to the other: what sleeps has something to look at
//   record, each to the other: what an instance of a data service tells the others
//   (part_records.h); behind the message are its bytes
//
// Every seek has a number of its own, which open and close name, so that what crosses on the way is
// not taken for an answer to what came later.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::daemon {

inline constexpr std::uint32_t kRingMagic = 0x72696E67;  // "ring"
inline constexpr std::uint32_t kRingVersion = 3;
inline constexpr std::size_t kPartNameSize = 64;  // with a zero at its end

struct RingHello {
  std::uint32_t magic = kRingMagic;
  std::uint32_t version = kRingVersion;
  char lab[kPartNameSize] = {};
  char from[kPartNameSize] = {};  // parts
  char to[kPartNameSize] = {};
};

struct RingWelcome {
  std::int32_t error = 0;  // an errno; 0: welcome
  char message[252] = {};  // why not, for people
};

enum class RingAction : std::uint32_t { kSeek = 1, kUnseek, kOpen, kClose, kWake, kRecord };

struct RingMessage {
  RingAction action = RingAction::kWake;
  std::uint32_t attempt = 0;  // the number of the seek; of a record, PartRecord::which
  std::uint64_t link = 0;  // its number, carrier/datagram_peer.h; of a record, that of the service
  // Of seek and open: what the sender's port lets the link train to, link::Training::packed().
  std::uint64_t training = 0;
};

}  // namespace weft::daemon
