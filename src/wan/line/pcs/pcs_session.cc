// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/pcs_session.h"

namespace weft::wan {

void PcsSession::advance(Time now) {
  if (blocks_.blocks() != seen_ || !begun_) heard_at_ = now;
  begun_ = true;
  seen_ = blocks_.blocks();
  const bool silent = seen_ == 0 || now >= heard_at_ + options_.silence;
  const LinkFault fault = silent || !blocks_.good() ? LinkFault::kLocal : lanes_.fault();
  sender_.follow(fault);
  const bool good = fault == LinkFault::kNone;
  if (good && !good_) good_since_ = now;
  good_ = good;
  up_ = good && now >= good_since_ + options_.settle;
}

Time PcsSession::next_deadline() const {
  if (!begun_) return Time{};
  if (good_ && !up_) return good_since_ + options_.settle;
  return good_ ? heard_at_ + options_.silence : Time::max();
}

}  // namespace weft::wan
