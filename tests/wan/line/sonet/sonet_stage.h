// SPDX-License-Identifier: Apache-2.0
// Payloads of which any piece tells where it is from, and lines to lead them over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "wan/line/octet_stream.h"
#include "wan/line/sonet/terminal.h"

namespace weft::wan::sonet {

inline constexpr std::uint64_t kWordFactor = 0x9E37'79B9'7F4A'7C15;

inline std::byte stream_octet(std::uint64_t at) {
  return static_cast<std::byte>((at / 8 + 1) * kWordFactor >> (56 - at % 8 * 8));
}

class WordSource final : public OctetSource {
 public:
  void fill(MutableBytes octets) override {
    for (std::byte& octet : octets)
      octet = stream_octet(at++);
  }
  std::uint64_t at = 0;
};

// Keeps what came, in pieces that were not interrupted.
class Pieces final : public OctetSink {
 public:
  void take(Bytes octets) override {
    if (ended_) all.emplace_back();
    ended_ = false;
    all.back().insert(all.back().end(), octets.begin(), octets.end());
  }
  void interrupted() override {
    ++interruptions;
    ended_ = true;
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const auto& piece : all)
      sum += piece.size();
    return sum;
  }
  void clear() {
    all.clear();
    ended_ = true;
    interruptions = 0;
  }
  std::vector<std::vector<std::byte>> all;
  std::size_t interruptions = 0;

 private:
  bool ended_ = true;
};

// Where in what a WordSource gave a piece of it begins; nothing if it is not a piece of it.
inline std::optional<std::uint64_t> place_of(Bytes piece) {
  if (piece.size() < 24) return std::nullopt;
  // The inverse of the factor, modulo 2^64.
  std::uint64_t inverse = kWordFactor;
  for (int i = 0; i < 6; ++i)
    inverse *= 2 - kWordFactor * inverse;
  for (std::size_t skew = 0; skew < 8; ++skew) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i)
      word = word << 8 | std::to_integer<std::uint64_t>(piece[skew + i]);
    const std::uint64_t at = (word * inverse - 1) * 8 - skew;
    if (at >> 60 != 0) continue;
    bool same = true;
    for (std::size_t i = 0; i < piece.size() && same; ++i)
      same = piece[i] == stream_octet(at + i);
    if (same) return at;
  }
  return std::nullopt;
}

inline std::vector<std::byte> filled(OctetSource& source, std::size_t size) {
  std::vector<std::byte> octets(size);
  source.fill(octets);
  return octets;
}

inline Trace trace_of(TraceFormat format, std::string_view text) {
  const auto trace = Trace::of(format, text);
  return trace ? *trace : Trace();
}

// One end of a line, with what its path carries.
struct End {
  explicit End(const TerminalOptions& options) : terminal(options, source, pieces) {}
  std::uint64_t count(SonetCounter counter) const { return terminal.counters().get(counter); }
  WordSource source;
  Pieces pieces;
  Terminal terminal;
};

// Frames of one end to the other one.
inline void lead(End& from, End& to, std::size_t frames, Level level) {
  for (std::size_t i = 0; i < frames; ++i)
    to.terminal.take(filled(from.terminal, geometry(level).frame()));
}
// The same both ways, taking turns.
inline void talk(End& one, End& other, std::size_t frames, Level level) {
  for (std::size_t i = 0; i < frames; ++i) {
    lead(one, other, 1, level);
    lead(other, one, 1, level);
  }
}

}  // namespace weft::wan::sonet
