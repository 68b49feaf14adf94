// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/section.h"

#include <algorithm>
#include <bit>

#include "wan/line/sonet/overhead.h"

namespace weft::wan::sonet {
namespace {

constexpr std::size_t kSectionRows = 3;

std::uint32_t bits_apart(std::byte one, std::byte other) {
  return static_cast<std::uint32_t>(std::popcount(std::to_integer<unsigned>(one ^ other)));
}

}  // namespace

Parity line_parity(const Parity& parity, Bytes plain, const Geometry& g) {
  Parity lanes{};
  for (std::size_t i = 0; i < kParityLanes; ++i)
    lanes[i % g.thirds()] ^= parity[i];
  for (std::size_t row = 0; row < kSectionRows; ++row) {
    // Three times the lanes; a row of frame is a multiple of them.
    const std::byte* const octets = plain.data() + g.at(row, 0);
    for (std::size_t i = 0; i < g.thirds(); ++i)
      lanes[i] ^= octets[i] ^ octets[i + g.thirds()] ^ octets[i + 2 * g.thirds()];
  }
  return lanes;
}

std::uint32_t b2_errors(const Parity& expected, Bytes plain, const Geometry& g) {
  const Bytes b2 = plain.subspan(g.at(4, 0), g.thirds());
  if (std::ranges::equal(b2, std::span(expected).first(g.thirds()))) return 0;
  std::uint32_t errors = 0;
  for (std::size_t i = 0; i < b2.size(); ++i)
    errors += bits_apart(expected[i], b2[i]);
  return errors;
}

SectionReader::SectionReader(Level level, const Trace& expected, Defects& defects,
                             SonetCounters& counters)
    : level_(level),
      g_(geometry(level)),
      defects_(defects),
      counters_(counters),
      trace_(expected),
      plain_(g_.frame()) {
}

void SectionReader::take(Bytes line) {
  const Parity scrambled = scramble_with_parity(line, scrambler_sequence(level_), plain_);
  parity_ = sum(scrambled, sequence_parity(level_));
  const std::uint32_t errors = b1_ ? bits_apart(*b1_, plain_[g_.at(1, 0)]) : 0;
  if (errors != 0) {
    counters_.add_in_turn(SonetCounter::kB1Errors, errors);
    counters_.add_in_turn(SonetCounter::kB1Frames);
  }
  b1_ = bip8(scrambled);
  const TraceReceiver::Message message = trace_.take(plain_[g_.at(0, 6)]);
  if (message != TraceReceiver::Message::kNone) {
    defects_.observe(Defect::kTimSection, message == TraceReceiver::Message::kOther);
  }
}

void SectionReader::restart() {
  b1_.reset();
  trace_.restart();
}

SectionWriter::SectionWriter(Level level, const Trace& trace)
    : level_(level), g_(geometry(level)), trace_(trace) {
}

Parity SectionWriter::put(MutableBytes plain, MutableBytes line) {
  const MutableBytes first = plain.first(g_.overhead());
  std::ranges::fill(first.first(g_.thirds()), kA1);
  std::ranges::fill(first.subspan(g_.thirds(), g_.thirds()), kA2);
  std::ranges::fill(first.last(g_.thirds()), kZ0);
  plain[g_.at(0, 6)] = trace_.next();
  plain[g_.at(1, 0)] = b1_;
  const Parity parity = scramble_with_parity(plain, scrambler_sequence(level_), line);
  b1_ = bip8(sum(parity, sequence_parity(level_)));
  return parity;
}

}  // namespace weft::wan::sonet
