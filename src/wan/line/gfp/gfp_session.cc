// SPDX-License-Identifier: Apache-2.0
#include "wan/line/gfp/gfp_session.h"

#include <algorithm>
#include <utility>

namespace weft::wan {
namespace {

// How often it is said that all is well: whoever begins to listen does not understand the payload
// of the first two management frames, which are shorter than what the scrambler goes back.
constexpr unsigned kClears = 4;

}  // namespace

GfpSession::GfpSession(const GfpSessionOptions& options, GfpReceiver& receiver,
                       GfpTransmitter& transmitter)
    : options_(options), receiver_(receiver), transmitter_(transmitter) {
  receiver_.set_management(this);
}

void GfpSession::managed(GfpManagement what) {
  came_ = what;
}

Time GfpSession::next_deadline() const {
  Time next = Time::max();
  if (said_ || clears_left_ != 0) next = say_next_;
  if (out_since_ && in_step_) next = std::min(next, *out_since_ + options_.hold);
  if (told_until_) next = std::min(next, *told_until_);
  return next;
}

void GfpSession::advance(Time now) {
  follow_step(now);
  hear(now);
  up_ = in_step_ && !told_;
  say(now);
}

void GfpSession::follow_step(Time now) {
  if (line_ && receiver_.state() == GfpReceiver::State::kSync) {
    // What was told before is not known to be so still; nor that it is over.
    if (!in_step_) told_until_ = now + options_.clear_after;
    in_step_ = true;
    out_since_.reset();
    return;
  }
  if (!out_since_) out_since_ = now;
  if (!in_step_ || (line_ && now < *out_since_ + options_.hold)) return;
  in_step_ = false;
  told_ = GfpManagement::kReverseDefect;
  told_until_.reset();
}

void GfpSession::hear(Time now) {
  if (came_ == GfpManagement::kDefectClear) {
    // The other end may not have been in step yet when this one said that its own is clear.
    answers_ = told_.has_value();
    told_.reset();
    told_until_.reset();
  } else if (came_) {
    told_ = came_;
    told_until_ = now + options_.clear_after;
  }
  came_.reset();
  if (told_until_ && now >= *told_until_) {
    told_.reset();
    told_until_.reset();
  }
}

std::optional<GfpManagement> GfpSession::own_defect() const {
  if (!client_) return GfpManagement::kLossOfSignal;
  const bool fails = told_ && *told_ != GfpManagement::kReverseDefect;
  if (!in_step_ || fails) return GfpManagement::kReverseDefect;
  return std::nullopt;
}

void GfpSession::say(Time now) {
  const auto defect = own_defect();
  const bool begins = std::exchange(answers_, false) || defect != said_;
  if (begins) clears_left_ = defect ? 0 : kClears;
  said_ = defect;
  if (!defect && clears_left_ == 0) return;
  if (!begins && now < say_next_) return;
  clears_left_ -= defect ? 0 : 1;
  transmitter_.manage(defect.value_or(GfpManagement::kDefectClear));
  say_next_ = now + options_.period;
}

}  // namespace weft::wan
