// SPDX-License-Identifier: Apache-2.0
#include "wan/external/external_end.h"

#include <algorithm>
#include <array>
#include <utility>

#include "link/channel.h"

namespace weft::wan {
namespace {

using link::PortState;

// The last lane is for messages.
constexpr std::uint8_t kMessages = ExternalEnd::kPort.data_vls - 1;

}  // namespace

bool ExternalEnd::drop(ExternalCounter why) {
  counters_.add_in_turn(why);
  return false;
}

bool ExternalEnd::send(link::PacketPtr packet, Time now) {
  if (!is_up()) return drop(ExternalCounter::kDown);
  // All of a message that makes it one is in the header.
  if (is_service_message(std::as_const(*packet).header())) return drop(ExternalCounter::kReserved);
  const Vl vl{std::min<std::uint8_t>(packet->vl().value(), kMessages - 1)};
  if (port_.backlog(vl) >= options_.most) return drop(ExternalCounter::kTooMuch);
  counters_.add_in_turn(ExternalCounter::kOut);
  port_.transmit(std::move(packet), vl, now);
  return true;
}

bool ExternalEnd::say(const ServiceMessage& message, Time now) {
  const Vl vl{kMessages};
  auto packet = is_up() && port_.backlog(vl) < options_.most ? pool_.copy(write(message)) : nullptr;
  if (packet == nullptr) return drop(ExternalCounter::kNotSaid);
  packet->intact = true;
  counters_.add_in_turn(ExternalCounter::kSaid);
  port_.transmit(std::move(packet), vl, now);
  return true;
}

void ExternalEnd::received(link::Port&, link::PacketPtr packet, Time now) {
  if (is_service_message(std::as_const(*packet).header())) return hear(*packet, now);
  counters_.add_in_turn(ExternalCounter::kIn);
  user_.came(std::move(packet), now);
}

void ExternalEnd::hear(const link::Packet& packet, Time now) {
  std::array<std::byte, link::kLongestPacket> bytes;
  const MutableBytes whole = MutableBytes(bytes).first(packet.size());
  packet.copy_to(whole);
  const auto message = parse_service_message(whole);
  if (!message) return counters_.add_in_turn(ExternalCounter::kBadMessage);
  counters_.add_in_turn(ExternalCounter::kHeard);
  user_.heard(*message, now);
}

void ExternalEnd::state_changed(link::Port&, PortState before, Time) {
  fell_ |= before == PortState::kActive;
  wake();
}

void ExternalEnd::wake(link::Port&) {
  wake();
}

void ExternalEnd::wake() {
  if (!std::exchange(woken_, true)) user_.wake();
}

void ExternalEnd::run(Time now) {
  woken_ = true;
  port_.run(now);
  // What a subnet manager does to a port. Active waits for the other end to be armed.
  if (port_.state() == PortState::kInitialize && port_.set_state(PortState::kArmed, now)) {
    port_.set_state(PortState::kActive, now);
  }
  woken_ = false;
  port_.run(now);
  if (std::exchange(fell_, false) && std::exchange(told_up_, false)) user_.changed(false, now);
  if (is_up() && !std::exchange(told_up_, true)) user_.changed(true, now);
}

}  // namespace weft::wan
