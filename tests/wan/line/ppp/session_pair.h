// SPDX-License-Identifier: Apache-2.0
// Two PPP sessions and a line between them, in virtual time.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "../line_stage.h"
#include "wan/line/ppp/ppp_receiver.h"
#include "wan/line/ppp/ppp_session.h"
#include "wan/line/ppp/ppp_transmitter.h"

namespace weft::wan {

struct PppEnd {
  WaitingPackets out;
  CollectedPackets in;
  SeededEntropy entropy;
  PppSession session;
  PppTransmitter transmitter{PppFcs::k32, session};
  PppReceiver receiver{PppFcs::k32, 0xFFFF, session};

  PppEnd(const PppSessionOptions& options, Random random)
      : entropy(random), session(options, out, in, entropy) {}
  [[nodiscard]] std::uint64_t count(PppCounter what) const { return session.counters().get(what); }
};

// Each end is run every 10 ms, and sends 1,000 octets then. `harm` may change what goes from `a`
// to `b` (true), or back.
struct PppPair {
  PppEnd a;
  PppEnd b;
  Time now{1s};
  std::function<void(Packet&, bool)> harm = [](Packet&, bool) {};
  bool looped = false;  // what each end sends comes back to it

  explicit PppPair(const PppSessionOptions& of_a = {}, const PppSessionOptions& of_b = {},
                   std::uint64_t seed = 1)
      : a(of_a, Random(seed)), b(of_b, Random(seed + 1'000'000)) {}

  void run(Duration time) {
    for (const Time end = now + time; now < end; now += 10ms) {
      a.session.advance(now);
      b.session.advance(now);
      Packet there = drawn(a.transmitter, 1000);
      Packet back = drawn(b.transmitter, 1000);
      harm(there, true);
      harm(back, false);
      (looped ? a : b).receiver.take(there);
      (looped ? b : a).receiver.take(back);
    }
  }
  // At most so long, until it is so.
  bool run_until(const std::function<bool()>& is_so, Duration time) {
    for (const Time end = now + time; now < end && !is_so();)
      run(10ms);
    return is_so();
  }
  [[nodiscard]] bool up() const { return a.session.up() && b.session.up(); }
  bool come_up(Duration time = 1s) {
    return run_until([this] { return up(); }, time);
  }
};

}  // namespace weft::wan
