// SPDX-License-Identifier: Apache-2.0
// What one core puts into packets and takes out of them in a second, with each stack of layers, in
// frames as an Ethernet of 9,000 bytes carries them; beside it, copying the same frames with
// memcpy. A frame is not copied on its way out, nor on its way in: what it takes is headers and
// checksums. Last, packets that are null-encapsulated on a fibre which is a stream, in each line
// code: they are copied into it and out of it, and delimited.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer_pool.h"
#include "base/fibre_address.h"
#include "link/packet_pool.h"
#include "turns.h"
#include "wan/encapsulation/stack.h"
#include "wan/fibre_code.h"
#include "wan_ends.h"
#include "wan_packet.h"

namespace {

using namespace weft;
using namespace weft::bench;
using namespace weft::wan;

constexpr std::size_t kFrameBytes = 8'900;
constexpr std::size_t kFibrePayload = 2048;
constexpr std::size_t kBurst = 64;
constexpr std::size_t kBurstsInTurn = 40;
constexpr std::array<std::string_view, 20> kStacks{"null",
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
                                                   "ethernet",
                                                   "udp/ipv6/mpls/ethernet",
                                                   "udp/ipv4/mpls/ethernet",
                                                   "ipv6/mpls/ethernet",
                                                   "ipv4/mpls/ethernet",
                                                   "options/ipv6/mpls/ethernet",
                                                   "mpls/ethernet"};
constexpr std::size_t kOptionBytes = 28;  // of a credit item, where a layer carries such

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
class FibreRun : FibreSink {
 public:
  explicit FibreRun(FibreCodeKind code)
      : bytes_(make_wan_packet(kFibrePayload)),
        copies_(kBurst * bytes_.size()),
        out_(make_fibre_code(code)),
        in_(make_fibre_code(code)) {
    for (std::size_t i = 0; i < kBurst; ++i)
      packets_.push_back(pool_.copy(bytes_));
    // In which the other end finds the line.
    out_->put_training(stream_, {});
    good_ = in_->read(stream_, *this).has_value();
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
      good_ = good_ && out_->put_packet(stream_, *packet);
  }
  void take() {
    came_ = 0;
    good_ = good_ && in_->read(stream_, *this).has_value() && came_ == kBurst;
  }
  // FibreSink
  bool arrived(const FibreRecord& record) override {
    if (record.item == FibreItem::kPacket && pool_.copy(record.bytes) != nullptr) ++came_;
    return true;
  }

  const std::vector<std::byte> bytes_;
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 2 * kBurst};
  link::PacketPool pool_{2 * kBurst, payloads_};
  std::vector<link::PacketPtr> packets_;
  std::vector<std::byte> copies_;
  const std::unique_ptr<FibreCode> out_;
  const std::unique_ptr<FibreCode> in_;
  std::vector<std::byte> stream_;
  std::size_t came_ = 0;
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
  for (std::size_t code = 0; code < kFibreCodeNames.size(); ++code) {
    if (!FibreRun(static_cast<FibreCodeKind>(code)).measure(rates)) {
      fmt::print(stderr, "wan_encapsulation: a fibre refuses what it has made\n");
      return 1;
    }
    const std::string coded = code == 0 ? "" : fmt::format(", {}", kFibreCodeNames[code]);
    print("null on a fibre stream" + coded, kFibrePayload, rates);
  }
}
