// SPDX-License-Identifier: Apache-2.0
// Messages between a user and its network (ITU-T Q.2931, clause 4): a protocol discriminator, the
// call reference that both have for a call, a type, and information elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/atm_address.h"
#include "base/bytes.h"
#include "wan/line/atm/cell.h"

namespace weft::wan::atm {

enum class MessageType : std::uint8_t {
  kCallProceeding = 0x02,
  kSetup = 0x05,
  kConnect = 0x07,
  kConnectAck = 0x0F,
  kRestart = 0x46,
  kRelease = 0x4D,
  kRestartAck = 0x4E,
  kReleaseComplete = 0x5A,
  kStatusEnquiry = 0x75,
  kStatus = 0x7D,
};
// "SETUP"; empty: none of these.
[[nodiscard]] std::string_view name_of(MessageType type);

enum class Element : std::uint8_t {
  kCause = 0x08,
  kCallState = 0x14,
  kAalParameters = 0x58,
  kTrafficDescriptor = 0x59,
  kConnectionIdentifier = 0x5A,
  kQos = 0x5C,
  kBearerCapability = 0x5E,
  kCallingNumber = 0x6C,
  kCalledNumber = 0x70,
  kRestartIndicator = 0x79,
};
[[nodiscard]] std::string_view name_of(Element element);

// Values of causes (Q.850, Q.2610) that are used here.
enum class Cause : std::uint8_t {
  kUnassignedNumber = 1,
  kNormalClearing = 16,
  kUserBusy = 17,
  kNoUserResponding = 18,
  kCallRejected = 21,
  kResponseToEnquiry = 30,
  kNoChannel = 45,
  kTemporaryFailure = 41,
  kInvalidCallReference = 81,
  kMandatoryElementMissing = 96,
  kMessageTypeUnknown = 97,
  kInvalidElement = 100,
  kNotInThisState = 101,
  kTimerExpired = 102,
};

using Aesa = AtmAddress;

struct CallReference {
  static constexpr std::uint32_t kGlobal = 0;  // of all calls of an interface: RESTART

  std::uint32_t value = kGlobal;  // 23 bits
  bool to_originator = false;     // the flag: sent to the side that chose the value
  friend bool operator==(const CallReference&, const CallReference&) = default;
};

// What is said, each where the message has the element.
struct SignallingMessage {
  MessageType type{};
  CallReference call{};
  std::optional<std::uint16_t> longest_pdu{};  // AAL parameters: of AAL 5, in both directions
  std::optional<std::uint32_t> peak_rate{};    // traffic descriptor: cells a second, 24 bits
  bool has_bearer = false;                     // bearer capability: class X, point to point
  bool has_qos = false;                        // QoS: class 0 in both directions
  std::optional<Aesa> called{};
  std::optional<Aesa> calling{};
  std::optional<Channel> channel{};  // connection identifier: exclusive VPCI and VCI
  std::optional<Cause> cause{};
  std::optional<std::uint8_t> call_state{};
  bool all_channels = false;  // restart indicator: all of the interface
};

[[nodiscard]] std::vector<std::byte> write_message(const SignallingMessage& message);

// Why bytes are no message. Those that have a call reference can be answered.
struct BadMessage {
  std::optional<CallReference> call;
  std::uint8_t type = 0;
  Cause cause = Cause::kInvalidElement;
};
// Elements that are not of the list above are passed over, as those are that ask for it.
[[nodiscard]] tl::expected<SignallingMessage, BadMessage> read_message(Bytes bytes);

// The first element that a message of this type must have and has not (Q.2931, 3.1).
[[nodiscard]] std::optional<Element> missing_element(const SignallingMessage& message);

// How messages lie in bytes, for whoever explains them.
inline constexpr std::size_t kMessageHeader = 9;
inline constexpr std::size_t kElementHeader = 4;

}  // namespace weft::wan::atm
