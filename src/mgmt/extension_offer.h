// SPDX-License-Identifier: Apache-2.0
// How two Weft ends find each other on a wire that standard peers use too: a REQ may offer
// extensions, its REP may agree to some of them. Nothing but this tells a Weft peer from another.
//
// The offer is the transaction ID of the REQ. That is its sender's to choose, 64 bits of any value,
// and a receiver gives it back and draws nothing from it (IBA 13.4.6.4): a standard peer, and the
// application behind it, get what they would get without an offer.
//
//   bits 63-48  drawn   47-32  Extension bits, xor kMark   31-0  check
//
// The agreement is the last 16 bytes of the REP's private data, where the application's own data
// ends before them. It goes to a peer that has made an offer, and to no other; that clears the
// bytes, so that its application does not see them.
//
//   byte 0-7  magic  8-9  Extension bits  10-11  0  12-15  check
//
// Each check is a CRC-32 of what stands before it and of what the message says about itself, so
// that neither can be what somebody else happens to send, or gives back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/cm_connect.h"

namespace weft::mgmt {

inline constexpr std::size_t kAgreementSize = 16;

// Whether a REP whose application gave `used` bytes of private data can carry an agreement.
constexpr bool has_room_for_agreement(std::size_t used) {
  return used + kAgreementSize <= wire::kRepPrivateData;
}

// The transaction ID of a REQ that offers `extensions`. What it is bound to (ID, queue pair, PSN)
// must be in the message already. `drawn` makes it differ from others.
[[nodiscard]] std::uint64_t offering_transaction(const wire::CmReq& req, std::uint16_t extensions,
                                                 std::uint16_t drawn);
// What a REQ with this transaction ID offers; 0: nothing.
[[nodiscard]] std::uint16_t offered_extensions(const wire::CmReq& req, std::uint64_t transaction);

// Writes an agreement into the end of the message's private data; the rest of it as above.
void put_agreement(wire::CmRep& rep, std::uint16_t extensions);
// Takes it out again: its bits, or 0 when there is none.
std::uint16_t take_agreement(wire::CmRep& rep);

}  // namespace weft::mgmt
