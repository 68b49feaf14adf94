// SPDX-License-Identifier: Apache-2.0
// 64b/66b beside memcpy, and beside the scrambler taken bit by bit, in one run: payloads scrambled,
// scrambled and packed, unpacked and descrambled; and a whole line of InfiniBand packets of 2 KiB,
// from packets to octets and back.
//
// Buffers do not begin at the same place of a page, or a store would be taken for one to what the
// next load reads.
#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "turns.h"
#include "wan/line/pcs/block_stream.h"
#include "wan/line/pcs/frame_transmitter.h"
#include "wan/line/pcs/pcs_receiver.h"
#include "wan/line/pcs/pcs_transmitter.h"
#include "wan/line/pcs/xgmii_receiver.h"

namespace {

using namespace weft;
using namespace weft::wan;

constexpr std::size_t kBlocks = 512;
constexpr std::size_t kPayload = kBlocks * sizeof(std::uint64_t);
constexpr std::size_t kOctets = kBlocks / kGroupBlocks * kGroupOctets;
constexpr std::size_t kBursts = 64;
constexpr double kLanBytes = 1.25e9;  // of 10GBASE-R, in a second

void keep(std::uint64_t value) {
  asm volatile("" : : "r"(value) : "memory");
}

struct Buffers {
  explicit Buffers(Random& random) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      payloads[i] = random.next();
      headers[i] = random.below(2) == 0 ? Block::kData : Block::kControl;
    }
  }
  std::vector<std::uint64_t> payloads = std::vector<std::uint64_t>(kBlocks);
  std::vector<std::uint8_t> headers = std::vector<std::uint8_t>(kBlocks);
  std::vector<std::uint64_t> store = std::vector<std::uint64_t>(kBlocks + 200);
  std::span<std::uint64_t> out = std::span(store).subspan(100, kBlocks);
  std::vector<std::byte> octets = std::vector<std::byte>(kOctets + 1500);
};

// As the standard draws it.
std::uint64_t scramble_bit_by_bit(std::span<const std::uint64_t> from, std::span<std::uint64_t> to,
                                  std::uint64_t sent) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::uint64_t word = 0;
    for (unsigned bit = 0; bit < 64; ++bit) {
      const std::uint64_t out = (from[i] >> bit ^ sent >> 25 ^ sent >> 6) & 1;
      sent = sent >> 1 | out << 63;
      word |= out << bit;
    }
    to[i] = word;
  }
  return sent;
}

// Packets that never end, and where they go.
struct Endless : PacketSource {
  Bytes next() override { return packet; }
  std::vector<std::byte> packet = std::vector<std::byte>(2048 + 30, std::byte{7});
};
struct Counted : FrameSink {
  void frame(Bytes octets) override { bytes += octets.size(); }
  void bad_frame() override { bytes = 0; }
  void ordered_set(const OrderedSet&) override {}
  std::uint64_t bytes = 0;
};

double gigabytes(std::size_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds / 1e9;
}

bool goal(const std::string& what, double value, double least) {
  const bool met = value >= least;
  fmt::print("  {:<52} {:6.2f}  goal >= {:.2f}  {}\n", what, value, least, met ? "met" : "MISSED");
  fmt::print("result: {} = {:.2f}\n", what, value);
  return met;
}

bool measure_blocks(Buffers& buffers) {
  const auto kernels = block_stream_kernels();
  const BlockStreamKernel& portable = kernels.front();
  const BlockStreamKernel& best = kernels.back();
  std::uint64_t sent = 1;
  const auto scramble = [&](const BlockStreamKernel& kernel) {
    sent = kernel.scramble(buffers.payloads.data(), buffers.out.data(), kBlocks, sent);
    keep(sent);
  };
  const auto pack = [&](const BlockStreamKernel& kernel) {
    sent = kernel.pack(buffers.payloads.data(), buffers.headers.data(), kBlocks / kGroupBlocks,
                       buffers.octets.data() + 1200, sent);
    keep(sent);
  };
  std::vector<std::uint8_t> headers(kBlocks);
  std::uint64_t heard = 1;
  const auto unpack = [&](const BlockStreamKernel& kernel) {
    heard = kernel.unpack(Bytes(buffers.octets).subspan(1200), 0, kBlocks, buffers.out.data(),
                          headers.data(), heard);
    keep(heard);
  };
  const auto seconds = bench::seconds_of_bursts(
      kBursts,
      [&] {
        std::memcpy(buffers.out.data(), buffers.payloads.data(), kPayload);
        keep(buffers.out[0]);
      },
      [&] { keep(sent = scramble_bit_by_bit(buffers.payloads, buffers.out, sent)); },
      [&] { scramble(portable); }, [&] { scramble(best); }, [&] { pack(portable); },
      [&] { pack(best); }, [&] { unpack(portable); }, [&] { unpack(best); });
  const std::array names{"memcpy",
                         "scrambled bit by bit",
                         "scrambled, portable",
                         "scrambled, best",
                         "scrambled and packed, portable",
                         "scrambled and packed, best",
                         "unpacked and descrambled, portable",
                         "unpacked and descrambled, best"};
  fmt::print("{} payloads of 8 bytes; best: {}\n", kBlocks, best.name);
  for (std::size_t i = 0; i < names.size(); ++i)
    fmt::print("  {:<34} {:7.2f} GB/s\n", names[i], gigabytes(kPayload, seconds[i]));
  bool met = goal("scrambled and packed / 10GBASE-R, portable",
                  gigabytes(kPayload, seconds[4]) * 1e9 / kLanBytes, 3);
  met &= goal("scrambled and packed / scrambled alone", seconds[3] / seconds[5], 0.5);
  met &= goal("scrambled and packed / bit by bit", seconds[1] / seconds[5], 3);
  return met;
}

bool measure_line() {
  constexpr std::size_t kPiece = 33 * 1000;
  Endless packets;
  FrameTransmitter frames(LineFrames::kInfiniband, packets);
  PcsTransmitter sender(BitOrder::kLeastFirst, frames);
  Counted counted;
  PcsCounters counters;
  XgmiiReceiver lanes(4300, counted, counters);
  PcsReceiver receiver({}, lanes, counters);
  std::vector<std::byte> octets(kPiece);
  sender.fill(octets);
  receiver.take(octets);
  const auto [sent, read] = bench::seconds_of_bursts(
      kBursts, [&] { sender.fill(octets); }, [&] { receiver.take(octets); });
  const double bytes = static_cast<double>(kPiece) * 64 / 66;
  fmt::print("a line of packets of 2 KiB: {:.2f} GB/s sent, {:.2f} GB/s received\n",
             bytes / sent / 1e9, bytes / read / 1e9);
  if (counted.bytes == 0) fmt::print("  nothing came\n");
  const bool met = goal("line sent / 10GBASE-R", bytes / sent / kLanBytes, 1);
  fmt::print("result: line received / 10GBASE-R = {:.2f}\n", bytes / read / kLanBytes);
  return met && counted.bytes > 0;
}

}  // namespace

int main() {
  Random random(1);
  Buffers buffers(random);
  const bool blocks = measure_blocks(buffers);
  const bool line = measure_line();
  return blocks && line ? 0 : 1;
}
