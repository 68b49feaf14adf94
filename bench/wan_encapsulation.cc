// SPDX-License-Identifier: Apache-2.0
// What one core puts into packets and takes out of them in a second, with each stack of layers, in
// frames as an Ethernet of 9,000 bytes carries them; beside it, copying the same frames with
// memcpy. A frame is not copied on its way out, nor on its way in: what it takes is headers and
// checksums. Last, packets that are null-encapsulated on a fibre which is a stream: they are copied
// into it and out of it, and delimited.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/buffer_pool.h"
#include "link/packet_pool.h"
#include "turns.h"
#include "wan/encapsulation/stack.h"
#include "wan/fibre_framing.h"
#include "wan_packet.h"

namespace {

using namespace weft;
using namespace weft::bench;
using namespace weft::wan;

constexpr std::size_t kFrameBytes = 8'900;
constexpr std::size_t kFibrePayload = 2048;
constexpr std::size_t kBurst = 64;
constexpr std::size_t kBurstsInTurn = 40;
constexpr std::array<std::string_view, 14> kStacks{"null",
                                                   "udp/ipv6",
                                                   "udp/ipv4",
                                                   "udp/options/ipv6",
                                                   "ipv6",
                                                   "ipv4",
                                                   "options/ipv6",
                                                   "udp/ipv6/ethernet",
                                                   "udp/ipv4/ethernet",
                                                   "udp/options/ipv6/ethernet",
                                                   "ipv6/ethernet",
                                                   "ipv4/ethernet",
                                                   "options/ipv6/ethernet",
                                                   "ethernet"};
constexpr std::size_t kOptionBytes = 28;  // of a credit item, where a layer carries such

// Both ends are this one, so that what goes out may come in.
Ends ends_of(std::string_view stack) {
  const bool ipv4 = stack.find("ipv4") != std::string_view::npos;
  const Gid own =
      ipv4 ? Gid::from_ipv4(0xC0000201) : Gid{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  return {.local = own,
          .remote = own,
          .local_port = 4000,
          .remote_port = 4000,
          .local_mac = {2, 0, 0, 0, 0, 1},
          .remote_mac = {2, 0, 0, 0, 0, 1}};
}

using Buffers = std::vector<std::vector<std::byte>>;

class Run {
 public:
  // `options`: bytes of them beside each frame.
  Run(Stack stack, std::size_t options)
      : stack_(std::move(stack)),
        options_(options),
        frames_(kBurst, std::vector<std::byte>(kFrameBytes, std::byte{0x5A})),
        copies_(frames_) {
    for (const auto& frame : frames_) {
      const std::array<Bytes, 1> pieces{frame};
      OutPacket packet(pieces);
      packet.options = options_;
      good_ = good_ && stack_.wrap(packet);
      auto& whole = packets_.emplace_back();
      for (const Bytes piece : packet.pieces())
        whole.insert(whole.end(), piece.begin(), piece.end());
    }
  }

  // Bytes of frames in a second: copied, wrapped, unwrapped. False: something was refused.
  bool measure(std::array<double, 3>& rates) {
    rates = seconds_of_bursts(
        kBurstsInTurn, [this] { copy(); }, [this] { wrap(); }, [this] { unwrap(); });
    for (double& rate : rates)
      rate = double{kFrameBytes * kBurst} / rate;
    return good_;
  }

 private:
  void copy() {
    for (std::size_t i = 0; i < kBurst; ++i) {
      std::memcpy(copies_[i].data(), frames_[i].data(), kFrameBytes);
      asm volatile("" : : "r"(copies_[i].data()) : "memory");
    }
  }
  void wrap() {
    for (const auto& frame : frames_) {
      const std::array<Bytes, 1> pieces{frame};
      OutPacket packet(pieces);
      packet.options = options_;
      good_ = good_ && stack_.wrap(packet) && !packet.pieces().empty();
    }
  }
  void unwrap() {
    for (const auto& packet : packets_)
      good_ = good_ && stack_.unwrap(packet).has_value();
  }

  Stack stack_;
  const std::vector<std::byte> options_;
  Buffers frames_;
  Buffers copies_;
  Buffers packets_;
  bool good_ = true;
};

// The same of packets of 2 KiB on a fibre.
class FibreRun {
 public:
  FibreRun() : bytes_(make_wan_packet(kFibrePayload)), copies_(kBurst * bytes_.size()) {
    for (std::size_t i = 0; i < kBurst; ++i)
      packets_.push_back(pool_.copy(bytes_));
    put();
  }

  bool measure(std::array<double, 3>& rates) {
    rates = seconds_of_bursts(
        kBurstsInTurn, [this] { copy(); }, [this] { put(); }, [this] { take(); });
    for (double& rate : rates)
      rate = static_cast<double>(bytes_.size() * kBurst) / rate;
    return good_;
  }

 private:
  void copy() {
    for (std::size_t i = 0; i < kBurst; ++i)
      packets_[i]->copy_to(MutableBytes(copies_).subspan(i * bytes_.size(), bytes_.size()));
    asm volatile("" : : "r"(copies_.data()) : "memory");
  }
  void put() {
    stream_.clear();
    for (const auto& packet : packets_)
      good_ = good_ && put_packet(stream_, *packet);
  }
  void take() {
    Bytes rest(stream_);
    for (std::size_t i = 0; i < kBurst; ++i) {
      const auto record = parse_fibre(rest);
      good_ = good_ && record && record->item == FibreItem::kPacket &&
              pool_.copy(record->bytes) != nullptr;
      if (!good_) return;
      rest = rest.subspan(record->size);
    }
  }

  const std::vector<std::byte> bytes_;
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 2 * kBurst};
  link::PacketPool pool_{2 * kBurst, payloads_};
  std::vector<link::PacketPtr> packets_;
  std::vector<std::byte> copies_;
  std::vector<std::byte> stream_;
  bool good_ = true;
};

// Of what is of `bytes` each.
void print(std::string_view name, std::size_t bytes, const std::array<double, 3>& rates) {
  const auto [copied, wrapped, unwrapped] = rates;
  fmt::print("{}: {:.1f} GB/s put in, {:.1f} GB/s taken out, memcpy {:.1f} GB/s\n", name,
             wrapped / 1e9, unwrapped / 1e9, copied / 1e9);
  fmt::print("result: {} {} B put in / memcpy = {:.2f}\n", name, bytes, wrapped / copied);
  fmt::print("result: {} {} B taken out / memcpy = {:.2f}\n", name, bytes, unwrapped / copied);
}

}  // namespace

int main() {
  std::array<double, 3> rates{};
  for (const std::string_view name : kStacks) {
    auto stack = Stack::parse(name, ends_of(name));
    const bool has_options = name.find("options") != std::string_view::npos;
    if (!stack || !Run(std::move(*stack), has_options ? kOptionBytes : 0).measure(rates)) {
      fmt::print(stderr, "wan_encapsulation: {} refuses what it has made\n", name);
      return 1;
    }
    print(name, kFrameBytes, rates);
  }
  if (!FibreRun().measure(rates)) {
    fmt::print(stderr, "wan_encapsulation: a fibre refuses what it has made\n");
    return 1;
  }
  print("null on a fibre stream", kFibrePayload, rates);
}
