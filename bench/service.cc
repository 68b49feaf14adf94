// SPDX-License-Identifier: Apache-2.0
// How many packets a second one worker passes through a service: RC packets of 1,000 flows, with a
// GRH, to a service LID, whose true LID the runtime finds by their GIDs. Beside it in the same run:
// plain forwarding, the same runtime without a service; and what a copy of the packet takes, which
// whoever has them in one piece has paid.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/random.h"
#include "service/runtime.h"
#include "turns.h"
#include "wire/bth.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace {

using namespace weft;
using namespace weft::service;

constexpr std::size_t kFlows = 1000;
constexpr Lid kServiceLid{0xF};

Gid gid(std::uint16_t n) {
  std::array<std::uint8_t, 16> bytes{0xFE, 0x80};
  bytes[14] = static_cast<std::uint8_t>(n >> 8);
  bytes[15] = static_cast<std::uint8_t>(n);
  return Gid{bytes};
}

std::vector<std::byte> packet_of(std::size_t flow, std::size_t payload) {
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

// A service that lets all pass, flow by flow.
class Passing final : public Service {
 public:
  std::string_view name() const override { return "passing"; }
  Verdict handle(Packet&, Time) override { return Verdict::forward().for_flow(1, &tally_); }
  const Tally& tally() const { return tally_; }

 private:
  Tally tally_;
};

// One that looks at each packet.
class Looking final : public Service {
 public:
  std::string_view name() const override { return "looking"; }
  Verdict handle(Packet& packet, Time) override {
    bytes_ += packet.fields().payload_size;
    return Verdict::forward();
  }

 private:
  std::uint64_t bytes_ = 0;
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

void measure(std::size_t payload) {
  Passing passing;
  Passing keyed_passing;
  Looking looking;
  Worker plain(payload, {});
  Worker service(payload, {.services = {&passing}});
  Worker keyed(payload, {.services = {&keyed_passing},
                         .pkeys = {{.from = PKey{0x0001}, .to = PKey{0x8001}}}});
  Worker looked(payload, {.services = {&looking}});
  const auto times = bench::seconds_of_bursts(
      100, [&] { plain.turn(); }, [&] { service.turn(); }, [&] { keyed.turn(); },
      [&] { looked.turn(); });
  for (Worker* const worker : {&plain, &service, &keyed, &looked})
    worker->check();
  const auto ns = [&](std::size_t i) { return times[i] * 1e9 / kFlows; };
  fmt::print(
      "packets of {} bytes of payload, {} flows: plain {:.0f} ns, a service that decides by "
      "flow {:.0f} ns, with another P_Key {:.0f} ns, one that looks at each {:.0f} ns\n",
      payload, kFlows, ns(0), ns(1), ns(2), ns(3));
  fmt::print("result: million packets a second, plain, {} bytes = {:.2f}\n", payload, 1e3 / ns(0));
  fmt::print("result: million packets a second, by flow, {} bytes = {:.2f}\n", payload,
             1e3 / ns(1));
  fmt::print("result: by flow / plain, {} bytes = {:.2f}\n", payload, ns(0) / ns(1));
  fmt::print("result: P_Key / plain, {} bytes = {:.2f}\n", payload, ns(0) / ns(2));
  fmt::print("result: each packet / plain, {} bytes = {:.2f}\n", payload, ns(0) / ns(3));
}

}  // namespace

int main() {
  measure(256);
  measure(4096);
  return 0;
}
