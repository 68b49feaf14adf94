// SPDX-License-Identifier: Apache-2.0
// What one core puts into the octets of a line and takes out of them in a second: packets of 2 KiB
// in GFP and in PPP, with their FCS-32, and the scrambler 1 + x^43 both ways; and how fast flags go
// by while a line of PPP is idle. Beside it, copying as many bytes with memcpy, in the same turns.
// Of the scrambler, blocks of 4 KiB in the first-level cache, also with a word waiting for the one
// before it as the polynomial has it; the rest is what a mapping asks for, 16 KiB at a time.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "turns.h"
#include "wan/line/gfp/gfp_receiver.h"
#include "wan/line/gfp/gfp_transmitter.h"
#include "wan/line/payload_scrambler.h"
#include "wan/line/ppp/ppp_receiver.h"
#include "wan/line/ppp/ppp_transmitter.h"
#include "wire/endian.h"

namespace {

using namespace weft;
using namespace weft::bench;
using namespace weft::wan;

constexpr std::size_t kPacketBytes = 2048;
constexpr std::size_t kAtOnce = 16'384;
constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kPacketsInBurst = 64;
constexpr std::size_t kBlocksInBurst = 64;
constexpr std::size_t kBursts = 20;
// So that what is written is not at the place of a page at which the next is read, which would be
// taken for the same memory.
constexpr std::size_t kApart = 1200;

using Octets = std::vector<std::byte>;

Octets random_octets(std::size_t size) {
  Random random(1);
  Octets octets(size);
  for (std::byte& octet : octets)
    octet = static_cast<std::byte>(random.next());
  return octets;
}

void keep(const void* what) {
  asm volatile("" : : "r"(what) : "memory");
}

// The same packet again and again, so many times.
class RepeatedPackets final : public PacketSource {
 public:
  void again() { left_ = kPacketsInBurst; }
  [[nodiscard]] bool done() const { return left_ == 0; }
  [[nodiscard]] const Octets& packet() const { return packet_; }
  [[nodiscard]] Bytes next() override {
    if (left_ == 0) return {};
    --left_;
    return packet_;
  }

 private:
  const Octets packet_ = random_octets(kPacketBytes);
  std::size_t left_ = 0;
};

// As frames of PPP.
class RepeatedFrames final : public PppFrameSource {
 public:
  RepeatedPackets packets;
  [[nodiscard]] PppFrame next() override {
    const Bytes packet = packets.next();
    return {.header = packet.empty() ? Bytes() : Bytes(header_), .information = packet};
  }

 private:
  const std::array<std::byte, kPppHeader> header_ = ppp_header(PppProtocol::kIpv6);
};

class Counted final : public PacketSink, public PppFrameSink {
 public:
  std::size_t count = 0;
  void packet(Bytes bytes) override {
    keep(bytes.data());
    ++count;
  }
  void frame(PppProtocol, Bytes information) override { packet(information); }
};

// All packets of a burst as octets, and those octets taken again, with `packets` behind `source`.
// Bytes of packets in a second: copied, put in, taken out. False: packets were lost.
bool measure_line(RepeatedPackets& packets, OctetSource& source, OctetSink& sink, Counted& counted,
                  std::array<double, 3>& rates) {
  std::vector<Octets> line(2 * kPacketsInBurst * kPacketBytes / kAtOnce, Octets(kAtOnce));
  Octets copies(kPacketsInBurst * kPacketBytes);
  std::size_t used = 0;
  const auto copy = [&] {
    for (std::size_t i = 0; i < kPacketsInBurst; ++i)
      std::memcpy(copies.data() + i * kPacketBytes, packets.packet().data(), kPacketBytes);
    keep(copies.data());
  };
  const auto put = [&] {
    packets.again();
    for (used = 0; !packets.done(); ++used)
      source.fill(line[used]);
    source.fill(line[used++]);
  };
  std::size_t taken = 0;
  const auto take = [&] {
    for (std::size_t i = 0; i < used; ++i)
      sink.take(line[i]);
    taken += kPacketsInBurst;
  };
  rates = seconds_of_bursts(kBursts, copy, put, take);
  for (double& rate : rates)
    rate = static_cast<double>(kPacketsInBurst * kPacketBytes) / rate;
  return counted.count == taken;
}

void print_line(std::string_view name, const std::array<double, 3>& rates) {
  const auto [copied, put, taken] = rates;
  fmt::print("{}: {:.2f} GB/s put in, {:.2f} GB/s taken out, memcpy {:.1f} GB/s\n", name, put / 1e9,
             taken / 1e9, copied / 1e9);
  fmt::print("result: {} {} B put in / memcpy = {:.3f}\n", name, kPacketBytes, put / copied);
  fmt::print("result: {} {} B taken out / memcpy = {:.3f}\n", name, kPacketBytes, taken / copied);
}

// Four operations, one after the other, from a word that goes out to the next.
std::uint64_t scramble_word_by_word(Bytes from, MutableBytes to, std::uint64_t sent) {
  for (std::size_t at = 0; at < from.size(); at += sizeof sent) {
    const std::uint64_t word = wire::load_be64(from.data() + at);
    const std::uint64_t before = sent << 21;
    sent = word ^ word >> 43 ^ before ^ before >> 43;
    wire::store_be64(to.data() + at, sent);
  }
  return sent;
}

void idle_flags() {
  const Octets flags(kAtOnce, kPppFlag);
  Octets room(kApart + kAtOnce);
  std::byte* const copies = room.data() + kApart;
  Counted counted;
  PppReceiver receiver(PppFcs::k32, kPacketBytes, counted);
  const auto [copied, taken] = seconds_of_bursts(
      kBlocksInBurst * kBursts,
      [&] {
        std::memcpy(copies, flags.data(), kAtOnce);
        keep(copies);
      },
      [&] { receiver.take(flags); });
  fmt::print("PPP: {:.2f} GB/s of flags\n", static_cast<double>(kAtOnce) / taken / 1e9);
  fmt::print("result: PPP flags taken in / memcpy = {:.3f}\n", copied / taken);
}

bool goal(std::string_view what, double value, double least) {
  fmt::print("  {:<40} {:6.2f}  goal >= {:.2f}  {}\n", what, value, least,
             value >= least ? "met" : "MISSED");
  fmt::print("result: {} = {:.2f}\n", what, value);
  return value >= least;
}

bool scrambler() {
  const Octets from = random_octets(kBlockBytes);
  Octets room(kApart + kBlockBytes);
  const MutableBytes to = MutableBytes(room).subspan(kApart);
  PayloadScrambler scrambles;
  PayloadDescrambler descrambles;
  std::uint64_t sent = 0;
  const auto repeat = [&](auto&& work) {
    for (std::size_t i = 0; i < kBlocksInBurst; ++i) {
      work();
      keep(to.data());
    }
  };
  auto rates = seconds_of_bursts(
      kBursts, [&] { repeat([&] { std::memcpy(to.data(), from.data(), kBlockBytes); }); },
      [&] { repeat([&] { scrambles.scramble(from, to); }); },
      [&] { repeat([&] { descrambles.descramble(from, to); }); },
      [&] { repeat([&] { sent = scramble_word_by_word(from, to, sent); }); });
  for (double& rate : rates)
    rate = static_cast<double>(kBlocksInBurst * kBlockBytes) / rate;
  const auto [copied, scrambled, descrambled, by_words] = rates;
  fmt::print("x^43+1, kernel {}: memcpy {:.1f} GB/s, word by word {:.2f} GB/s\n",
             payload_scrambler_kernels().back().name, copied / 1e9, by_words / 1e9);
  bool met = goal("x^43+1 4096 B scrambled GB/s", scrambled / 1e9, 7.45);
  met &= goal("x^43+1 4096 B descrambled GB/s", descrambled / 1e9, 11.5);
  met &= goal("x^43+1 4096 B scrambled / word by word", scrambled / by_words, 0.9);
  fmt::print("result: x^43+1 {} B scrambled / memcpy = {:.3f}\n", kBlockBytes, scrambled / copied);
  return met;
}

int lost(std::string_view name) {
  fmt::print(stderr, "line_framing: {} does not bring what it was given\n", name);
  return 1;
}

}  // namespace

int main() {
  std::array<double, 3> rates{};
  {
    RepeatedPackets packets;
    Counted counted;
    GfpTransmitter transmitter({}, packets);
    GfpReceiver receiver({}, counted);
    if (!measure_line(packets, transmitter, receiver, counted, rates)) return lost("GFP");
    print_line("GFP", rates);
  }
  {
    RepeatedFrames frames;
    Counted counted;
    PppTransmitter transmitter(PppFcs::k32, frames);
    PppReceiver receiver(PppFcs::k32, kPacketBytes, counted);
    if (!measure_line(frames.packets, transmitter, receiver, counted, rates)) return lost("PPP");
    print_line("PPP", rates);
  }
  idle_flags();
  return scrambler() ? 0 : 1;
}
