// SPDX-License-Identifier: Apache-2.0
// A mapping whose octets go over the line scrambled by 1 + x^43, all of them: PPP and ATM in
// SONET/SDH (RFC 2615, 6; ITU-T I.432.1, 7.3.3.1). GFP scrambles by itself, and not all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "wan/line/octet_stream.h"
#include "wan/line/payload_scrambler.h"

namespace weft::wan {

// `mapping`, which outlives it, scrambled.
class ScrambledPayloadSource final : public OctetSource {
 public:
  explicit ScrambledPayloadSource(OctetSource& mapping) : mapping_(mapping) {}
  void fill(MutableBytes octets) override {
    mapping_.fill(octets);
    scrambler_.scramble(octets);
  }

 private:
  OctetSource& mapping_;
  PayloadScrambler scrambler_;
};

// Descrambles for `mapping`, which outlives it. The first 43 bits of a line that has been scrambled
// for a while, and those after interrupted(), are not understood.
class ScrambledPayloadSink final : public OctetSink {
 public:
  explicit ScrambledPayloadSink(OctetSink& mapping) : mapping_(mapping) {}
  void take(Bytes octets) override {
    while (!octets.empty()) {
      const Bytes piece = octets.first(std::min(octets.size(), clear_.size()));
      descrambler_.descramble(piece, clear_);
      mapping_.take(Bytes(clear_).first(piece.size()));
      octets = octets.subspan(piece.size());
    }
  }
  void interrupted() override { mapping_.interrupted(); }

 private:
  OctetSink& mapping_;
  PayloadDescrambler descrambler_;
  std::array<std::byte, 4096> clear_{};
};

}  // namespace weft::wan
