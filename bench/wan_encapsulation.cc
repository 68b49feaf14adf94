// SPDX-License-Identifier: Apache-2.0
// What one core puts into packets and takes out of them in a second, with each stack of layers, in
// frames as an Ethernet of 9,000 bytes carries them; beside it, copying the same frames with
// memcpy. A frame is not copied on its way out, nor on its way in: what it takes is headers and
// checksums.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "turns.h"
#include "wan/encapsulation/stack.h"

namespace {

using namespace weft;
using namespace weft::wan;

constexpr std::size_t kFrameBytes = 8'900;
constexpr std::size_t kBurst = 64;
constexpr std::size_t kBurstsInTurn = 40;
constexpr std::array<std::string_view, 8> kStacks{
    "null", "udp/ipv6",          "udp/ipv4",      "udp/options/ipv6",
    "ipv6", "udp/ipv6/ethernet", "ipv6/ethernet", "ethernet"};

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
  explicit Run(Stack stack)
      : stack_(std::move(stack)),
        frames_(kBurst, std::vector<std::byte>(kFrameBytes, std::byte{0x5A})),
        copies_(frames_) {
    for (const auto& frame : frames_) {
      const std::array<Bytes, 1> pieces{frame};
      OutPacket packet(pieces);
      good_ = good_ && stack_.wrap(packet);
      auto& whole = packets_.emplace_back();
      for (const Bytes piece : packet.pieces())
        whole.insert(whole.end(), piece.begin(), piece.end());
    }
  }

  // Bytes of frames in a second: copied, wrapped, unwrapped. False: something was refused.
  bool measure(std::array<double, 3>& rates) {
    rates = bench::seconds_of_bursts(
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
      good_ = good_ && stack_.wrap(packet) && !packet.pieces().empty();
    }
  }
  void unwrap() {
    for (const auto& packet : packets_)
      good_ = good_ && stack_.unwrap(packet).has_value();
  }

  Stack stack_;
  Buffers frames_;
  Buffers copies_;
  Buffers packets_;
  bool good_ = true;
};

}  // namespace

int main() {
  for (const std::string_view name : kStacks) {
    auto stack = Stack::parse(name, ends_of(name));
    std::array<double, 3> rates{};
    if (!stack || !Run(std::move(*stack)).measure(rates)) {
      fmt::print(stderr, "wan_encapsulation: {} refuses what it has made\n", name);
      return 1;
    }
    const auto [copied, wrapped, unwrapped] = rates;
    fmt::print("{}: {:.1f} GB/s put in, {:.1f} GB/s taken out, memcpy {:.1f} GB/s\n", name,
               wrapped / 1e9, unwrapped / 1e9, copied / 1e9);
    fmt::print("result: {} {} B put in / memcpy = {:.2f}\n", name, kFrameBytes, wrapped / copied);
    fmt::print("result: {} {} B taken out / memcpy = {:.2f}\n", name, kFrameBytes,
               unwrapped / copied);
  }
}
