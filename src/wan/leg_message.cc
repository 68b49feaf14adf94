// SPDX-License-Identifier: Apache-2.0
#include "wan/leg_message.h"

#include <cassert>

#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kReported = 1;

LegReport read_report(Bytes bytes) {
  const std::byte* const at = bytes.data();
  return {.begun = wire::load_be32(at + 44),
          .next = wire::load_be64(at),
          .datagrams = wire::load_be64(at + 8),
          .bytes = wire::load_be64(at + 16),
          .marked = wire::load_be64(at + 24),
          .echo = wire::load_be32(at + 32),
          .held = wire::load_be32(at + 36),
          .least_delay = wire::load_be32(at + 40)};
}

}  // namespace

void LegHead::write(bool reported, MutableBytes out) const {
  assert(out.size() >= kSize);
  std::byte* const at = out.data();
  wire::store_u8(at, kVersion);
  wire::store_u8(at + 1, leg);
  wire::store_u8(at + 2, reported ? kReported : 0);
  wire::store_u8(at + 3, 0);
  wire::store_be32(at + 4, begun);
  wire::store_be32(at + 8, clock);
  wire::store_be64(at + 12, number);
}

void LegReport::write(MutableBytes out) const {
  assert(out.size() >= kSize);
  std::byte* const at = out.data();
  wire::store_be64(at, next);
  wire::store_be64(at + 8, datagrams);
  wire::store_be64(at + 16, bytes);
  wire::store_be64(at + 24, marked);
  wire::store_be32(at + 32, echo);
  wire::store_be32(at + 36, held);
  wire::store_be32(at + 40, least_delay);
  wire::store_be32(at + 44, begun);
}

std::optional<LegMessage> LegMessage::parse(Bytes datagram) {
  ByteCursor cursor(datagram);
  const auto head = cursor.take(LegHead::kSize);
  if (!head || !is_one(datagram)) return std::nullopt;
  const std::byte* const at = head->data();
  LegMessage out{.head = {.leg = wire::load_u8(at + 1),
                          .begun = wire::load_be32(at + 4),
                          .clock = wire::load_be32(at + 8),
                          .number = wire::load_be64(at + 12)},
                 .report = {},
                 .frame = {}};
  if (out.head.leg >= kMostLegs) return std::nullopt;
  if ((wire::load_u8(at + 2) & kReported) != 0) {
    const auto report = cursor.take(LegReport::kSize);
    if (!report) return std::nullopt;
    out.report = read_report(*report);
  }
  out.frame = cursor.rest();
  // Networks fill up short packets, with zeros.
  if (!out.frame.empty() && out.frame.front() == std::byte{0}) out.frame = {};
  return out;
}

}  // namespace weft::wan
