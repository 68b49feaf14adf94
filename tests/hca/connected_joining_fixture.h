// SPDX-License-Identifier: Apache-2.0
// A connection on which an acknowledgement and a request are due at the same time.
#pragma once

#include "connected_fixture.h"

namespace weft::hca::test {

class ConnectedJoining : public ConnectedQp {
 protected:
  // The peer's message `n`, at the end of a run: an acknowledgement is due.
  void message_arrives(std::uint32_t n = 0) {
    ASSERT_EQ(post_receive(n), std::errc{});
    arrive({.psn = Psn{200 + n}, .payload = "x"});
    qp->end_run(now);
  }
  void message_and_request(std::size_t length = 10) {
    message_arrives();
    ASSERT_EQ(post_send(1, length), std::errc{});
  }
  // The opcodes of the next burst, which meets with `result`.
  std::vector<wire::Opcode> next(SendResult result = {}) {
    RecordingSink sink;
    if (!qp->next_burst(burst, now)) return {};
    EXPECT_FALSE(qp->has_work());
    EXPECT_FALSE(qp->only_acks_due());
    sink.send(burst);
    qp->sent(burst, result, now);
    sent.clear();
    std::vector<wire::Opcode> opcodes;
    for (const auto& datagram : sink.datagrams()) {
      sent.push_back(Sent::parse(datagram));
      opcodes.push_back(sent.back().bth.opcode);
    }
    return opcodes;
  }
  void request_is_acknowledged(std::uint32_t psn = 100) {
    arrive({.opcode = wire::Opcode::rc_acknowledge, .psn = Psn{psn}, .extended = ack()});
  }

  using Opcodes = std::vector<wire::Opcode>;
  static inline const Opcodes kAck{wire::Opcode::rc_acknowledge};
  static inline const Opcodes kSend{wire::Opcode::rc_send_only};
  static inline const Opcodes kSendAndAck{wire::Opcode::rc_send_only, wire::Opcode::rc_acknowledge};
  static constexpr SendResult kWouldBlock{.outcome = SendOutcome::kWouldBlock};
  static constexpr SendResult kNoRoute{.outcome = SendOutcome::kRefused};
  static constexpr SendResult kBadMemory{.outcome = SendOutcome::kRefused,
                                         .reason = CompletionStatus::kLocalProtectionError};
  std::vector<Sent> sent;  // the burst that next() saw
};

}  // namespace weft::hca::test
