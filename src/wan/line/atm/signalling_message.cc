// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/signalling_message.h"

#include <algorithm>

#include "wire/endian.h"

namespace weft::wan::atm {
namespace {

constexpr std::byte kDiscriminator{0x09};
constexpr std::byte kExtension{0x80};  // of the type's second octet: coding of ITU-T, no flags
constexpr std::uint8_t kAal5 = 5;
constexpr std::uint8_t kForwardSize = 0x8C;
constexpr std::uint8_t kBackwardSize = 0x81;
constexpr std::uint8_t kForwardPeak = 0x84;  // CLP 0 and 1 together
constexpr std::uint8_t kBackwardPeak = 0x85;
constexpr std::uint8_t kBestEffort = 0xBE;
constexpr std::uint8_t kNsapNumber = 0x82;  // type unknown, plan of ATM end system addresses

struct MessageRow {
  MessageType type;
  std::string_view name;
  std::array<std::optional<Element>, 5> must_have;
};
constexpr std::array<MessageRow, 10> kMessages{{
    {MessageType::kCallProceeding, "CALL PROCEEDING", {}},
    {MessageType::kSetup,
     "SETUP",
     {Element::kTrafficDescriptor, Element::kBearerCapability, Element::kCalledNumber,
      Element::kQos}},
    {MessageType::kConnect, "CONNECT", {}},
    {MessageType::kConnectAck, "CONNECT ACKNOWLEDGE", {}},
    {MessageType::kRestart, "RESTART", {Element::kRestartIndicator}},
    {MessageType::kRelease, "RELEASE", {Element::kCause}},
    {MessageType::kRestartAck, "RESTART ACKNOWLEDGE", {Element::kRestartIndicator}},
    {MessageType::kReleaseComplete, "RELEASE COMPLETE", {}},
    {MessageType::kStatusEnquiry, "STATUS ENQUIRY", {}},
    {MessageType::kStatus, "STATUS", {Element::kCallState, Element::kCause}},
}};

struct ElementRow {
  Element element;
  std::string_view name;
};
constexpr std::array<ElementRow, 10> kElements{{
    {Element::kCause, "cause"},
    {Element::kCallState, "call state"},
    {Element::kAalParameters, "AAL parameters"},
    {Element::kTrafficDescriptor, "ATM traffic descriptor"},
    {Element::kConnectionIdentifier, "connection identifier"},
    {Element::kQos, "QoS parameter"},
    {Element::kBearerCapability, "broadband bearer capability"},
    {Element::kCallingNumber, "calling party number"},
    {Element::kCalledNumber, "called party number"},
    {Element::kRestartIndicator, "restart indicator"},
}};

const MessageRow* row_of(MessageType type) {
  const auto* const row = std::ranges::find(kMessages, type, &MessageRow::type);
  return row == kMessages.end() ? nullptr : row;
}

class Writer {
 public:
  explicit Writer(const SignallingMessage& message) : out_(kMessageHeader) {
    out_[0] = kDiscriminator;
    out_[1] = std::byte{3};  // octets of the call reference
    wire::store_be24(out_.data() + 2,
                     message.call.value | (message.call.to_originator ? 0x80'0000U : 0U));
    out_[5] = static_cast<std::byte>(message.type);
    out_[6] = kExtension;
  }

  void element(Element element, std::initializer_list<std::uint8_t> content) {
    std::vector<std::byte> bytes;
    for (const std::uint8_t octet : content)
      bytes.push_back(std::byte{octet});
    this->element(element, bytes);
  }
  void element(Element element, Bytes content) {
    const std::size_t at = out_.size();
    out_.resize(at + kElementHeader);
    out_[at] = static_cast<std::byte>(element);
    out_[at + 1] = kExtension;
    wire::store_be16(out_.data() + at + 2, static_cast<std::uint16_t>(content.size()));
    out_.insert(out_.end(), content.begin(), content.end());
  }
  void number(Element element, const Aesa& address) {
    std::vector<std::byte> content{std::byte{kNsapNumber}};
    content.insert(content.end(), address.begin(), address.end());
    this->element(element, content);
  }

  std::vector<std::byte> done() {
    wire::store_be16(out_.data() + 7, static_cast<std::uint16_t>(out_.size() - kMessageHeader));
    return std::move(out_);
  }

 private:
  std::vector<std::byte> out_;
};

constexpr std::uint8_t octet(std::uint32_t value, unsigned shift) {
  return static_cast<std::uint8_t>(value >> shift);
}

// Groups of an identifier and a value of fixed size: the value of `wanted`, if it is there.
std::optional<std::uint32_t> group_of(Bytes groups, std::uint8_t wanted, std::size_t size) {
  while (groups.size() > size) {
    if (wire::load_u8(groups.data()) == wanted) {
      return size == 2 ? wire::load_be16(groups.data() + 1) : wire::load_be24(groups.data() + 1);
    }
    if (wire::load_u8(groups.data()) == kBestEffort) return std::nullopt;
    groups = groups.subspan(1 + size);
  }
  return std::nullopt;
}

std::optional<Aesa> aesa_of(Bytes content, bool extended) {
  // Of a calling number, an octet of presentation and screening may come between.
  if (extended && !content.empty() && (wire::load_u8(content.data()) & 0x80) == 0)
    content = content.subspan(1);
  if (content.size() != 1 + std::tuple_size_v<Aesa>) return std::nullopt;
  Aesa address;
  std::ranges::copy(content.subspan(1), address.begin());
  return address;
}

// False: its content cannot be.
bool read_number(Bytes content, bool extended, std::optional<Aesa>& address) {
  address = aesa_of(content, extended);
  return address.has_value();
}

bool read_channel(Bytes content, SignallingMessage& message) {
  if (content.size() != 5) return false;
  const std::uint16_t vpci = wire::load_be16(content.data() + 1);
  if (vpci > 0xFF) return false;
  message.channel =
      Channel{.vpi = static_cast<std::uint8_t>(vpci), .vci = wire::load_be16(content.data() + 3)};
  return true;
}

bool read_element(Element element, Bytes content, SignallingMessage& message) {
  if (content.empty()) return false;
  const std::uint8_t first = wire::load_u8(content.data());
  switch (element) {
    case Element::kCause:
      if (content.size() < 2) return false;
      message.cause = static_cast<Cause>(wire::load_u8(content.data() + 1) & 0x7F);
      return true;
    case Element::kCallState:
      message.call_state = first & 0x3F;
      return true;
    case Element::kAalParameters: {
      if (first != kAal5) return false;
      const auto size = group_of(content.subspan(1), kForwardSize, 2);
      message.longest_pdu = static_cast<std::uint16_t>(size.value_or(0xFFFF));
      return true;
    }
    case Element::kTrafficDescriptor:
      message.peak_rate = group_of(content, kForwardPeak, 3).value_or(0xFF'FFFF);
      return true;
    case Element::kConnectionIdentifier:
      return read_channel(content, message);
    case Element::kQos:
      return message.has_qos = content.size() >= 2;
    case Element::kBearerCapability:
      return message.has_bearer = true;
    case Element::kCallingNumber:
      return read_number(content, true, message.calling);
    case Element::kCalledNumber:
      return read_number(content, false, message.called);
    case Element::kRestartIndicator:
      message.all_channels = (first & 7) == 2;
      return true;
  }
  return true;
}

bool has(const SignallingMessage& message, Element element) {
  switch (element) {
    case Element::kCause:
      return message.cause.has_value();
    case Element::kCallState:
      return message.call_state.has_value();
    case Element::kTrafficDescriptor:
      return message.peak_rate.has_value();
    case Element::kQos:
      return message.has_qos;
    case Element::kBearerCapability:
      return message.has_bearer;
    case Element::kCalledNumber:
      return message.called.has_value();
    case Element::kRestartIndicator:
      return message.all_channels || message.channel.has_value();
    default:
      return false;
  }
}

}  // namespace

std::string_view name_of(MessageType type) {
  const MessageRow* const row = row_of(type);
  return row == nullptr ? std::string_view() : row->name;
}

std::string_view name_of(Element element) {
  const auto* const row = std::ranges::find(kElements, element, &ElementRow::element);
  return row == kElements.end() ? std::string_view() : row->name;
}

std::vector<std::byte> write_message(const SignallingMessage& message) {
  Writer out(message);
  if (message.longest_pdu) {
    const std::uint16_t size = *message.longest_pdu;
    out.element(Element::kAalParameters,
                {kAal5, kForwardSize, octet(size, 8), octet(size, 0), kBackwardSize, octet(size, 8),
                 octet(size, 0), 0x84, 0});  // SSCS type: none
  }
  if (message.peak_rate) {
    const std::uint32_t rate = *message.peak_rate;
    out.element(Element::kTrafficDescriptor,
                {kForwardPeak, octet(rate, 16), octet(rate, 8), octet(rate, 0), kBackwardPeak,
                 octet(rate, 16), octet(rate, 8), octet(rate, 0), kBestEffort});
  }
  // Class BCOB-X, no indication of timing; not susceptible to clipping, point to point.
  if (message.has_bearer) out.element(Element::kBearerCapability, {0x10, 0x80, 0x80});
  if (message.called) out.number(Element::kCalledNumber, *message.called);
  if (message.calling) out.number(Element::kCallingNumber, *message.calling);
  if (message.has_qos) out.element(Element::kQos, {0, 0});
  if (message.channel) {
    // VPI and VCI are as said, and exclusive: not another one.
    out.element(Element::kConnectionIdentifier,
                {0x88, 0, message.channel->vpi, octet(message.channel->vci, 8),
                 octet(message.channel->vci, 0)});
  }
  if (message.cause) {
    out.element(Element::kCause,
                {0x80, static_cast<std::uint8_t>(0x80U | static_cast<unsigned>(*message.cause))});
  }
  if (message.call_state) out.element(Element::kCallState, {*message.call_state});
  if (message.type == MessageType::kRestart || message.type == MessageType::kRestartAck) {
    const std::uint8_t which = message.all_channels ? 0x82 : 0x80;
    out.element(Element::kRestartIndicator, {which});
  }
  return out.done();
}

tl::expected<SignallingMessage, BadMessage> read_message(Bytes bytes) {
  if (bytes.size() < kMessageHeader || bytes[0] != kDiscriminator || bytes[1] != std::byte{3})
    return tl::unexpected(BadMessage{});
  const std::uint32_t call = wire::load_be24(bytes.data() + 2);
  SignallingMessage message{
      .type = static_cast<MessageType>(bytes[5]),
      .call = {.value = call & 0x7F'FFFF, .to_originator = (call & 0x80'0000) != 0}};
  const auto bad = [&](Cause cause) {
    return tl::unexpected(BadMessage{
        .call = message.call, .type = std::to_integer<std::uint8_t>(bytes[5]), .cause = cause});
  };
  if (row_of(message.type) == nullptr) return bad(Cause::kMessageTypeUnknown);
  const std::size_t length = wire::load_be16(bytes.data() + 7);
  if (length > bytes.size() - kMessageHeader) return bad(Cause::kInvalidElement);
  for (Bytes rest = bytes.subspan(kMessageHeader, length); !rest.empty();) {
    if (rest.size() < kElementHeader) return bad(Cause::kInvalidElement);
    const std::size_t size = wire::load_be16(rest.data() + 2);
    if (size > rest.size() - kElementHeader) return bad(Cause::kInvalidElement);
    const auto element = static_cast<Element>(rest[0]);
    const Bytes content = rest.subspan(kElementHeader, size);
    if (!name_of(element).empty() && !read_element(element, content, message))
      return bad(Cause::kInvalidElement);
    rest = rest.subspan(kElementHeader + size);
  }
  return message;
}

std::optional<Element> missing_element(const SignallingMessage& message) {
  const MessageRow* const row = row_of(message.type);
  if (row == nullptr) return std::nullopt;
  for (const std::optional<Element>& element : row->must_have) {
    if (element && !has(message, *element)) return element;
  }
  return std::nullopt;
}

}  // namespace weft::wan::atm
