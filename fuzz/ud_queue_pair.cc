// SPDX-License-Identifier: Apache-2.0
// A datagram queue pair under arbitrary datagrams, posts, changes of state and answers of the wire.
// It may drop and refuse; what it may not do is to crash, to lose a completion, to write outside of
// a posted buffer or to stop for good.
#include "hca/ud_queue_pair.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "steps.h"

namespace {

using namespace weft;
using namespace weft::hca;
using fuzz::Input;
using fuzz::require;

constexpr std::size_t kMemory = 8192;
constexpr PdHandle kPd = 1;

class Counting final : public CompletionSink {
 public:
  void complete(const Completion&) override { ++count; }
  std::uint64_t count = 0;
};

class Wire final : public BurstSink {
 public:
  explicit Wire(Input& input) : input_(input) {}
  SendResult send(const Burst& burst) override {
    for (const OutPacket& packet : burst.packets()) {
      for (const Bytes piece : burst.pieces(packet)) {
        for (const std::byte b : piece)
          sum_ += std::to_integer<unsigned>(b);  // every byte must be readable
      }
    }
    if (calm) return {};
    return {.outcome = static_cast<SendOutcome>(input_.byte() % 3),
            .reason = static_cast<CompletionStatus>(input_.byte() % 6)};
  }
  bool calm = false;

 private:
  Input& input_;
  unsigned sum_ = 0;
};

class Fuzzer {
 public:
  Fuzzer(Input& input, const UdConfig& config)
      : input_(input), wire_(input), qp_(config, table_, sends_, receives_) {
    region_ = *table_.add({.base = memory_.data(),
                           .iova = 0x1000,
                           .length = kMemory,
                           .access = kLocalWrite,
                           .pd = kPd});
  }

  void step() {
    switch (input_.byte() % 8) {
      case 0:
        post_send();
        break;
      case 1:
        post_receive();
        break;
      case 2:
        modify();
        break;
      case 3:
        now_ += Duration(input_.word() * 1000);
        break;
      case 4:
        qp_.transmit(now_, scratch_, wire_);
        break;
      case 5:
        interrupted_send();
        break;
      default:
        receive();
        break;
    }
    if (qp_.deadline() && *qp_.deadline() + 1s < now_) qp_.transmit(now_, scratch_, wire_);
  }

  // Whatever happened, an error state brings every request back.
  void finish() {
    wire_.calm = true;
    (void)qp_.modify({.state = QpState::kErr}, kAttrState);
    require(qp_.queued_packets() == 0 && qp_.queued_bytes() == 0);
    require(receives_.count == receives_posted_);
    require(table_.remove(region_.key).has_value());  // hangs if a pin is left
  }

 private:
  Sge piece() {
    return {.address = 0x1000 + input_.word() % (kMemory + 64u),
            .length = input_.word() % 5000u,
            .lkey = LKey{input_.byte() % 16 == 0 ? 0 : region_.key}};
  }
  void post_send() {
    const std::array pieces{piece(), piece()};
    const Path path{.dgid = Gid::from_ipv4(input_.byte() % 4u)};
    const std::uint8_t flags = input_.byte();
    (void)qp_.post_send({.opcode = static_cast<SendOpcode>(flags & 1),
                         .signaled = (flags & 2) != 0,
                         .solicited = (flags & 4) != 0,
                         .pieces = std::span(pieces).first(flags >> 5 & 1 ? 2 : 1),
                         .path = (flags & 8) != 0 ? nullptr : &path,
                         .remote_qpn = (flags & 16) != 0 ? kMulticastQpn : Qpn{7},
                         .remote_qkey = QKey{1}});
  }
  void post_receive() {
    const std::array pieces{piece(), piece()};
    const auto posted =
        qp_.post_receive({.pieces = std::span(pieces).first(1 + input_.byte() % 2)});
    if (posted == std::errc{}) ++receives_posted_;
  }
  void modify() {
    QpAttributes attributes{.state = static_cast<QpState>(input_.byte() % 7),
                            .current_state = qp_.state(),
                            .sqd_notify = true,
                            .port = 1,
                            .qkey = QKey{1},
                            .sq_psn = Psn{input_.word()}};
    const std::uint32_t masks[] = {kAttrState, kAttrState | kAttrSqPsn,
                                   kAttrState | kAttrPKeyIndex | kAttrPort | kAttrQKey,
                                   kAttrState | kAttrSqdNotify};
    const std::uint64_t before = receives_.count;
    if (!qp_.modify(attributes, masks[input_.byte() % 4])) return;
    (void)qp_.take_events();
    if (attributes.state == QpState::kReset) receives_posted_ = before;  // silently forgotten
  }
  void interrupted_send() {
    Burst burst;
    if (!qp_.next_burst(burst, now_)) return;
    for (std::uint8_t n = input_.byte() % 4; n > 0; --n) {
      switch (input_.byte() % 4) {
        case 0:
          post_send();
          break;
        case 1:
          post_receive();
          break;
        case 2:
          modify();
          break;
        default:
          receive();
          break;
      }
    }
    qp_.sent(burst, wire_.send(burst), now_);
  }
  void receive() {
    const std::uint8_t flags = input_.byte();
    const std::array<std::byte, kGrhArea> header{};
    qp_.receive({.transport = input_.some(),
                 .network_header = (flags & 1) != 0 ? &header : nullptr,
                 .source = Gid::from_ipv4(flags >> 4 & 3u),
                 .destination = Gid::from_ipv4(0xEF000001),
                 .source_qpn = Qpn{7},
                 .multicast = (flags & 2) != 0},
                now_);
  }

  Input& input_;
  SeededEntropy entropy_{Random(1)};
  MemoryTable table_{entropy_};
  std::vector<std::byte> memory_ = std::vector<std::byte>(kMemory);
  MemoryRegion region_;
  Counting sends_;
  Counting receives_;
  Wire wire_;
  UdQueuePair qp_;
  Burst scratch_;
  Time now_{1s};
  std::uint64_t receives_posted_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  const std::uint8_t flags = input.byte();
  Fuzzer fuzzer(input, {.qpn = Qpn{5},
                        .pd = kPd,
                        .framing = (flags & 1) != 0 ? UdFraming::kBare : UdFraming::kBth,
                        .max_sends = 100,
                        .max_receives = 40,
                        .max_send_pieces = 2,
                        .max_receive_pieces = 2,
                        .signal_all = (flags & 2) != 0,
                        .credits = (flags & 4) == 0});
  return fuzz::run(fuzzer, input);
}
