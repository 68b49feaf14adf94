// SPDX-License-Identifier: Apache-2.0
// A port that negotiates DDR under whatever its peer may say and its link may do, at any time: each
// MAD is counted once, what is sent can be read, is sent only while the link is up at SDR, and no
// faster than the port may; no deadline that has passed stays, counts stay within their bounds, and
// when all is quiet the negotiation ends.
#include "phy/negotiation/ddr_negotiation.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "input.h"
#include "steps.h"
#include "wire/endian.h"
#include "wire/sm/smp.h"

namespace {

using namespace weft;
using namespace weft::phy;
using fuzz::Input;
using fuzz::require;
using Counter = NegotiationCounter;

class Fuzzer final : public SerdesControl, public NegotiationOutput {
 public:
  explicit Fuzzer(Input& input) : input_(input), port_(draw_options(), *this, *this) {
    port_.start(now_);
  }
  ~Fuzzer() override = default;

  void step() {
    switch (input_.one_of(8)) {
      case 0:
        return hear(input_.some());
      case 1:
        return hear(some_fields());
      case 2:
        return hear(some_mad());
      case 3:
        return link_up();
      case 4:
        return link_down();
      case 5:
        return pass_time(Duration(std::int64_t{input_.word()} << input_.one_of(16)));
      case 6:
        return pass_deadline();
      default:
        if (input_.rarely()) start();
        measured_ = {input_.one_of(4) != 0, input_.one_of(4) / 3U, double(input_.byte())};
    }
    check();
  }

  // A link that comes up whenever it is trained, and a peer that says nothing more.
  void finish() {
    for (int rounds = 0; port_.deadline() || !link_; ++rounds) {
      require(rounds < 1000);
      if (port_.deadline()) pass_deadline();
      link_up();
    }
    require(!port_.negotiating());
    require(port_.result()->speed == speed_);
  }

 private:
  NegotiationOptions draw_options() {
    NegotiationOptions options;
    options.mode = static_cast<SpeedMode>(2 - input_.one_of(12) % 3);
    options.transmit_configurations = 1U + input_.one_of(9);
    options.receive_configurations = 1U + input_.one_of(9);
    options.lanes = input_.one_of(2) == 0 ? 1 : 4;
    options.no_sweep = input_.rarely();
    options.first_id = 1;
    require(options.check().has_value());
    return options;
  }

  wire::MadBuffer some_mad() {
    const std::uint8_t flags = input_.byte();
    Advertisement message{.acknowledge = (flags & 1) != 0,
                          .serdes_configured = (flags & 2) != 0,
                          .no_sweep = (flags & 0x1C) == 4,
                          .ddr = (flags & 0xE0) != 0,
                          .iteration_ms = input_.word(),
                          .iterations = input_.one_of(11)};
    // Of this port's negotiation, of one of the peer's, or of any.
    std::uint64_t id = message.acknowledge ? port_.variables().own_id : 0x100;
    if (input_.rarely()) id = input_.byte();
    wire::MadBuffer mad = make_advertisement_mad({message, id << 32 | input_.byte()});
    if (input_.rarely()) mad[input_.byte()] ^= std::byte{input_.byte()};
    return mad;
  }

  // The same with any bytes as its data.
  wire::MadBuffer some_fields() {
    wire::MadBuffer mad = make_advertisement_mad({{}, 0x100'0000'0001});
    const Bytes data = input_.some();
    const std::size_t size = std::min(data.size(), wire::smp::kDataSize);
    std::copy_n(data.begin(), size, mad.begin() + wire::smp::kDataOffset);
    return mad;
  }

  void hear(Bytes bytes) {
    const std::uint64_t before = counted();
    heard_ = bytes.size() == wire::kMadSize ? wire::load_be64(bytes.data() + 8) : 0;
    const DdrNegotiation::Receipt receipt = port_.receive(bytes, now_);
    require(counted() == before + 1);
    const auto parsed = parse_advertisement_mad(bytes);
    if (const auto* const mad = std::get_if<AdvertisementMad>(&parsed)) {
      Advertisement plain = mad->advertisement;
      plain.reserved_set = false;
      const auto again = parse_advertisement_mad(make_advertisement_mad({plain, heard_}));
      require(std::get<AdvertisementMad>(again).advertisement == plain);
    } else {
      require(receipt != DdrNegotiation::Receipt::kTaken);
    }
    check();
  }

  [[nodiscard]] std::uint64_t counted() const {
    std::uint64_t sum = 0;
    for (auto i = static_cast<unsigned>(Counter::kRxTaken);
         i < static_cast<unsigned>(Counter::kCount); ++i) {
      if (const auto counter = static_cast<Counter>(i); counter != Counter::kRxReserved) {
        sum += port_.counters().get(counter);
      }
    }
    return sum;
  }

  void start() {
    refused_.reset();
    port_.start(now_);
  }
  void link_up() {
    if (link_ || use_ != LineUse::kTrain) return;
    link_ = true;
    port_.link_up(speed_, now_);
    check();
  }
  void link_down() {
    link_ = false;
    port_.link_down(now_);
    check();
  }

  void pass_time(Duration time) {
    now_ += time;
    port_.expire(now_);
    const auto deadline = port_.deadline();
    require(!deadline || *deadline > now_);
    check();
  }
  void pass_deadline() {
    const auto deadline = port_.deadline();
    if (deadline) pass_time(std::max(Duration(0), *deadline - now_));
  }

  void check() const {
    const NegotiationVariables& now = port_.variables();
    const NegotiationOptions& options = port_.options();
    require(now.speed == speed_);
    require((use_ == LineUse::kIdle) == (now.state == NegotiationState::kSweeping));
    require(now.retry_cnt_0 <= options.max_retry);
    require(now.attempts <= options.max_attempts);
    const auto between = [&](NegotiationState first, NegotiationState last) {
      return first <= now.state && now.state <= last;
    };
    using State = NegotiationState;
    require(now.retry_cnt_ack <= options.max_retry ||
            !(between(State::kRequesting, State::kAcknowledging) ||
              between(State::kResultRequesting, State::kResultAcknowledging)));
    require(now.state == NegotiationState::kSweeping || !port_.sweep().running());
    require(port_.sweep().plan().iterations <= kMaxIterations);
    const bool ended = !port_.negotiating();
    require(ended == port_.result().has_value());
    require(!ended || port_.result()->reason != NegotiationReason::kNone);
    require(now.state != NegotiationState::kEndedSdr || speed_ == LinkSpeed::kSdr);
    require(now.state != NegotiationState::kDdr || speed_ == LinkSpeed::kDdr);
  }

  // --- SerdesControl
  void set_line(LinkSpeed speed, LineUse use) override {
    speed_ = speed;
    use_ = use;
    link_ = false;
  }
  void set_transmit(unsigned configuration) override {
    require(configuration < port_.options().transmit_configurations);
  }
  void set_receive(unsigned lane, unsigned configuration) override {
    require(lane < port_.options().lanes);
    require(configuration < port_.options().receive_configurations);
  }
  LaneMeasurement measure(unsigned lane) override {
    require(lane < port_.options().lanes && speed_ == LinkSpeed::kDdr);
    return measured_;
  }

  // --- NegotiationOutput
  void send(wire::MadBytes mad, Time) override {
    require(link_ && speed_ == LinkSpeed::kSdr);
    require(port_.options().mode != SpeedMode::kDdrOnly);
    const auto parsed = parse_advertisement_mad(mad);
    const auto* const said = std::get_if<AdvertisementMad>(&parsed);
    require(said != nullptr && !said->advertisement.reserved_set);
    require(said->advertisement.no_sweep == port_.options().no_sweep);
    if (said->advertisement.acknowledge) {
      require(said->transaction_id == heard_);
      const bool refuses = !said->advertisement.ddr && !said->advertisement.serdes_configured;
      // Copies of one burst, or at least half a time-out after the last one.
      require(!refuses || !refused_ || now_ == *refused_ ||
              now_ - *refused_ >= port_.options().xmit_time_out / 2);
      if (refuses) refused_ = now_;
    } else {
      require(port_.options().mode == SpeedMode::kAuto);
      require(said->transaction_id >> 32 == port_.variables().own_id);
    }
  }
  void record(const TimelineEvent& event) override { require(event.time == now_); }

  Input& input_;
  Time now_{1s};
  std::optional<Time> refused_;
  LinkSpeed speed_ = LinkSpeed::kSdr;
  LineUse use_ = LineUse::kTrain;
  bool link_ = false;
  std::uint64_t heard_ = 0;
  LaneMeasurement measured_{true, 0, 1};
  DdrNegotiation port_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
