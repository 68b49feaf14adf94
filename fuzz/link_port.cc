// SPDX-License-Identifier: Apache-2.0
// A port under whatever may come in from its link: packets and flow-control packets of any content
// in any state, while its element sends, keeps, returns, and the subnet manager commands. Each
// packet is handed on or counted once, no credit is exceeded, none is granted that is not there,
// and all is given back at the end.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/buffer_pool.h"
#include "input.h"
#include "link/carrier.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "steps.h"
#include "wire/crc.h"
#include "wire/endian.h"
#include "wire/packet.h"

namespace {

using namespace weft;
using namespace weft::link;
using fuzz::Input;
using fuzz::require;

constexpr std::uint16_t kModulus = 4096;
constexpr std::array kReceiveDrops{PortCounter::kRxBadVcrc,     PortCounter::kRxMalformed,
                                   PortCounter::kRxBadVl,       PortCounter::kRxOverrun,
                                   PortCounter::kRxVl15Dropped, PortCounter::kRxWrongState};

class Fuzzer final : public Carrier, public PortOwner {
 public:
  explicit Fuzzer(Input& input) : input_(input), options_(draw_options()), port_(options_, *this) {
    port_.connect(this, now_);
    port_.physical_up(now_);
  }
  ~Fuzzer() override = default;

  void step() {
    switch (input_.one_of(11)) {
      case 0:
        return arrive(pool_.copy(input_.some()));
      case 1:
        return arrive(pool_.copy(some_packet(true)));
      case 2:
        return arrive(pool_.copy(some_packet(false)));
      case 3:
        return arrive_flow_control();
      case 4:
        return port_.receive_flow_control(input_.some(), now_);
      case 5:
        return element_sends();
      case 6:
        return command();
      case 7:
        return configure();
      case 8:
        return pass_time();
      case 9:
        return let_go();
      default:
        ready_ = !ready_;
        if (input_.rarely()) port_.physical_down(now_);
        port_.physical_up(now_);
    }
  }

  void finish() {
    while (!kept_.empty())
      release_one();
    ready_ = true;
    port_.run(now_);
    std::uint64_t waiting = 0;
    for (std::uint8_t vl = 0; vl < kVls; ++vl)
      waiting += port_.backlog(Vl{vl});
    require(given_ == sent_ + port_xmit_discards(port_.counters()) + waiting);
    port_.connect(nullptr, now_);
    require(given_ == sent_ + port_xmit_discards(port_.counters()));
    require(pool_.in_use() == 0 && payloads_.in_use() == 0);
    require(!port_.deadline());
  }

 private:
  // What the standard has of a lane, kept apart from the port's own counting.
  struct Lane {
    std::optional<std::uint16_t> limit;
    std::uint16_t sent = 0;
    std::uint16_t received = 0;
    std::uint32_t held = 0;
  };

  PortOptions draw_options() {
    PortOptions options;
    options.data_vls = std::array<std::uint8_t, 5>{1, 2, 4, 8, 15}[input_.one_of(5)];
    options.mtu_code = static_cast<std::uint8_t>(1 + input_.one_of(5));
    options.vl_buffer = 67U + input_.one_of(200);
    options.vl15_buffer = 1U + input_.one_of(4);
    if (input_.one_of(2) == 0) {
      options.credit_updates = CreditUpdates::kPeriodic;
      options.credit_period = kStandardCreditPeriod;
    }
    return options;
  }

  std::vector<std::byte> some_packet(bool right) {
    std::size_t words = 6 + input_.word() % 64;
    if (input_.rarely()) words = input_.word() % 1100;
    std::vector<std::byte> bytes(words * 4 + 2);
    wire::Lrh lrh{.vl = Vl{input_.byte()},
                  .sl = Sl{input_.byte()},
                  .next_header = wire::Lnh::iba_local,
                  .dlid = Lid{input_.word()},
                  .packet_words = static_cast<std::uint16_t>(words),
                  .slid = Lid{input_.word()}};
    if (!right) {
      lrh.link_version = input_.one_of(2);
      lrh.next_header = static_cast<wire::Lnh>(input_.one_of(4));
      lrh.packet_words = static_cast<std::uint16_t>(words + input_.one_of(3) - 1);
    }
    if (bytes.size() >= 10) {
      lrh.write(bytes);
      const Bytes covered = Bytes(bytes).first(bytes.size() - 2);
      wire::store_le16(bytes.data() + covered.size(),
                       wire::crc16_finish(wire::crc16_update(wire::kVcrcPreset, covered)));
    }
    return bytes;
  }

  [[nodiscard]] std::uint64_t drops() const {
    std::uint64_t sum = 0;
    for (const PortCounter counter : kReceiveDrops)
      sum += port_.counters().get(counter);
    return sum;
  }

  void arrive(PacketPtr packet) {
    if (!packet) return;
    const std::uint64_t before = drops() + delivered_;
    port_.receive(std::move(packet), now_);
    require(drops() + delivered_ == before + 1);
  }

  void arrive_flow_control() {
    const wire::FlowControl packet{.op = static_cast<wire::FlowControl::Op>(input_.one_of(2)),
                                   .vl = Vl{input_.byte()},
                                   .fctbs = static_cast<std::uint16_t>(input_.word() % kModulus),
                                   .fccl = static_cast<std::uint16_t>(input_.word() % kModulus)};
    port_.receive(packet, now_);
    if (port_.state() == PortState::kDown || packet.vl.value() >= port_.operational_vls()) return;
    Lane& lane = lanes_[packet.vl.value()];
    lane.limit = packet.fccl;
    lane.received = packet.fctbs;
  }

  void element_sends() {
    PacketPtr packet = pool_.copy(some_packet(true));
    if (!packet || packet->size() % 4 != 2) return;
    ++given_;
    port_.transmit(std::move(packet), Vl{input_.byte()}, now_);
  }

  void command() {
    const PortState before = port_.state();
    const auto state = static_cast<PortState>(1 + input_.one_of(4));
    if (input_.rarely()) {
      constexpr std::array kStates{PortPhysicalState::kPolling, PortPhysicalState::kSleep,
                                   PortPhysicalState::kDisabled};
      return port_.set_physical_state(kStates[input_.one_of(3)], now_);
    }
    const bool done = port_.set_state(state, now_);
    require(!done || state != PortState::kInitialize);
    require(done || port_.state() == before);
  }

  void configure() {
    const std::uint8_t value = input_.byte();
    switch (input_.one_of(7)) {
      case 0:
        return port_.set_operational_vls(value, now_);
      case 1:
        return port_.set_neighbor_mtu(static_cast<std::uint8_t>(1 + value % 5));
      case 2:
        return port_.set_hoq_life(value & 31);
      case 3:
        return port_.set_switch_life(value & 31);
      case 4:
        return port_.set_vl_stall_count(value & 7);
      case 5:
        return port_.arbitration().set_high_limit(value);
      default: {
        const std::array<VlArbitration::Entry, 2> entries{
            {{Vl{value}, input_.byte()}, {Vl{input_.byte()}, input_.byte()}}};
        const auto table =
            input_.one_of(2) == 0 ? VlArbitration::Table::kLow : VlArbitration::Table::kHigh;
        port_.arbitration().set(table, input_.byte(), entries);
      }
    }
  }

  void pass_time() {
    now_ += Duration(std::int64_t{input_.word()} << input_.one_of(16));
    port_.run(now_);
    // Whatever was due is done.
    const auto deadline = port_.deadline();
    require(!deadline || *deadline > now_);
  }

  void let_go() {
    while (!kept_.empty() && input_.byte() < 0xC0)
      release_one();
  }
  void release_one() {
    lanes_[kept_.back().second.value()].held -= kept_.back().first->blocks();
    kept_.pop_back();
  }

  // --- Carrier
  bool ready() const override { return ready_; }
  void send(PacketPtr packet, Time) override {
    ++sent_;
    require(ready_ && packet->vcrc_good() && !packet->hold);
    if (packet->vl() == kVl15) return require(port_.state() >= PortState::kInitialize);
    require(port_.state() == PortState::kActive);
    require(packet->vl().value() < port_.operational_vls());
    Lane& lane = lanes_[packet->vl().value()];
    lane.sent = static_cast<std::uint16_t>((lane.sent + packet->blocks()) % kModulus);
    require(lane.limit.has_value());
    require((*lane.limit + kModulus - lane.sent) % kModulus <= 2048);
  }
  void send(const wire::FlowControl& packet, Time) override {
    const bool begins = packet.op == wire::FlowControl::Op::kInitialize;
    require(port_.state() != PortState::kDown);
    require(begins == (port_.state() == PortState::kInitialize));
    require(packet.vl.value() < port_.operational_vls());
    // Nothing was sent or received in Initialize, but what the other end says it has sent.
    if (begins && !beginning_) {
      beginning_ = true;
      for (Lane& lane : lanes_) {
        lane.limit.reset();
        lane.sent = lane.received = 0;
      }
    }
    const Lane& lane = lanes_[packet.vl.value()];
    require(packet.fctbs == lane.sent);
    const unsigned granted = (packet.fccl + kModulus - lane.received) % kModulus;
    require(granted <= std::min<std::uint32_t>(2048, options_.vl_buffer - lane.held));
  }
  void set_polling(bool, Time) override {}
  Duration time_on_line(std::size_t) const override { return 0ns; }
  Duration round_trip() const override { return 0ns; }
  void deliver(Port&, Time) override {}
  std::optional<Time> deadline() const override { return std::nullopt; }

  // --- PortOwner
  void received(Port&, PacketPtr packet, Time now) override {
    ++delivered_;
    const Vl vl = packet->vl();
    if (vl != kVl15) {
      Lane& lane = lanes_[vl.value()];
      lane.received = static_cast<std::uint16_t>((lane.received + packet->blocks()) % kModulus);
    }
    switch (input_.one_of(4)) {
      case 0:
        lanes_[vl.value()].held += packet->blocks();
        return kept_.emplace_back(std::move(packet), vl), void();
      case 1:
        ++given_;
        return port_.transmit(std::move(packet), Vl{input_.byte()}, now);
      case 2:
        if (input_.rarely()) port_.set_state(PortState::kDown, now);
        return;
      default:
        return;
    }
  }
  void state_changed(Port&, PortState before, Time) override {
    require(before != port_.state());
    if (port_.state() != PortState::kInitialize) beginning_ = false;
  }
  void wake(Port&) override {}

  Input& input_;
  BufferPool payloads_{PacketPool::kPayloadBlock, 200};
  PacketPool pool_{200, payloads_};
  Time now_{1s};
  std::array<Lane, kVls> lanes_{};
  std::vector<std::pair<PacketPtr, Vl>> kept_;
  bool ready_ = true;
  bool beginning_ = false;
  std::uint64_t delivered_ = 0;
  std::uint64_t given_ = 0;
  std::uint64_t sent_ = 0;
  const PortOptions options_;
  Port port_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
