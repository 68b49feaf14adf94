// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace weft::hca {

// Whether the other end of a connection is still there: what has come from it, what it was asked,
// and what the network says of that. It decides when to ask again, and when to give up. Asking is
// its owner's work, as is the local ACK timeout, which rules while requests are outstanding.
//
// A report of the network can be forged, so it is no proof. It has a peer asked at once, and when
// each of kRefusals questions in a row is reported as refused, and nothing comes from the peer
// meanwhile, that is as good as silence for much longer.
class PeerWatch {
 public:
  static constexpr Duration kMostInterval = 15s;  // between questions to an idle peer
  static constexpr int kQuestions = 8;            // in the time that a peer may be silent
  static constexpr unsigned kLeastQuestions = 4;  // before it is given up: we may have slept
  static constexpr unsigned kRefusals = 3;
  static constexpr Duration kAfterRefusal = 250ms;  // then twice as long
  static constexpr Duration kUnrefused = 1s;        // routers limit their reports to about that
  static constexpr unsigned kMostRefusedQuestions = 16;

  // How long an idle peer may be silent; zero: as long as it likes, it is not asked. A quarter of
  // it will do once the network has said that there is no way to it: a program that is merely
  // stopped has a host that answers.
  void set_patience(Duration patience) {
    patience_ = patience;
    least_interval_ = interval();
  }

  void heard(Time now) {
    heard_at_ = now;
    if (questions_ + refusals_ > 0 || suspected_ || unreachable_) forgive();
  }
  // It was asked: with a request that it must acknowledge.
  void asked(Time now) {
    ++questions_;
    asked_at_ = now;
    open_ = true;
    suspected_ = false;
  }
  // The question that is open was reported as refused.
  void refused(Time now) {
    if (refusals_ > 0 && !open_) return;
    ++refusals_;
    refused_at_ = now;
    open_ = false;
  }
  void unreachable() { unreachable_ = true; }
  // Something else that was sent was refused: worth a question.
  void suspect() { suspected_ = questions_ == 0; }

  // It was heard so lately that due() is later than that, whatever else it depends on.
  [[nodiscard]] bool heard_lately(Time now) const {
    return refusals_ == 0 && !suspected_ && heard_at_ && now - *heard_at_ < least_interval_;
  }
  // When it should be asked next, or given up. `idle`: nothing is outstanding, so that the answer
  // to a question is all that can tell. Nobody is asked who has never been heard.
  [[nodiscard]] std::optional<Time> due(bool idle) const;
  // At that time: whether to give up, rather than ask.
  [[nodiscard]] bool gone(bool idle, Time now) const;
  [[nodiscard]] bool has_asked() const { return questions_ > 0; }

 private:
  [[nodiscard]] Duration interval() const {
    return std::min(patience_ / kQuestions, Duration{kMostInterval});
  }
  void forgive() {
    questions_ = refusals_ = 0;
    open_ = suspected_ = unreachable_ = false;
  }

  Duration patience_{};
  Duration least_interval_{};  // between what was heard and a question
  std::optional<Time> heard_at_;
  Time asked_at_{};
  Time refused_at_{};
  unsigned questions_ = 0;  // since it was heard
  unsigned refusals_ = 0;   // of them, in a row
  bool open_ = false;       // asked, and not refused yet
  bool suspected_ = false;
  bool unreachable_ = false;
};

}  // namespace weft::hca
