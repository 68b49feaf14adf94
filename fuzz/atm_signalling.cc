// SPDX-License-Identifier: Apache-2.0
// Signalling of ATM between a user and a network, under commands in any order, a line that loses
// what it likes, and PDUs and messages that a stranger makes up. Owners are told of each call once
// that it came and once that it ended, limits hold, and when all is released and time has passed
// nothing is left.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "input.h"
#include "steps.h"
#include "wan/line/atm/explain.h"
#include "wan/line/atm/signalling_end.h"

namespace {

using namespace weft;
using namespace weft::wan::atm;
using fuzz::Input;
using fuzz::require;

constexpr std::size_t kMostCalls = 4;
constexpr std::size_t kMostSteps = 200;

class Party final : public CallOwner {
 public:
  explicit Party(Side side)
      : end({.side = side, .sscop = {.window = 8}, .most_calls = kMostCalls}, *this) {}

  void link_changed(bool, Time) override {}
  void call_came(const CallId& call, const SignallingMessage& setup, Time) override {
    require(!call.placed_here && !missing_element(setup));
    require(live.insert({call, false}).second);
  }
  void call_connected(const CallId& call, const Channel&, Time) override {
    const auto at = live.find(call);
    require(at != live.end() && !at->second);
    at->second = true;
  }
  void call_ended(const CallId& call, Cause, Time) override { require(live.erase(call) == 1); }

  void check() const {
    require(end.calls() <= kMostCalls && live.size() <= end.calls());
    for (const auto& [call, connected] : live) {
      const CallState state = end.state(call);
      require(state != CallState::kNull && state != CallState::kReleaseSent);
      require(!connected || state == CallState::kActive);
    }
  }

  SignallingEnd end;
  std::map<CallId, bool> live;  // whether it is connected
};

class World {
 public:
  explicit World(Input& input) : input_(input) {}

  void step() {
    Party& side = sides_[input_.one_of(2)];
    switch (input_.one_of(10)) {
      case 0:
        side.end.establish(now_);
        break;
      case 1:
        place(side);
        break;
      case 2:
        answer(side);
        break;
      case 3:
        if (!side.live.empty()) {
          const CallId call = chosen(side);
          side.live.erase(call);
          side.end.release(call, Cause::kNormalClearing, now_);
        }
        break;
      case 4:
        if (!side.live.empty()) side.end.enquire(chosen(side), now_);
        break;
      case 5:
        exchange();
        break;
      case 6:
        pass(Duration(std::int64_t{1'000'000} * input_.word()));
        break;
      case 7:
        stranger(side);
        break;
      case 8:
        stranger_message(side);
        break;
      case 9:
        if (input_.rarely()) side.end.restart(now_);
        if (input_.rarely()) side.end.release_link(now_);
        break;
    }
    for (const Party& one : sides_)
      one.check();
  }

  void finish() {
    for (Party& side : sides_)
      side.end.release_link(now_);
    fuzz::run_off(sides_, now_, [](Party& side) { return Timed{side.end}; });
    for (const Party& side : sides_) {
      require(side.end.calls() == 0 && side.live.empty());
      require(!side.end.link_up());
    }
  }

 private:
  // As run_off() has it.
  struct Timed {
    [[nodiscard]] std::optional<Time> deadline() const {
      const Time next = end.next_deadline();
      return next == Time::max() ? std::nullopt : std::optional(next);
    }
    void expire(Time now) {
      end.advance(now);
      while (!end.next_pdu().empty()) {
      }
    }
    SignallingEnd& end;
  };

  CallId chosen(const Party& side) {
    auto at = side.live.begin();
    std::advance(at, input_.byte() % side.live.size());
    return at->first;
  }

  void place(Party& side) {
    SignallingMessage setup{.type = MessageType::kSetup,
                            .call = {},
                            .peak_rate = 1000U,
                            .has_bearer = true,
                            .has_qos = true,
                            .called = Aesa{}};
    if (input_.one_of(2) == 0) setup.channel = Channel{.vpi = 0, .vci = 40};
    const auto call = side.end.place(setup, now_);
    if (call) require(side.live.insert({*call, false}).second);
  }

  void answer(Party& side) {
    if (side.live.empty()) return;
    const CallId call = chosen(side);
    const Channel channel{.vpi = 0, .vci = 50};
    if (input_.one_of(2) == 0) {
      side.end.proceed(call, channel, now_);
    } else {
      side.end.connect(call, channel, now_);
    }
  }

  void exchange() {
    for (int i = 0; i < 4; ++i) {
      for (std::size_t from = 0; from < sides_.size(); ++from) {
        for (Bytes pdu = sides_[from].end.next_pdu(); !pdu.empty();
             pdu = sides_[from].end.next_pdu()) {
          (void)explain_signalling(pdu);
          if (!input_.rarely()) sides_[1 - from].end.receive(pdu, now_);
        }
      }
    }
  }

  void pass(Duration time) {
    now_ += time;
    for (Party& side : sides_)
      side.end.advance(now_);
  }

  void stranger(Party& side) {
    const Bytes pdu = input_.some();
    (void)explain_signalling(pdu);
    (void)explain_cell(pdu);
    (void)explain_pdu(pdu);
    side.end.receive(pdu, now_);
  }

  // As if it had come by SSCOP.
  void stranger_message(Party& side) {
    const Bytes some = input_.some();
    std::vector<std::byte> message(some.begin(), some.end());
    if (message.size() >= kMessageHeader) {
      message[0] = std::byte{9};
      message[1] = std::byte{3};
      const std::size_t size = message.size() - kMessageHeader;
      message[7] = std::byte{0};
      message[8] = static_cast<std::byte>(size);
    }
    if (side.end.link_up()) side.end.message(message, now_);
  }

  Input& input_;
  std::array<Party, 2> sides_{Party(Side::kUser), Party(Side::kNetwork)};
  Time now_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  World world(input);
  for (std::size_t step = 0; step < kMostSteps && !input.empty(); ++step)
    world.step();
  world.finish();
  return 0;
}
