// SPDX-License-Identifier: Apache-2.0
// Work requests that act on memory of our own: they are carried out in their turn (IBA 10.8.3.3)
// and take no PSN.
#include <cassert>

#include "hca/requester.h"

namespace weft::hca {

void Requester::run_local(std::uint64_t request) {
  Slot& slot = this->slot(request);
  assert(is_local(slot.opcode) && !slot.finished);
  const ConnectedConfig& config = connection_.config;
  if (slot.opcode == SendOpcode::kBindWindow) {
    if (memory_.bind_window(slot.bind, config.pd, config.qpn) != std::errc{}) {
      doom(request, CompletionStatus::kMemoryWindowBindError);
      return;
    }
  } else if (memory_.invalidate(slot.invalidate, config.pd, config.qpn) != std::errc{}) {
    doom(request, CompletionStatus::kLocalProtectionError);
    return;
  }
  slot.finished = true;
  --queued_packets_;
}

// What was done before a burst was taken back is not done again when its turn comes once more.
void Requester::pass_done_local() {
  while (unsent() && is_local(slot(next_request_).opcode) && slot(next_request_).finished)
    slot(next_request_++).end = next_serial_;
}

}  // namespace weft::hca
