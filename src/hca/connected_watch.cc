// SPDX-License-Identifier: Apache-2.0
// A connection whose peer may be gone. An idle one asks by sending, under the number of the packet
// acknowledged last, a send without data: a duplicate, which every responder acknowledges and does
// nothing else about (IBA 9.7.5.1.4). It takes no number, no receive request and no right to
// memory. One whose long packets do not arrive asks so too: an answer says that short ones do.
#include <algorithm>
#include <cassert>

#include "hca/connected_queue_pair.h"
#include "wire/packet.h"
#include "wire/xrceth.h"

namespace weft::hca {

// Only who has set a timeout wants to know (IBA 9.7.6.1.3: 0 waits for ever).
std::optional<Time> ConnectedQueuePair::watch_due() const {
  if (!requests() || out_ != Out::kNothing || connection_.ack_timeout == 0) return std::nullopt;
  if (!is_reliable(type()) || type() == QpType::kXrcTarget) return std::nullopt;
  return watch_.due(!requester_.outstanding());
}

void ConnectedQueuePair::look_after_peer() {
  if (watch_.heard_lately(now_)) return;
  const auto due = watch_due();
  if (!due || *due > now_) return;
  const bool idle = !requester_.outstanding();
  if (watch_.gone(idle, now_)) return peer_is_gone();
  watch_.asked(now_);
  if (idle) {
    question_due_ = true;
  } else {
    requester_.ask_again(now_);
  }
}

// What is outstanding fails as it does when its retries are used up. Without that no completion can
// tell, so that an event does (IBA 11.6.3.3: the error cannot be reported by a completion).
void ConnectedQueuePair::peer_is_gone() {
  if (connection_.migrate()) {
    watch_.heard(now_);
    settle();
    return;
  }
  requester_.give_up(now_);
  settle();
  if (state_ == QpState::kErr) return;
  enter(QpState::kErr);
  events_ |= kEventFatal;
}

bool ConnectedQueuePair::fill_question(Burst& burst) {
  if (!question_due_ || !requests()) return false;
  question_due_ = false;
  burst.clear();
  burst.path = connection_.path;
  burst.path.traffic_class = traffic_class();
  burst.destination = connection_.peer;
  const bool xrc = type() == QpType::kXrcInitiator;
  OutPacket& packet = burst.open();
  packet.header_length =
      static_cast<std::uint8_t>(wire::Bth::kSize + (xrc ? wire::Xrceth::kSize : 0));
  wire::Bth{.opcode = xrc ? wire::Opcode::xrc_send_only : wire::Opcode::rc_send_only,
            .migrated = connection_.migration == PathMigration::kMigrated,
            .pkey = connection_.pkey(),
            .dest_qp = connection_.peer,
            .ack_request = true,
            .psn = requester_.settled_psn()}
      .write(packet.header);
  if (xrc) wire::Xrceth{}.write(MutableBytes(packet.header).subspan(wire::Bth::kSize));
  burst.close(packet, wire::kIcrcSize);
  out_ = Out::kQuestion;
  connection_.counters.add_in_turn(requester_.outstanding() ? ConnectedCounter::kTxProbes
                                                            : ConnectedCounter::kTxKeepAlives);
  return true;
}

// What is said of a packet counts only if that packet is on its way: who forges a report has to
// know its number.
bool ConnectedQueuePair::undelivered(const Undelivered& packet, Time now) {
  see(now);
  const auto bth = wire::Bth::parse(packet.transport);
  if (!bth || bth->dest_qp != connection_.peer || packet.destination != connection_.path.dgid ||
      !requests()) {
    return false;
  }
  const auto count = [this](ConnectedCounter counter) {
    connection_.counters.add_in_turn(counter);
  };
  if (wire::info(bth->opcode).is_response) {
    watch_.suspect();
    return true;
  }
  const bool question = !requester_.outstanding() && watch_.has_asked();
  if (question ? bth->psn != requester_.settled_psn() : !requester_.awaits(bth->psn)) {
    count(ConnectedCounter::kRxStrayReports);
    return false;
  }
  if (packet.reason == Undelivered::Reason::kUnreachable) {
    count(ConnectedCounter::kRxUnreachables);
    watch_.unreachable();
  } else {
    count(ConnectedCounter::kRxRefusals);
    watch_.refused(now_);
  }
  return true;
}

}  // namespace weft::hca
