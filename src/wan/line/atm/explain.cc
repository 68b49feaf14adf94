// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/explain.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "wan/line/atm/aal5.h"
#include "wan/line/atm/cell.h"
#include "wan/line/atm/llc_snap.h"
#include "wan/line/atm/oam.h"
#include "wan/line/atm/signalling_message.h"
#include "wan/line/atm/sscop_pdu.h"
#include "wan/line/msb_crc.h"
#include "wire/endian.h"

namespace weft::wan::atm {
namespace {

class Fields {
 public:
  void add(std::string_view name, std::string value, std::size_t at, std::size_t size) {
    all.push_back({.name = std::string(name), .value = std::move(value), .at = at, .size = size});
  }
  template <class Value>
  void number(std::string_view name, Value value, std::size_t at, std::size_t size) {
    add(name, fmt::format("{}", value), at, size);
  }
  void error(std::string what, std::size_t at, std::size_t size) {
    add("error", std::move(what), at, size);
  }
  std::vector<FrameField> all;
};

std::string hex_of(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

constexpr std::string_view kPayloadTypes[] = {"user data",
                                              "user data, last of a PDU",
                                              "user data, congested",
                                              "user data, last of a PDU, congested",
                                              "OAM F5 segment",
                                              "OAM F5 end to end",
                                              "resource management",
                                              "reserved"};

std::string_view name_of_oam(std::uint8_t type_and_function) {
  switch (static_cast<OamFunction>(type_and_function)) {
    case OamFunction::kAlarm:
      return "AIS";
    case OamFunction::kRemote:
      return "RDI";
    case OamFunction::kContinuity:
      return "continuity check";
    case OamFunction::kLoopback:
      return "loopback";
  }
  return "other";
}

void explain_oam(Bytes payload, Fields& fields) {
  constexpr std::size_t kAt = kHeaderSize;
  const std::uint8_t type = wire::load_u8(payload.data());
  fields.add("OAM function", fmt::format("0x{:02x}, {}", type, name_of_oam(type)), kAt, 1);
  const std::optional<OamCell> cell = read_oam(payload);
  if (cell && cell->loopback) {
    const OamLoopback& loopback = *cell->loopback;
    fields.add("loopback indication", loopback.to_be_looped ? "to be looped" : "looped", kAt + 1,
               1);
    fields.add("correlation tag", fmt::format("0x{:08x}", loopback.tag), kAt + 2, 4);
    fields.add("location", hex_of(loopback.location), kAt + 6, OamLoopback::kIdSize);
    fields.add("source", hex_of(loopback.source), kAt + 22, OamLoopback::kIdSize);
  }
  fields.add("CRC-10",
             fmt::format("0x{:03x}, {}", wire::load_be16(payload.data() + 46) & 0x3FF,
                         cell ? "right" : "wrong"),
             kAt + 46, 2);
}

constexpr std::string_view kSscopTypes[] = {"",      "BGN",   "BGAK", "END", "ENDAK", "RS",
                                            "RSAK",  "BGREJ", "SD",   "ER",  "POLL",  "STAT",
                                            "USTAT", "UD",    "MD",   "ERAK"};

std::string value_of(Element element, const SignallingMessage& message) {
  switch (element) {
    case Element::kCause:
      return message.cause ? fmt::format("{}", static_cast<unsigned>(*message.cause)) : "";
    case Element::kCallState:
      return message.call_state ? fmt::format("{}", *message.call_state) : "";
    case Element::kAalParameters:
      return message.longest_pdu ? fmt::format("AAL 5, up to {} octets", *message.longest_pdu) : "";
    case Element::kTrafficDescriptor:
      return message.peak_rate ? fmt::format("at most {} cells/s", *message.peak_rate) : "";
    case Element::kConnectionIdentifier:
      return message.channel
                 ? fmt::format("VPCI {} VCI {}", message.channel->vpi, message.channel->vci)
                 : "";
    case Element::kCallingNumber:
      return message.calling ? hex_of(*message.calling) : "";
    case Element::kCalledNumber:
      return message.called ? hex_of(*message.called) : "";
    case Element::kRestartIndicator:
      return message.all_channels ? "all" : "the one identified";
    default:
      return "";
  }
}

void explain_message(Bytes bytes, Fields& fields) {
  const auto message = read_message(bytes);
  if (!message && !message.error().call) {
    fields.error("no message of Q.2931", 0, bytes.size());
    return;
  }
  const CallReference call = message ? message->call : *message.error().call;
  fields.number("protocol discriminator", std::to_integer<unsigned>(bytes[0]), 0, 1);
  fields.add("call reference",
             fmt::format("{}{}", call.value, call.to_originator ? ", to who chose it" : ""), 1, 4);
  const auto type = static_cast<MessageType>(bytes[5]);
  const std::string_view name = name_of(type);
  fields.add("message type", name.empty() ? "unknown" : std::string(name), 5, 2);
  fields.number("length", wire::load_be16(bytes.data() + 7), 7, 2);
  if (!message) {
    fields.error(fmt::format("cause {}", static_cast<unsigned>(message.error().cause)),
                 kMessageHeader, bytes.size() - kMessageHeader);
    return;
  }
  bytes = bytes.first(kMessageHeader + wire::load_be16(bytes.data() + 7));
  for (std::size_t at = kMessageHeader; at < bytes.size();) {
    const auto element = static_cast<Element>(bytes[at]);
    const std::size_t size = wire::load_be16(bytes.data() + at + 2);
    const std::string_view element_name = name_of(element);
    std::string value = value_of(element, *message);
    if (value.empty()) value = hex_of(bytes.subspan(at + kElementHeader, size));
    fields.add(element_name.empty() ? "other element" : element_name, std::move(value), at,
               kElementHeader + size);
    at += kElementHeader + size;
  }
  if (const auto missing = missing_element(*message))
    fields.error(fmt::format("{} is missing", name_of(*missing)), bytes.size(), 0);
}

}  // namespace

std::vector<FrameField> explain_cell(Bytes cell) {
  Fields fields;
  if (cell.size() < kCellSize) {
    fields.error(fmt::format("a cell has {} bytes", kCellSize), 0, cell.size());
    return std::move(fields.all);
  }
  const CellHeader header = read_header(cell);
  fields.number("GFC", header.gfc, 0, 1);
  fields.number("VPI", header.channel.vpi, 0, 2);
  fields.number("VCI", header.channel.vci, 1, 3);
  fields.add("payload type",
             fmt::format("{}, {}", header.payload_type, kPayloadTypes[header.payload_type]), 3, 1);
  fields.number("CLP", header.low_priority ? 1 : 0, 3, 1);
  const std::optional<unsigned> wrong = single_wrong_bit(cell);
  fields.add("HEC",
             fmt::format("0x{:02x}, {}", wire::load_u8(cell.data() + 4),
                         checks_right(cell) ? "right"
                         : wrong            ? fmt::format("wrong, as if bit {} were", *wrong)
                                            : "wrong"),
             4, 1);
  const Bytes payload = cell.subspan(kHeaderSize, kPayloadSize);
  if (header.payload_type == kOamSegment || header.payload_type == kOamEndToEnd) {
    explain_oam(payload, fields);
    return std::move(fields.all);
  }
  const EmptyCell empty = empty_kind(cell);
  fields.add("payload",
             empty == EmptyCell::kIdle         ? "of an idle cell"
             : empty == EmptyCell::kUnassigned ? "of an unassigned cell"
                                               : hex_of(payload),
             kHeaderSize, kPayloadSize);
  return std::move(fields.all);
}

std::vector<FrameField> explain_pdu(Bytes pdu) {
  Fields fields;
  if (pdu.empty() || pdu.size() % kPayloadSize != 0) {
    fields.error("a PDU is of whole payloads of cells", 0, pdu.size());
    return std::move(fields.all);
  }
  const std::size_t end = pdu.size() - kTrailerSize;
  const std::size_t length = wire::load_be16(pdu.data() + end + 2);
  const bool fits = length != 0 && cells_for(length) * kPayloadSize == pdu.size();
  const Bytes payload = pdu.first(fits ? length : 0);
  const std::optional<LlcPacket> packet = read_llc_snap(payload);
  std::size_t at = 0;
  if (packet) {
    fields.add("LLC/SNAP", fmt::format("EtherType 0x{:04x}", packet->ether_type), 0, kLlcSnapSize);
    at = kLlcSnapSize;
  }
  if (fits) {
    fields.add("payload", hex_of(payload.subspan(at)), at, length - at);
    fields.number("pad", end - length, length, end - length);
  }
  fields.number("UU", wire::load_u8(pdu.data() + end), end, 1);
  fields.number("CPI", wire::load_u8(pdu.data() + end + 1), end + 1, 1);
  fields.number("length", length, end + 2, 2);
  const bool right = crc32_msb_update(kCrc32MsbPreset, pdu) == kCrc32MsbResidue;
  fields.add(
      "CRC-32",
      fmt::format("0x{:08x}, {}", wire::load_be32(pdu.data() + end + 4), right ? "right" : "wrong"),
      end + 4, 4);
  if (!fits) fields.error(length == 0 ? "aborted" : "the length does not fit", end + 2, 2);
  return std::move(fields.all);
}

std::vector<FrameField> explain_signalling(Bytes sscop) {
  Fields fields;
  const std::optional<SscopPdu> pdu = read_sscop(sscop);
  if (!pdu) {
    fields.error("no PDU of SSCOP", 0, sscop.size());
    return std::move(fields.all);
  }
  if (pdu->type == SscopType::kData) explain_message(pdu->message, fields);
  for (std::size_t i = 0; i < pdu->list.size(); ++i)
    fields.number(i % 2 == 0 ? "missing from" : "there from", pdu->list[i], 4 * i, 4);
  const std::size_t last = sscop.size() - 4;
  const bool polls = pdu->type == SscopType::kPoll || pdu->type == SscopType::kStatus;
  const std::size_t middle = pdu->type == SscopType::kStatus ? last - 8 : last - 4;
  if (polls) fields.number("N(PS)", pdu->poll, middle, 4);
  if (pdu->connection != 0) fields.number("N(SQ)", pdu->connection, last - 1, 1);
  fields.add("SSCOP", std::string(kSscopTypes[static_cast<std::size_t>(pdu->type)]), last, 1);
  if (pdu->most != 0) {
    const bool before = pdu->type == SscopType::kStatus || pdu->type == SscopType::kUnsolicited;
    fields.number("N(MR)", pdu->most, before ? last - 4 : last + 1, before ? 4 : 3);
  }
  const bool answers = pdu->type == SscopType::kStatus || pdu->type == SscopType::kUnsolicited;
  if (answers || polls || pdu->type == SscopType::kData)
    fields.number(answers ? "N(R)" : "N(S)", pdu->number, last + 1, 3);
  return std::move(fields.all);
}

}  // namespace weft::wan::atm
