// SPDX-License-Identifier: Apache-2.0
#include "mgmt/cm_outbox.h"

#include <algorithm>
#include <cassert>

namespace weft::mgmt {

void CmOutbox::send_mad(const hca::Path& to, PKey pkey, const Mad& mad) {
  counters_.add(CmCounter::kTxMads);
  sink_.send(to, pkey, mad);
}

void CmOutbox::start(CmEntry& entry, CmRepeat& repeat, Time now) {
  assert(entry.patience > Duration{0});
  repeat.retries_left = entry.max_cm_retries;
  repeat.patience = entry.patience;
  repeat.sent = 1;
  repeat.undelivered = 0;
  repeat.interval =
      first_retry_ > Duration{0} ? std::min(first_retry_, entry.patience) : entry.patience;
  table_.set_deadline(entry, now + repeat.interval);
}

bool CmOutbox::again(CmEntry& entry, CmRepeat& repeat, Time now) {
  if (repeat.interval < repeat.patience) {
    repeat.interval = std::min(2 * repeat.interval, repeat.patience);
  } else if (repeat.retries_left > 0) {
    --repeat.retries_left;
  } else {
    return false;
  }
  ++repeat.sent;
  counters_.add(CmCounter::kTxRetries);
  send_mad(entry.route.path, entry.pkey, repeat.mad);
  table_.set_deadline(entry, now + repeat.interval);
  return true;
}

void CmOutbox::wait_longer(CmEntry& entry, CmRepeat& repeat, Duration longer, Time now) {
  repeat.interval = repeat.patience;
  repeat.sent = repeat.undelivered = 0;
  table_.set_deadline(entry, now + longer);
}

void CmOutbox::answer_again(const CmEntry& entry, const CmRepeat& repeat) {
  counters_.add(CmCounter::kRxRepeated);
  if (repeat.valid) send_mad(entry.route.path, entry.pkey, repeat.mad);
}

}  // namespace weft::mgmt
