// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/link_control.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kUnitOption = 1;
constexpr std::uint8_t kMagicOption = 5;
constexpr std::size_t kUnitOctets = 2;
constexpr std::size_t kMagicOctets = 4;

void put_unit(std::vector<std::byte>& options, std::uint16_t unit) {
  std::array<std::byte, kUnitOctets> value{};
  wire::store_be16(value.data(), unit);
  put_option(options, {kUnitOption, value});
}

void put_magic(std::vector<std::byte>& options, std::uint32_t magic) {
  std::array<std::byte, kMagicOctets> value{};
  wire::store_be32(value.data(), magic);
  put_option(options, {kMagicOption, value});
}

}  // namespace

LinkControl::LinkControl(std::size_t receive_unit, Entropy& entropy, LinkOwner& owner,
                         ControlLine& line, PppCounters& counters)
    : receive_unit_(static_cast<std::uint16_t>(receive_unit)),
      entropy_(entropy),
      owner_(owner),
      line_(line),
      counters_(counters),
      wished_unit_(receive_unit_) {
  assert(receive_unit >= kPppLeastUnit && receive_unit <= 0xFFFF);
}

void LinkControl::draw_magic() {
  do {
    magic_ = static_cast<std::uint32_t>(entropy_.draw());
  } while (magic_ == 0);
}

void LinkControl::begin() {
  draw_magic();
  wished_unit_ = receive_unit_;
  uses_magic_ = true;
  uses_unit_ = true;
  send_unit_ = kPppDefaultUnit;
}

std::vector<std::byte> LinkControl::request() {
  std::vector<std::byte> options;
  if (uses_unit_ && wished_unit_ != kPppDefaultUnit) put_unit(options, wished_unit_);
  if (uses_magic_) put_magic(options, magic_);
  return options;
}

ControlPolicy::Verdict LinkControl::judge(Bytes options, bool patient) {
  Verdict verdict;
  while (const auto option = take_option(options)) {
    if (option->type == kUnitOption) {
      judge_unit(*option, patient, verdict);
    } else if (option->type == kMagicOption) {
      judge_magic(*option, verdict);
    } else {
      put_option(verdict.rejected, *option);
    }
  }
  return verdict;
}

void LinkControl::judge_unit(const ControlOption& option, bool patient, Verdict& verdict) const {
  if (option.value.size() == kUnitOctets && wire::load_be16(option.value.data()) >= kPppLeastUnit)
    return;
  if (patient) {
    put_unit(verdict.wished, kPppDefaultUnit);
  } else {
    put_option(verdict.rejected, option);
  }
}

// Never rejected: without it, nobody would notice a loop. RFC 1661, 6.4.
void LinkControl::judge_magic(const ControlOption& option, Verdict& verdict) {
  const std::uint32_t theirs =
      option.value.size() == kMagicOctets ? wire::load_be32(option.value.data()) : 0;
  if (theirs != 0 && theirs != magic()) {
    loops_ = 0;
    return;
  }
  if (theirs != 0) {
    counters_.add_in_turn(PppCounter::kLooped);
    loops_ = std::min(loops_ + 1, kSureOfLoop);
  }
  std::uint32_t other = 0;
  do {
    other = static_cast<std::uint32_t>(entropy_.draw());
  } while (other == 0 || other == magic());
  put_magic(verdict.wished, other);
}

void LinkControl::agreed(Bytes options) {
  send_unit_ = kPppDefaultUnit;
  while (const auto option = take_option(options))
    if (option->type == kUnitOption) send_unit_ = wire::load_be16(option->value.data());
}

void LinkControl::wished(Bytes options) {
  while (const auto option = take_option(options)) {
    if (option->type == kUnitOption && option->value.size() == kUnitOctets) {
      // More than there is room for is not for the other end to wish.
      const std::uint16_t unit = wire::load_be16(option->value.data());
      if (unit >= kPppLeastUnit && unit <= receive_unit_) wished_unit_ = unit;
    }
    // Whatever is wished, a number drawn anew: the wish may be one's own, from a loop.
    if (option->type == kMagicOption) draw_magic();
  }
}

void LinkControl::rejected(Bytes options) {
  while (const auto option = take_option(options)) {
    if (option->type == kUnitOption) uses_unit_ = false;
    if (option->type == kMagicOption) uses_magic_ = false;
  }
}

std::optional<ControlEvent> LinkControl::other(const ControlPacket& packet) {
  switch (packet.code) {
    case ControlCode::kProtocolReject: {
      if (packet.data.size() < 2) return ControlEvent::kRejectFine;
      const auto protocol = PppProtocol(wire::load_be16(packet.data.data()));
      const bool fine = protocol != PppProtocol::kLcp && owner_.can_do_without(protocol);
      return fine ? ControlEvent::kRejectFine : ControlEvent::kRejectFatal;
    }
    case ControlCode::kEchoRequest:
    case ControlCode::kEchoReply:
    case ControlCode::kDiscardRequest:
      return ControlEvent::kEcho;
    default:
      return std::nullopt;
  }
}

void LinkControl::answer(const ControlPacket& packet) {
  if (packet.data.size() < kMagicOctets) {
    counters_.add_in_turn(PppCounter::kControlMalformed);
    return;
  }
  const std::uint32_t theirs = wire::load_be32(packet.data.data());
  if (theirs != 0 && theirs == magic()) {
    counters_.add_in_turn(PppCounter::kLooped);
    owner_.looped();
    return;
  }
  if (packet.code == ControlCode::kEchoReply) owner_.echoed(packet.identifier);
  if (packet.code != ControlCode::kEchoRequest) return;
  std::vector<std::byte> data(packet.data.begin(), packet.data.end());
  wire::store_be32(data.data(), magic());
  line_.send(PppProtocol::kLcp,
             {.code = ControlCode::kEchoReply, .identifier = packet.identifier, .data = data});
}

}  // namespace weft::wan
