// SPDX-License-Identifier: Apache-2.0
// What the bulk buffer of an extender takes in and gives out at the same time, on one core: packets
// of 2 KiB in frames as long as loopback's, read into it as from a socket, looked at, put into a
// FIFO, and copied out of it as to a link. Of a FIFO with little in it, which stays in the
// processor's cache, and of one that is a gigabyte long, whose packets come from memory; beside
// both, copying the same bytes in and out with memcpy alone, within the cache.
#include "wan/bulk_buffer.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/buffer_pool.h"
#include "link/packet_pool.h"
#include "turns.h"
#include "wan/tunnel_receiver.h"
#include "wan_packet.h"

namespace {

using namespace weft;
using namespace weft::wan;

constexpr std::size_t kPayload = 2048;
constexpr std::size_t kPacketsInFrame = 31;
constexpr std::size_t kFramesInTurn = 600;
constexpr std::size_t kMostPackets = std::size_t{1} << 20;
constexpr double kGoal = 1.25e9;  // bytes a second: 10 Gbit/s
constexpr Vl kLane{0};

class Run {
 public:
  // So much is in the FIFO all the time.
  explicit Run(std::uint64_t used) : buffer_({.lane_bytes = used + kSlack}) {
    for (std::size_t i = 0; i < kPacketsInFrame; ++i)
      frame_.insert(frame_.end(), packet_.begin(), packet_.end());
    receiver_.begin(true);
    while (share_.used_bytes() < used)
      take_in();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { receiver_.end(); }

  struct Rates {  // bytes of packets a second, in and as many out
    double copied = 0;
    double passed = 0;
  };
  [[nodiscard]] Rates measure() {
    const auto [copied, passed] = bench::seconds_of_bursts(
        kFramesInTurn, [this] { copy(); },
        [this] {
          take_in();
          give_out();
        });
    const auto bytes = static_cast<double>(frame_.size());
    return {.copied = bytes / copied, .passed = bytes / passed};
  }

 private:
  static constexpr std::uint64_t kSlack = std::uint64_t{1} << 20;

  [[noreturn]] static void refused(const char* what) {
    fmt::print(stderr, "bulk_buffer: {}\n", what);
    std::exit(1);
  }
  void copy() {
    std::memcpy(between_.data(), frame_.data(), frame_.size());
    asm volatile("" : : "r"(between_.data()) : "memory");
    std::memcpy(out_.data(), between_.data(), frame_.size());
    asm volatile("" : : "r"(out_.data()) : "memory");
  }
  void take_in() {
    const MutableBytes room = buffer_.landing().room();
    if (room.size() < frame_.size()) refused("no memory");
    std::memcpy(room.data(), frame_.data(), frame_.size());
    for (std::size_t i = 0; i < kPacketsInFrame; ++i) {
      const PacketItem item{.tag = {.vl = kLane, .sequence = packets_++, .position = blocks_},
                            .total = static_cast<std::uint16_t>(packet_.size()),
                            .bytes = room.subspan(i * packet_.size(), packet_.size())};
      blocks_ += static_cast<std::uint32_t>(share_.block().blocks(packet_.size()));
      if (!receiver_.take(item, Time{})) refused("a packet was refused");
    }
    buffer_.landing().landed(frame_.size());
  }
  void give_out() {
    for (std::size_t i = 0; i < kPacketsInFrame; ++i) {
      const link::PacketPtr packet = receiver_.pop(kLane);
      if (packet == nullptr || !packet->intact) refused("a packet is missing or damaged");
      packet->copy_to(std::span(out_).subspan(i * packet_.size()));
    }
    if (receiver_.worth_telling(kLane)) static_cast<void>(receiver_.tell(kLane));
  }

  const std::vector<std::byte> packet_ = bench::make_wan_packet(kPayload);
  std::vector<std::byte> frame_;
  std::vector<std::byte> between_ = std::vector<std::byte>(kPacketsInFrame * packet_.size());
  std::vector<std::byte> out_ = between_;
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 1};
  link::PacketPool pool_{kMostPackets, payloads_};
  BulkBuffer buffer_;
  BulkBuffer::Share& share_ = buffer_.share(0);
  TunnelCounters counters_;
  TunnelReceiver receiver_{{}, share_, pool_, counters_};
  std::uint32_t packets_ = 0;
  std::uint32_t blocks_ = 0;
};

}  // namespace

int main() {
  struct Use {
    std::uint64_t bytes;
    const char* name;
  };
  for (const Use& use : {Use{std::uint64_t{128} << 10, "128 KiB in use"},
                         Use{std::uint64_t{1} << 30, "1 GiB in use"}}) {
    const Run::Rates rates = Run(use.bytes).measure();
    fmt::print(
        "{}: {:.2f} GB/s in and as much out at the same time, memcpy {:.2f} GB/s in and "
        "out\n",
        use.name, rates.passed / 1e9, rates.copied / 1e9);
    fmt::print("result: 2 KiB packets in and out at once, {}, / 10 Gbit/s = {:.2f}\n", use.name,
               rates.passed / kGoal);
    fmt::print("result: the same, {}, / memcpy in and out = {:.2f}\n", use.name,
               rates.passed / rates.copied);
  }
}
