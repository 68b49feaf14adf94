// SPDX-License-Identifier: Apache-2.0
// How two Weft ends find each other on a wire that standard peers use too: a REQ may offer
// extensions, its REP may agree to some of them. The offer is the last 16 bytes of the private
// data, where the standard lets an application put what it likes, and only when the application's
// own data ends before them:
//
//   byte 0-7  magic  8-9  Extension bits  10-11  0  12-15  check
//
// The check is a CRC-32 of the bytes before it and of what the message says about itself: so an
// application that gives the private data of a REQ back in its REP agrees to nothing, and neither
// does one that happens to use the same magic. A Weft receiver clears the bytes, so that its
// application sees what a standard sender would have sent. A standard peer sees private data
// that its protocol does not use, never answers with an agreement, and no other bit differs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/cm_connect.h"

namespace weft::mgmt {

inline constexpr std::size_t kExtensionOfferSize = 16;

// The part of an application's private data may have in a field of `field` bytes with an offer.
constexpr bool has_room_for_offer(std::size_t used, std::size_t field) {
  return used + kExtensionOfferSize <= field;
}

// Writes an offer into the end of the message's private data. What it is bound to (IDs, queue pair,
// PSN) must be in the message already.
void put_extensions(wire::CmReq& req, std::uint16_t extensions);
void put_extensions(wire::CmRep& rep, std::uint16_t extensions);

// Takes an offer out of the message: its bits, or 0 when there is none.
std::uint16_t take_extensions(wire::CmReq& req);
std::uint16_t take_extensions(wire::CmRep& rep);

}  // namespace weft::mgmt
