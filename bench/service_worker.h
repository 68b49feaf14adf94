// SPDX-License-Identifier: Apache-2.0
// A worker that passes packets of 1,000 flows through services, as fast as it can: RC packets with
// a GRH, to a service LID, whose true LID the runtime finds by their GIDs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "service/runtime.h"
#include "wire/bth.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::bench {

using namespace weft::service;

inline constexpr std::size_t kFlows = 1000;
inline constexpr Lid kServiceLid{0xF};

inline Gid gid(std::uint16_t n) {
  std::array<std::uint8_t, 16> bytes{0xFE, 0x80};
  bytes[14] = static_cast<std::uint8_t>(n >> 8);
  bytes[15] = static_cast<std::uint8_t>(n);
  return Gid{bytes};
}

inline std::vector<std::byte> packet_of(std::size_t flow, std::size_t payload) {
  const std::size_t transport = wire::Bth::kSize + payload + wire::kIcrcSize;
  const std::size_t covered = wire::Lrh::kSize + wire::Grh::kSize + transport;
  std::vector<std::byte> bytes(covered + wire::kVcrcSize);
  wire::Lrh{.next_header = wire::Lnh::iba_global,
            .dlid = kServiceLid,
            .packet_words = static_cast<std::uint16_t>(covered / 4),
            .slid = Lid{static_cast<std::uint16_t>(flow % 100 + 1)}}
      .write(bytes);
  wire::Grh{.payload_length = static_cast<std::uint16_t>(transport),
            .hop_limit = 1,
            .sgid = gid(static_cast<std::uint16_t>(flow % 100 + 1)),
            .dgid = gid(static_cast<std::uint16_t>(flow % 10 + 1000))}
      .write(MutableBytes(bytes).subspan(wire::Lrh::kSize));
  wire::Bth{.opcode = wire::Opcode::rc_send_middle,
            .pkey = PKey{0x0001},
            .dest_qp = Qpn{static_cast<std::uint32_t>(0x1000 + flow)}}
      .write(MutableBytes(bytes).subspan(wire::Lrh::kSize + wire::Grh::kSize));
  wire::seal_link_packet(bytes);
  return bytes;
}

class Nobody final : public RuntimeUser, public PathAsker {
 public:
  void send(Bytes, std::uint8_t, bool) override {}
  void mirror(Bytes, const Arrival&) override {}
  void publish(std::size_t, Bytes) override {}
  void ask(std::uint64_t, const PathQuestion&) override {}
};

class Worker {
 public:
  Worker(std::size_t payload, Chain chain) {
    for (std::size_t n = 0; n < 10; ++n) {
      runtime_.pin_path(gid(static_cast<std::uint16_t>(1000 + n)),
                        {.dlid = Lid{static_cast<std::uint16_t>(0x200 + n)}});
    }
    runtime_.set_chain(kServiceLid, chain);
    Random random(1);
    for (std::size_t flow = 0; flow < kFlows; ++flow)
      packets_.push_back(packet_of(flow, payload));
    originals_ = packets_;
    for (std::size_t i = 0; i < kFlows; ++i)
      std::swap(packets_[i], packets_[random.below(kFlows)]);
    originals_ = packets_;
  }

  // Every flow once. What changed of headers and trailers is put back, as arriving packets have it.
  void turn() {
    for (std::size_t at = 0; at < kFlows; at += Runtime::kBurst) {
      const std::size_t count = std::min(Runtime::kBurst, kFlows - at);
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::byte>& bytes = packets_[at + i];
        const std::vector<std::byte>& original = originals_[at + i];
        std::memcpy(bytes.data(), original.data(), 64);
        std::memcpy(bytes.data() + bytes.size() - 6, original.data() + bytes.size() - 6, 6);
        items_[i].bytes = bytes;
      }
      runtime_.handle({items_.data(), count}, Time{1s});
      for (std::size_t i = 0; i < count; ++i)
        forwarded_ += items_[i].fate == Fate::kForward ? 1 : 0;
      sent_ += count;
    }
  }
  void check() {
    bool good = forwarded_ == sent_;
    for (const auto& packet : packets_)
      good = good && wire::check_link_crcs(packet).good();
    if (good) return;
    fmt::print(stderr, "service: {} of {} packets forwarded, or CRCs wrong\n", forwarded_, sent_);
    std::exit(1);
  }

 private:
  Nobody nobody_;
  SeededEntropy entropy_{Random(7)};
  Runtime runtime_{{}, nobody_, nobody_, entropy_};
  std::vector<std::vector<std::byte>> packets_;
  std::vector<std::vector<std::byte>> originals_;
  std::array<Item, Runtime::kBurst> items_{};
  std::uint64_t sent_ = 0;
  std::uint64_t forwarded_ = 0;
};

}  // namespace weft::bench
