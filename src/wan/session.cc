// SPDX-License-Identifier: Apache-2.0
#include "wan/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "link/channel.h"

namespace weft::wan {
namespace {

std::string_view name(TunnelMode mode) {
  switch (mode) {
    case TunnelMode::kBridge:
      return "bridge";
    case TunnelMode::kRouter:
      return "router";
    case TunnelMode::kRoce:
      return "roce";
    case TunnelMode::kService:
      break;
  }
  return "service";
}

std::string name(const FecCode& code) {
  return code.any() ? fmt::format("fec {}+{}", code.frames, code.repairs) : "no fec";
}

std::uint32_t milliseconds(Duration time) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

// Each session has a number of its own, so that nothing of an earlier one is taken for its.
void Session::greet(Time now) {
  do {
    own_ = entropy_.draw();
  } while (own_ == 0);
  peer_ = 0;
  state_ = State::kGreeting;
  hello_due_ = true;
  next_hello_ = now + options_.hello_period;
}

Session::Event Session::open(Time now) {
  if (state_ != State::kClosed) return Event::kNone;
  why_.clear();
  greet(now);
  return Event::kNone;
}

Session::Event Session::close() {
  const bool was_up = up();
  state_ = State::kClosed;
  hello_due_ = false;
  refusal_to_send_.reset();
  return was_up ? Event::kEnded : Event::kNone;
}

std::optional<Refusal> Session::mismatch(const Hello& hello) const {
  if (hello.mode != options_.mode) return Refusal::kMode;
  if (hello.fec != options_.fec) return Refusal::kFec;
  if (hello.longest_frame < kLeastFrame) return Refusal::kFrameSize;
  const std::uint64_t least = hello.block.blocks(link::kLongestPacket);
  for (std::size_t vl = 0; vl < hello.data_vls; ++vl) {
    if (hello.capacity[vl] < least) return Refusal::kBuffer;
  }
  return std::nullopt;
}

std::string Session::explain(Refusal why, const Hello* hello) const {
  switch (why) {
    case Refusal::kVersion:
      return fmt::format(
          "the other end speaks another version of the format than {}, or "
          "seals its frames",
          FrameHead::kVersion);
    case Refusal::kMode:
      if (hello == nullptr)
        return fmt::format("the other end is not in mode {}", name(options_.mode));
      return fmt::format("the other end is in mode {}, this one in mode {}", name(hello->mode),
                         name(options_.mode));
    case Refusal::kFrameSize:
      if (hello == nullptr) return "the frames that this end takes are too short for the other one";
      return fmt::format("the other end takes frames of {} bytes, at least {} are needed",
                         hello->longest_frame, kLeastFrame);
    case Refusal::kBuffer:
      if (hello == nullptr) return "a FIFO of this end has no room for one packet";
      return "a FIFO of the other end has no room for one packet";
    case Refusal::kItself:
      return "the path leads back to this end";
    case Refusal::kFec:
      if (hello == nullptr) {
        return fmt::format("this end has {}, and the other one something else", name(options_.fec));
      }
      return fmt::format("the other end has {}, this one {}", name(hello->fec), name(options_.fec));
  }
  return {};
}

Session::Event Session::refuse(Refusal why, const Hello& hello) {
  why_ = explain(why, &hello);
  // Said at once only the first time: else two ends would refuse each other without a pause.
  if (state_ == State::kRefused) return Event::kNone;
  refusal_to_send_ = why;
  hello_due_ = why != Refusal::kItself;
  state_ = State::kRefused;
  return Event::kRefused;
}

void Session::agree(const Hello& hello, Time now) {
  peer_ = hello.own;
  state_ = State::kUp;
  why_.clear();
  refusal_to_send_.reset();
  confirmed_ = false;
  heard_at_ = now;
  const auto lanes = std::min(hello.data_vls, options_.data_vls);
  agreement_ = {.recovery = hello.recovery && options_.recovery,
                .fec = options_.fec,
                .block = hello.block,
                .capacity = hello.capacity,
                .longest_frame = static_cast<std::uint32_t>(
                    std::min<std::size_t>(hello.longest_frame, kLongestFrame)),
                .silence = hello.silence_ms * 1ms,
                .receive_room = hello.receive_room,
                .options = hello.options,
                .groups = hello.groups};
  std::fill(agreement_.capacity.begin() + lanes, agreement_.capacity.end(), 0);
}

Session::Event Session::hear(const Hello& hello, std::uint64_t named, Time now,
                             std::optional<Refusal> refusal) {
  if (state_ == State::kClosed) return Event::kNone;
  if (up() && hello.own == peer_) {
    if (named == own_) heard_at_ = now;
    hello_due_ |= hello.wants_answer;
    return Event::kNone;
  }
  if (hello.own == own_) return up() ? Event::kNone : refuse(Refusal::kItself, hello);
  // Who does not name our number may be anybody, or not know it yet: an answer helps the latter.
  if (named != own_) {
    if (!up()) peer_ = hello.own;
    hello_due_ = true;
    stranger_ = hello.own;
    return Event::kNone;
  }
  if (const auto why = mismatch(hello)) {
    if (up()) return Event::kNone;
    peer_ = hello.own;
    return refuse(*why, hello);
  }
  if (refusal) {
    if (up()) return Event::kNone;
    peer_ = hello.own;
    return be_refused(*refusal);
  }
  const Event event = up() ? Event::kRestarted : Event::kUp;
  agree(hello, now);
  hello_due_ = hello.wants_answer;
  return event;
}

Session::Event Session::be_refused(Refusal why) {
  why_ = explain(why, nullptr);
  if (state_ == State::kRefused) return Event::kNone;
  state_ = State::kRefused;
  return Event::kRefused;
}

Session::Event Session::hear_other_version() {
  if (state_ != State::kGreeting) return Event::kNone;
  why_ = explain(Refusal::kVersion, nullptr);
  state_ = State::kRefused;
  return Event::kRefused;
}

Session::Event Session::hear_end(Time now) {
  if (!up()) return Event::kNone;
  greet(now);
  return Event::kEnded;
}

Session::Event Session::expire(Time now) {
  if (state_ == State::kClosed) return Event::kNone;
  if (up() && now >= heard_at_ + options_.silence) {
    greet(now);
    return Event::kSilent;
  }
  // The hello that tells the other end that we know it may be lost as well.
  if (!(up() && confirmed_) && now >= next_hello_) {
    hello_due_ = true;
    next_hello_ = now + options_.hello_period;
  }
  return Event::kNone;
}

std::optional<Time> Session::deadline() const {
  if (state_ == State::kClosed) return std::nullopt;
  if (!up()) return next_hello_;
  const Time silent = heard_at_ + options_.silence;
  return confirmed_ ? silent : std::min(silent, next_hello_);
}

Hello Session::hello(Time now) {
  hello_due_ = false;
  next_hello_ = now + options_.hello_period;
  // A stranger has still to name our number.
  const bool wants_answer = std::exchange(stranger_, std::nullopt).has_value() || !up();
  return {.own = own_,
          .wants_answer = wants_answer,
          .recovery = options_.recovery,
          .groups = true,
          .mode = options_.mode,
          .data_vls = options_.data_vls,
          .fec = options_.fec,
          .block = options_.block,
          .longest_frame = options_.longest_frame,
          .silence_ms = milliseconds(options_.silence),
          .capacity = options_.capacity};
}

}  // namespace weft::wan
