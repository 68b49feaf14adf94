// SPDX-License-Identifier: Apache-2.0
// An STS-192c line in one core: octets of the line made of a payload, the payload recovered from
// them, and both at once; beside the line's rate, beside memcpy of the same frames, and beside what
// is done octet by octet. Last, the frame-synchronous scrambler alone, on 4 KiB in the first-level
// cache. All take turns, so that ratios mean something.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "turns.h"
#include "wan/line/sonet/scrambler.h"
#include "wan/line/sonet/terminal.h"

namespace {

using namespace weft;
using namespace weft::bench;
using namespace weft::wan;
using namespace weft::wan::sonet;

constexpr Level kLevel = Level::kStm64;
constexpr Geometry kG = geometry(kLevel);
constexpr std::size_t kFrames = 16;
constexpr std::size_t kBurstsInTurn = 2;
constexpr std::size_t kSmall = 4096;
constexpr std::size_t kSmallTimes = 400;

// Keeps the compiler from dropping or hoisting what is measured.
void keep(std::uint64_t value) {
  asm volatile("" : : "r"(value) : "memory");
}

class Payload final : public OctetSource {
 public:
  void fill(MutableBytes octets) override {
    std::memcpy(octets.data(), from_.data(), octets.size());
  }

 private:
  std::vector<std::byte> from_ = std::vector<std::byte>(kG.payload_row(), std::byte{0x5A});
};

class Sink final : public OctetSink {
 public:
  void take(Bytes octets) override {
    std::memcpy(to_.data(), octets.data(), octets.size());
    taken += octets.size();
  }
  std::uint64_t taken = 0;

 private:
  std::vector<std::byte> to_ = std::vector<std::byte>(kG.payload_row());
};

// The register, octet by octet, and the parities beside it, as it is written in the standard.
class OctetByOctet {
 public:
  void frame(Bytes plain, MutableBytes line) {
    unsigned state = 0x7F;
    b1_ = std::byte{};
    b2_ = {};
    for (std::size_t at = 0; at < plain.size(); ++at) {
      std::byte key{};
      if (at >= kG.overhead()) {
        unsigned octet = 0;
        for (unsigned bit = 0; bit < 8; ++bit) {
          octet = octet << 1 | state >> 6;
          state = (state << 1 & 0x7F) | ((state >> 6 ^ state >> 5) & 1);
        }
        key = static_cast<std::byte>(octet);
      }
      line[at] = plain[at] ^ key;
      b1_ ^= line[at];
      b2_[at % kG.thirds()] ^= plain[at];
    }
    keep(std::to_integer<std::uint64_t>(b1_ ^ b2_[0]));
  }

 private:
  std::byte b1_{};
  std::array<std::byte, kG.thirds()> b2_{};
};

bool goal(std::string_view what, double value, double least) {
  fmt::print("  {:<60} {:7.2f}  goal >= {:.2f}  {}\n", what, value, least,
             value >= least ? "met" : "MISSED");
  fmt::print("result: {} = {:.2f}\n", what, value);
  return value >= least;
}

bool measure_line() {
  Payload payload;
  Sink sink;
  Terminal sender({.level = kLevel}, payload, sink);
  Terminal both({.level = kLevel}, payload, sink);
  Terminal receiver({.level = kLevel}, payload, sink);
  OctetByOctet slow;
  std::vector<std::byte> line(kG.frame());
  std::vector<std::byte> other(kG.frame());
  // Something that a receiver understands, over and over: its parities are wrong once a round.
  std::vector<std::byte> recorded(kFrames * kG.frame());
  Terminal recorder({.level = kLevel}, payload, sink);
  recorder.fill(recorded);
  for (int i = 0; i < 4; ++i)
    receiver.take(recorded);
  const std::uint64_t taken = sink.taken;
  const auto seconds = seconds_of_bursts(
      kBurstsInTurn,
      [&] {
        for (std::size_t i = 0; i < kFrames; ++i) {
          std::memcpy(other.data(), recorded.data() + i * kG.frame(), kG.frame());
          keep(std::to_integer<std::uint64_t>(other[i]));
        }
      },
      [&] {
        for (std::size_t i = 0; i < kFrames; ++i)
          sender.fill(line);
      },
      [&] {
        for (std::size_t i = 0; i < kFrames; ++i)
          receiver.take(Bytes(recorded).subspan(i * kG.frame(), kG.frame()));
      },
      [&] {
        for (std::size_t i = 0; i < kFrames; ++i) {
          both.fill(line);
          both.take(line);
        }
      },
      [&] { slow.frame(Bytes(recorded).first(kG.frame()), other); });
  if (sink.taken == taken || !receiver.receiver().aligner().aligned()) {
    fmt::print("the receiver does not understand the line\n");
    return false;
  }
  const double octets = static_cast<double>(kFrames * kG.frame());
  const double line_rate = static_cast<double>(kG.bits_per_second()) / 8;
  const std::array rates{octets / seconds[0], octets / seconds[1], octets / seconds[2],
                         octets / seconds[3], octets / kFrames / seconds[4]};
  constexpr std::array<std::string_view, 5> kNames{"memcpy", "made", "recovered", "both",
                                                   "scrambler and parities octet by octet"};
  fmt::print("STS-192c, {} frames of {} octets\n", kFrames, kG.frame());
  for (std::size_t i = 0; i < rates.size(); ++i)
    fmt::print("  {:<40} {:8.2f} GB/s {:8.1f} Gbit/s\n", kNames[i], rates[i] / 1e9,
               rates[i] / 125e6);
  bool met = goal("STS-192c made / line rate", rates[1] / line_rate, 1);
  met &= goal("STS-192c recovered / line rate", rates[2] / line_rate, 1);
  met &= goal("STS-192c made and recovered / line rate", rates[3] / line_rate, 1);
  met &= goal("STS-192c made / memcpy", rates[1] / rates[0], 0.2);
  met &= goal("STS-192c recovered / memcpy", rates[2] / rates[0], 0.2);
  met &= goal("STS-192c made / scrambler and parities octet by octet", rates[1] / rates[4], 3);
  return met;
}

bool measure_scrambler() {
  std::vector<std::byte> data(kSmall, std::byte{0x33});
  std::vector<std::byte> out(kSmall + 512);
  const Bytes sequence = scrambler_sequence(kLevel).subspan(kG.overhead(), kSmall);
  const auto times = [](auto&& one) {
    return [one] {
      for (std::size_t i = 0; i < kSmallTimes; ++i)
        one();
    };
  };
  const auto seconds =
      seconds_of_bursts(kBurstsInTurn, times([&] {
                          std::memcpy(out.data(), data.data(), kSmall);
                          keep(reinterpret_cast<std::uint64_t>(out.data()));
                        }),
                        times([&] {
                          scramble(data, sequence, MutableBytes(out).first(kSmall));
                          keep(reinterpret_cast<std::uint64_t>(out.data()));
                        }));
  const double octets = static_cast<double>(kSmall * kSmallTimes);
  fmt::print("4 KiB in the first-level cache, kernel {}\n", scrambler_kernels().back().name);
  fmt::print("  {:<40} {:8.2f} GB/s\n", "memcpy", octets / seconds[0] / 1e9);
  const double scrambled = octets / seconds[1] / 1e9;
  fmt::print("  {:<40} {:8.2f} GB/s\n", "scrambled", scrambled);
  fmt::print("result: frame-synchronous scrambler, GB/s = {:.2f}\n", scrambled);
  // What limits it is memory: a figure of one machine is out of reach, or easy, on another one.
  return goal("frame-synchronous scrambler / memcpy", seconds[0] / seconds[1], 0.5);
}

}  // namespace

int main() {
  const bool line = measure_line();
  const bool scrambler = measure_scrambler();
  return line && scrambler ? 0 : 1;
}
