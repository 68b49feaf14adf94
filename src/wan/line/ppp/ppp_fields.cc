// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/ppp_fields.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "wan/line/ppp/control_packet.h"
#include "wan/line/ppp/frame_check.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

using PppFields = std::vector<FrameField>;

constexpr std::array<std::string_view, 12> kCodeNames{
    "Vendor-Specific",  "Configure-Request", "Configure-Ack", "Configure-Nak",
    "Configure-Reject", "Terminate-Request", "Terminate-Ack", "Code-Reject",
    "Protocol-Reject",  "Echo-Request",      "Echo-Reply",    "Discard-Request"};
constexpr std::array<std::string_view, 10> kLinkOptionNames{"option 0",
                                                            "Maximum-Receive-Unit",
                                                            "Async-Control-Character-Map",
                                                            "Authentication-Protocol",
                                                            "Quality-Protocol",
                                                            "Magic-Number",
                                                            "option 6",
                                                            "Protocol-Field-Compression",
                                                            "Address-and-Control-Field-Compression",
                                                            "FCS-Alternatives"};

std::string code_text(ControlCode code) {
  const auto number = static_cast<std::size_t>(code);
  return number < kCodeNames.size() ? std::string(kCodeNames[number])
                                    : fmt::format("code {}", number);
}

bool has_options(ControlCode code) {
  return code >= ControlCode::kConfigureRequest && code <= ControlCode::kConfigureReject;
}
bool has_magic(ControlCode code) {
  return code >= ControlCode::kEchoRequest && code <= ControlCode::kDiscardRequest;
}

std::string hex_text(Bytes bytes) {
  std::string text = bytes.empty() ? "" : "0x";
  for (const std::byte byte : bytes)
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

std::string option_name(PppProtocol protocol, std::uint8_t type) {
  if (protocol == PppProtocol::kLcp && type < kLinkOptionNames.size())
    return std::string(kLinkOptionNames[type]);
  if (protocol == PppProtocol::kIpv6cp && type == 1) return "Interface-Identifier";
  if (protocol == PppProtocol::kIpcp && type == 3) return "IP-Address";
  return fmt::format("option {}", type);
}

std::string option_value(PppProtocol protocol, const ControlOption& option) {
  const Bytes value = option.value;
  if (protocol == PppProtocol::kLcp && option.type == 1 && value.size() == 2)
    return fmt::format("{}", wire::load_be16(value.data()));
  if (protocol == PppProtocol::kIpcp && option.type == 3 && value.size() == 4) {
    return fmt::format("{}.{}.{}.{}", wire::load_u8(value.data()), wire::load_u8(value.data() + 1),
                       wire::load_u8(value.data() + 2), wire::load_u8(value.data() + 3));
  }
  return hex_text(value);
}

void note_options(PppFields& fields, PppProtocol protocol, Bytes options, std::size_t at) {
  while (const auto option = take_option(options)) {
    const std::size_t size = kOptionHeader + option->value.size();
    fields.push_back(
        {option_name(protocol, option->type), option_value(protocol, *option), at, size});
    at += size;
  }
  if (!options.empty())
    fields.push_back({"error", "an option does not end within the packet", at, options.size()});
}

void note_fcs(PppFields& fields, PppFcs fcs, Bytes frame) {
  const std::size_t size = ppp_fcs_size(fcs);
  const Bytes covered = frame.first(frame.size() - size);
  std::array<std::byte, 4> octets{};
  wire::store_le32(octets.data(), ~ppp_fcs_update(fcs, ppp_fcs_preset(fcs), covered));
  const std::string is = hex_text(frame.subspan(covered.size()));
  const std::string right = hex_text(Bytes(octets).first(size));
  fields.push_back(
      {"FCS", is == right ? is + ", right" : is + ", should be " + right, covered.size(), size});
}

bool is_control(PppProtocol protocol) {
  return protocol == PppProtocol::kLcp || protocol == PppProtocol::kIpcp ||
         protocol == PppProtocol::kIpv6cp || protocol == PppProtocol::kMplscp;
}

void note_information(PppFields& fields, PppProtocol protocol, Bytes information) {
  if (is_control(protocol)) {
    for (FrameField& field : control_fields(protocol, information, kPppHeader))
      fields.push_back(std::move(field));
    return;
  }
  constexpr std::size_t kVendorOctets = 8;
  std::size_t at = kPppHeader;
  if (protocol == PppProtocol::kVendor && information.size() >= kVendorOctets) {
    fields.push_back({"magic number", hex_text(information.first(4)), at, 4});
    fields.push_back({"OUI", hex_text(information.subspan(4, 3)), at + 4, 3});
    information = information.subspan(kVendorOctets);
    at += kVendorOctets;
  }
  if (!information.empty()) {
    fields.push_back(
        {"information", fmt::format("{} octets", information.size()), at, information.size()});
  }
}

}  // namespace

std::vector<FrameField> control_fields(PppProtocol protocol, Bytes information, std::size_t at) {
  PppFields fields;
  const auto packet = ControlPacket::parse(information);
  if (!packet) {
    fields.push_back({"error", "its length does not fit", at, information.size()});
    return fields;
  }
  fields.push_back({"code", code_text(packet->code), at, 1});
  fields.push_back({"identifier", fmt::format("{}", packet->identifier), at + 1, 1});
  fields.push_back({"length", fmt::format("{}", kControlHeader + packet->data.size()), at + 2, 2});
  at += kControlHeader;
  Bytes data = packet->data;
  if (has_options(packet->code)) {
    note_options(fields, protocol, data, at);
    return fields;
  }
  if (has_magic(packet->code) && data.size() >= 4) {
    fields.push_back({"magic number", hex_text(data.first(4)), at, 4});
    data = data.subspan(4);
    at += 4;
  }
  if (!data.empty()) fields.push_back({"data", hex_text(data), at, data.size()});
  return fields;
}

std::vector<FrameField> ppp_fields(PppFcs fcs, Bytes frame) {
  PppFields fields;
  if (frame.size() < kPppHeader + ppp_fcs_size(fcs)) {
    fields.push_back({"error", "the frame is too short", 0, frame.size()});
    return fields;
  }
  const std::uint16_t start = wire::load_be16(frame.data());
  fields.push_back(
      {"address, control",
       fmt::format("0x{:04x}{}", start, start == kPppAddressControl ? "" : ", should be 0xff03"), 0,
       2});
  const auto protocol = PppProtocol(wire::load_be16(frame.data() + 2));
  fields.push_back({"protocol", to_text(protocol), 2, 2});
  note_information(fields, protocol,
                   frame.subspan(kPppHeader, frame.size() - kPppHeader - ppp_fcs_size(fcs)));
  note_fcs(fields, fcs, frame);
  return fields;
}

}  // namespace weft::wan
