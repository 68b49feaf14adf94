// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/scripted_peer.h"

#include <algorithm>
#include <deque>
#include <variant>

#include "wire/endian.h"
#include "wire/sm/smp.h"

namespace weft::phy::conformance {
namespace {

constexpr std::uint64_t kPeerNumber = 0x5EED'0001;  // of its negotiation

class ScriptedPeer final : public Port {
 public:
  ScriptedPeer(const PeerScript& script, const Rules& rules, SerdesControl& serdes,
               PortOutput& output)
      : script_(script), rules_(rules), serdes_(serdes), output_(output) {}

  void start(Time) override { serdes_.set_line(LinkSpeed::kSdr, LineUse::kTrain); }
  void link_up(LinkSpeed speed, Time now) override;
  void link_down(Time now) override;
  void receive(wire::MadBytes mad, Time now) override;
  void expire(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;
  [[nodiscard]] bool polling() const override { return stage_ != Stage::kOver; }
  [[nodiscard]] PortSpeeds speeds() const override {
    return port_speeds(SpeedMode::kAuto, at_ddr_ ? LinkSpeed::kDdr : LinkSpeed::kSdr);
  }

 private:
  enum class Stage : std::uint8_t { kDown, kExchange, kSweep, kReturn, kToDdr, kOver };
  // An exchange of capabilities, or of results.
  struct Talk {
    std::uint32_t asked = 0;        // requests sent
    std::optional<Time> asks_at{};  // the next one
    std::uint32_t came = 0;         // of the port, each burst once
    std::optional<Advertisement> heard{};
    bool answered = false;  // by the port
    std::optional<Time> leaves_at{};
  };
  struct Answer {
    Time at;
    AdvertisementMad mad;
  };

  [[nodiscard]] Advertisement message() const;
  void begin_talk(bool results, Time now);
  void ask(Time now);
  void say(AdvertisementMad mad, Time now);
  void say_as_is(const std::vector<wire::MadBuffer>& mads, Time now);
  void hear(const AdvertisementMad& mad, Time now);
  void knows(const Advertisement& heard, Time now);
  void leave(Time now);
  void begin_iteration(Time now);
  void be_over() { stage_ = Stage::kOver; }

  const PeerScript script_;
  const Rules rules_;
  SerdesControl& serdes_;
  PortOutput& output_;
  Stage stage_ = Stage::kDown;
  bool results_ = false;  // the exchange is that of results
  Talk talk_;
  std::deque<Answer> answers_;
  std::optional<Time> deaf_until_;  // other copies of what came
  Advertisement port_capabilities_{};
  std::uint32_t iteration_ = 0;
  std::optional<Time> iteration_ends_;
  std::optional<Time> gives_up_at_;  // that the link comes up at DDR
  bool at_ddr_ = false;
};

Advertisement ScriptedPeer::message() const {
  Advertisement out = script_.capabilities;
  if (!results_) return out;
  out.serdes_configured = true;
  out.ddr = script_.chooses.has_value();
  out.iterations = script_.chooses.value_or(0);
  return out;
}

void ScriptedPeer::say(AdvertisementMad mad, Time now) {
  wire::MadBuffer bytes = make_advertisement_mad(mad);
  std::byte* const word = wire::smp::data(wire::MutableMadBytes(bytes)).data();
  wire::store_be32(word, wire::load_be32(word) | script_.reserved);
  for (std::uint32_t copy = 0; copy < rules_.burst_len; ++copy)
    output_.send(bytes, now);
}

void ScriptedPeer::say_as_is(const std::vector<wire::MadBuffer>& mads, Time now) {
  for (const wire::MadBuffer& mad : mads)
    output_.send(mad, now);
}

void ScriptedPeer::ask(Time now) {
  ++talk_.asked;
  const std::uint64_t number = kPeerNumber << 32 | (results_ ? 0x100U : 0U) | talk_.asked;
  say({message(), number}, now);
  talk_.asks_at.reset();
  if (talk_.asked < rules_.max_retry) {
    talk_.asks_at = now + rules_.xmit_time_out;
  } else if (talk_.heard && !talk_.leaves_at) {
    talk_.leaves_at = now + rules_.xmit_time_out;
  }
}

void ScriptedPeer::begin_talk(bool results, Time now) {
  stage_ = Stage::kExchange;
  results_ = results;
  talk_ = {};
  answers_.clear();
  deaf_until_.reset();
  say_as_is(results ? script_.before_result : script_.before_capabilities, now);
  if (results && script_.repeats_capabilities) {
    say({script_.capabilities, kPeerNumber << 32 | 1}, now);
  }
  // Who has only answered so far has nothing to wait for when it comes to results.
  if (script_.asks == PeerScript::Asks::kFirst) ask(now);
}

void ScriptedPeer::link_up(LinkSpeed speed, Time now) {
  at_ddr_ = speed == LinkSpeed::kDdr;
  if (at_ddr_) return be_over();
  if (stage_ == Stage::kDown) begin_talk(false, now);
  if (stage_ == Stage::kReturn) begin_talk(true, now);
}

void ScriptedPeer::link_down(Time now) {
  // The port has gone on, and so does its peer, if it knows enough; else it is out of it.
  if (stage_ != Stage::kExchange) return;
  talk_.heard ? leave(now) : be_over();
}

void ScriptedPeer::receive(wire::MadBytes mad, Time now) {
  const auto parsed = parse_advertisement_mad(mad);
  const auto* const message = std::get_if<AdvertisementMad>(&parsed);
  if (message == nullptr) return;
  const bool of_stage =
      stage_ == Stage::kExchange && message->advertisement.serdes_configured == results_;
  if (of_stage) hear(*message, now);
}

void ScriptedPeer::hear(const AdvertisementMad& mad, Time now) {
  const Advertisement& heard = mad.advertisement;
  const std::size_t which = results_ ? 1 : 0;
  if (heard.acknowledge) {
    if (!script_.hears_answers[which] || mad.transaction_id >> 32 != kPeerNumber) return;
    talk_.answered = true;
    talk_.asks_at.reset();
    return knows(heard, now);
  }
  if (deaf_until_ && now < *deaf_until_) return;
  deaf_until_ = now + rules_.xmit_time_out / 2;
  if (++talk_.came <= script_.misses[which]) return;
  if (script_.answers[which]) {
    Advertisement answer = message();
    answer.acknowledge = true;
    answers_.push_back({now + script_.answers_after, {answer, mad.transaction_id}});
  }
  knows(heard, now);
}

// It leaves once it has been answered, or has asked as often as it may, and then some.
void ScriptedPeer::knows(const Advertisement& heard, Time now) {
  talk_.heard = heard;
  const bool asks = script_.asks != PeerScript::Asks::kNever;
  const bool turn = script_.asks == PeerScript::Asks::kWhenAsked && talk_.asked == 0;
  if (turn && !talk_.asks_at) {
    talk_.asks_at = now + script_.answers_after;
  }
  if (talk_.answered || talk_.asked >= rules_.max_retry || !asks) {
    talk_.leaves_at = now + script_.lingers + script_.answers_after;
  }
}

std::optional<Time> ScriptedPeer::deadline() const {
  std::optional<Time> first;
  const auto sooner = [&first](std::optional<Time> time) {
    if (time && (!first || *time < *first)) first = time;
  };
  if (stage_ == Stage::kExchange) {
    if (!answers_.empty()) sooner(answers_.front().at);
    sooner(talk_.asks_at);
    sooner(talk_.leaves_at);
  }
  if (stage_ == Stage::kSweep) sooner(iteration_ends_);
  if (stage_ == Stage::kToDdr) sooner(gives_up_at_);
  return first;
}

void ScriptedPeer::expire(Time now) {
  if (stage_ == Stage::kSweep) {
    if (iteration_ends_ && *iteration_ends_ <= now) begin_iteration(*iteration_ends_);
    return;
  }
  if (stage_ == Stage::kToDdr && *gives_up_at_ <= now) {
    be_over();
    return serdes_.set_line(LinkSpeed::kSdr, LineUse::kTrain);
  }
  if (stage_ != Stage::kExchange) return;
  if (!answers_.empty() && answers_.front().at <= now) {
    const AdvertisementMad answer = answers_.front().mad;
    answers_.pop_front();
    return say(answer, now);
  }
  if (talk_.asks_at && *talk_.asks_at <= now) return ask(now);
  if (talk_.leaves_at && *talk_.leaves_at <= now) leave(now);
}

void ScriptedPeer::leave(Time now) {
  const Advertisement heard = *talk_.heard;
  talk_.leaves_at.reset();
  talk_.asks_at.reset();
  answers_.clear();
  if (!results_) {
    port_capabilities_ = heard;
    if (!heard.ddr || !script_.capabilities.ddr) return be_over();
    if (heard.no_sweep || script_.capabilities.no_sweep) return begin_talk(true, now);
    stage_ = Stage::kSweep;
    iteration_ = 0;
    iteration_ends_.reset();
    serdes_.set_line(LinkSpeed::kDdr, LineUse::kIdle);
    return begin_iteration(now);
  }
  if (!heard.ddr || !script_.chooses) return be_over();
  stage_ = Stage::kToDdr;
  gives_up_at_ = now + rules_.ddr_time_out;
  serdes_.set_transmit(heard.iterations % script_.configurations);
  serdes_.set_line(LinkSpeed::kDdr, LineUse::kTrain);
}

void ScriptedPeer::begin_iteration(Time now) {
  const Advertisement& own = script_.capabilities;
  if (iteration_ends_) ++iteration_;
  if (iteration_ == std::max(own.iterations, port_capabilities_.iterations)) {
    stage_ = Stage::kReturn;
    serdes_.set_line(LinkSpeed::kSdr, LineUse::kTrain);
    return;
  }
  iteration_ends_ =
      now + std::max(own.iteration_ms, port_capabilities_.iteration_ms) * Duration(1ms);
  serdes_.set_transmit(iteration_ % script_.configurations);
}

}  // namespace

std::unique_ptr<Port> make_scripted_peer(const PeerScript& script, const Rules& rules,
                                         SerdesControl& serdes, PortOutput& output) {
  return std::make_unique<ScriptedPeer>(script, rules, serdes, output);
}

}  // namespace weft::phy::conformance
