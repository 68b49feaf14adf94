// SPDX-License-Identifier: Apache-2.0
// What one core makes of packets as cells of ATM in a second, and takes out of such cells, beside
// copying the same packets with memcpy: packets of 2 KiB, each as a PDU of AAL type 5 with its
// CRC-32. Last, the whole way through a line: cells, the scrambler of payloads, and finding the
// cells again by their header checks.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "turns.h"
#include "wan/line/atm/aal5_reassembler.h"
#include "wan/line/atm/aal5_segmenter.h"
#include "wan/line/atm/cell_delineation.h"
#include "wan/line/atm/cell_source.h"

namespace {

using namespace weft;
using namespace weft::bench;
using namespace weft::wan::atm;

constexpr std::size_t kPacket = 2048;
constexpr std::size_t kPackets = 64;
constexpr std::size_t kBurstsInTurn = 60;
constexpr Channel kChannel{.vpi = 0, .vci = 100};
constexpr std::size_t kPduCells = cells_for(kPacket);
// Not a multiple of a page, so that what is read and what is written are not at one place of it.
constexpr std::size_t kApart = kPacket + 192;

void keep(const void* memory) {
  asm volatile("" : : "r"(memory) : "memory");
}

struct Taken final : Aal5Sink {
  void pdu(const Channel&, Bytes payload, std::uint8_t) override { octets += payload.size(); }
  std::size_t octets = 0;
};

// What comes in: cells of packets, from a line.
struct Line final : CellSink {
  void take_cells(const CellRun& run) override {
    cells += run.count;
    reassembler.take(run, cells, taken);
  }
  Aal5Reassembler reassembler{{.longest_payload = kPacket + kLlcSnapSize}};
  std::uint64_t cells = 0;
  Taken taken;
};

struct Again final : wan::PacketSource {
  Bytes next() override {
    const Bytes packet = Bytes(packets).subspan(at * kApart, kPacket);
    at = (at + 1) % kPackets;
    return packet;
  }
  std::vector<std::byte> packets = std::vector<std::byte>(kPackets * kApart);
  std::size_t at = 0;
};

class Bench {
 public:
  Bench() {
    Random random(1);
    for (std::byte& byte : packets_.packets)
      byte = static_cast<std::byte>(random.next());
    line_.reassembler.open(kChannel);
  }

  void copy() {
    for (std::size_t i = 0; i < kPackets; ++i) {
      std::memcpy(copy_.data() + i * kApart, packets_.next().data(), kPacket);
      keep(copy_.data());
    }
  }
  void segment() {
    for (std::size_t i = 0; i < kPackets; ++i) {
      segmenter_.begin({}, packets_.next());
      segmenter_.put(MutableBytes(cells_).subspan(i * kPduCells * kCellSize));
      keep(cells_.data());
    }
  }
  // By runs, as delineation hands them on.
  void reassemble() {
    for (std::size_t i = 0; i < kPackets; ++i) {
      const Bytes pdu = Bytes(cells_).subspan(i * kPduCells * kCellSize, kPduCells * kCellSize);
      take(pdu.first((kPduCells - 1) * kCellSize));
      take(pdu.last(kCellSize));
    }
  }
  // As many cells as a packet with its LLC header takes: kPduCells as well.
  void send() {
    for (std::size_t i = 0; i < kPackets; ++i)
      source_.fill(MutableBytes(cells_).subspan(i * kPduCells * kCellSize, kPduCells * kCellSize));
  }
  void receive() { delineation_.take(cells_); }

  [[nodiscard]] std::size_t taken() const { return line_.taken.octets; }

 private:
  void take(Bytes cells) {
    line_.take_cells({.header = read_header(cells),
                      .first = cells.data() + kHeaderSize,
                      .count = cells.size() / kCellSize});
  }

  Again packets_;
  std::vector<std::byte> copy_ = std::vector<std::byte>(kPackets * kApart);
  std::vector<std::byte> cells_ = std::vector<std::byte>(kPackets * kPduCells * kCellSize);
  Aal5Segmenter segmenter_{{.channel = kChannel}};
  Line line_;
  PacketCells feed_{packets_, {.channel = kChannel}, 0x88B5};
  CellSource source_{{&feed_}, true};
  CellDelineation delineation_{line_, true};
};

bool print(std::string_view what, double seconds, double copying, double goal) {
  const double ratio = copying / seconds;
  fmt::print(
      "  {:<32} {:6.2f} GB/s, {:.2f} of memcpy{}\n", what,
      static_cast<double>(kPackets * kPacket) / seconds * 1e-9, ratio,
      goal == 0 ? "" : fmt::format(", goal >= {:.1f}: {}", goal, ratio >= goal ? "met" : "MISSED"));
  fmt::print("result: {} / memcpy = {:.2f}\n", what, ratio);
  return ratio >= goal;
}

}  // namespace

int main() {
  Bench bench;
  fmt::print("{} packets of {} bytes\n", kPackets, kPacket);
  const auto [copying, segmenting, reassembling] = seconds_of_bursts(
      kBurstsInTurn, [&] { bench.copy(); }, [&] { bench.segment(); }, [&] { bench.reassemble(); });
  const std::size_t before = bench.taken();
  const auto [copying_too, sending, receiving] = seconds_of_bursts(
      kBurstsInTurn, [&] { bench.copy(); }, [&] { bench.send(); }, [&] { bench.receive(); });
  if (before == 0 || bench.taken() == before) return 1;
  fmt::print("  {:<32} {:6.2f} GB/s\n", "memcpy",
             static_cast<double>(kPackets * kPacket) / copying * 1e-9);
  bool met = print("AAL5 segmentation with CRC", segmenting, copying, 0.2);
  met &= print("AAL5 reassembly with CRC", reassembling, copying, 0.2);
  print("line of scrambled cells, out", sending, copying_too, 0);
  print("line of scrambled cells, in", receiving, copying_too, 0);
  return met ? 0 : 1;
}
