// SPDX-License-Identifier: Apache-2.0
#include "wan/external/service_message.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"
#include "wire/raw_header.h"
#include "wire/sm/smp.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kServiceMessageVersion = 1;
constexpr std::size_t kServiceMessageHead = wire::Lrh::kSize + wire::RawHeader::kSize;
constexpr std::size_t kServiceMessageBody = kServiceMessageHead + 4;
constexpr std::size_t kLeastBody = 4;  // or the packet is too short for a raw one

constexpr std::size_t kQuestionSize = 48;
constexpr std::size_t kAnswerSize = 16;
constexpr std::size_t kRecordHead = 2;
constexpr std::size_t kCountersHead = 2;
constexpr std::size_t kSubnetSize = 8;
constexpr std::uint16_t kFirstMulticastLid = 0xC000;  // IBA 4.1.3

enum class Type : std::uint8_t { kQuestion = 1, kAnswer, kChanged, kRecord, kCounters, kSubnet };

// --- writing -------------------------------------------------------------------------------------

std::size_t size_of(const ServicePathQuestion&) {
  return kQuestionSize;
}
std::size_t size_of(const ServicePathAnswer&) {
  return kAnswerSize;
}
std::size_t size_of(const ServicePathsChanged&) {
  return 0;
}
std::size_t size_of(const ServiceRecord& record) {
  assert(record.record.size() <= ServiceRecord::kMost);
  return kRecordHead + record.record.size();
}
std::size_t size_of(const ServiceCounters& counters) {
  assert(counters.counters.size() <= ServiceCounters::kMost);
  std::size_t size = kCountersHead;
  for (const auto& counter : counters.counters)
    size += 1 + counter.name.size() + 8;
  return size;
}
std::size_t size_of(const ServiceSubnet&) {
  return kSubnetSize;
}

Type put(const ServicePathQuestion& question, std::byte* at) {
  wire::store_be64(at, question.number);
  wire::store_gid(at + 8, question.sgid);
  wire::store_gid(at + 24, question.dgid);
  wire::store_be16(at + 40, question.pkey.value());
  wire::store_u8(at + 42, question.sl.value());
  wire::store_u8(at + 43, static_cast<std::uint8_t>(question.whose));
  wire::store_be16(at + 44, question.via.value());
  return Type::kQuestion;
}
Type put(const ServicePathAnswer& answer, std::byte* at) {
  wire::store_be64(at, answer.number);
  wire::store_u8(at + 8, answer.found ? 1 : 0);
  wire::store_u8(at + 9, answer.sl.value());
  wire::store_be16(at + 10, answer.dlid.value());
  wire::store_be16(at + 12, answer.slid.value());
  return Type::kAnswer;
}
Type put(const ServicePathsChanged&, std::byte*) {
  return Type::kChanged;
}
Type put(const ServiceRecord& record, std::byte* at) {
  wire::store_be16(at, record.service);
  std::ranges::copy(record.record, at + kRecordHead);
  return Type::kRecord;
}
Type put(const ServiceCounters& counters, std::byte* at) {
  wire::store_u8(at, static_cast<std::uint8_t>(counters.topic));
  wire::store_u8(at + 1, static_cast<std::uint8_t>(counters.counters.size()));
  at += kCountersHead;
  for (const auto& counter : counters.counters) {
    assert(is_counter_name(counter.name));
    wire::store_u8(at, static_cast<std::uint8_t>(counter.name.size()));
    at = std::ranges::copy(std::as_bytes(std::span(counter.name)), at + 1).out;
    wire::store_be64(at, counter.value);
    at += 8;
  }
  return Type::kCounters;
}
Type put(const ServiceSubnet& subnet, std::byte* at) {
  wire::store_be64(at, subnet.prefix);
  return Type::kSubnet;
}

// --- reading -------------------------------------------------------------------------------------

using Read = std::optional<ServiceMessage>;

bool good_sl(std::uint8_t sl) {
  return sl < 16;
}

Read read_question(Bytes body) {
  const std::byte* const at = body.data();
  if (body.size() != kQuestionSize || !good_sl(wire::load_u8(at + 42)) ||
      wire::load_u8(at + 43) > static_cast<std::uint8_t>(PathWhose::kBrought) ||
      wire::load_be16(at + 46) != 0) {
    return std::nullopt;
  }
  const auto whose = static_cast<PathWhose>(wire::load_u8(at + 43));
  if (whose == PathWhose::kOwn && wire::load_gid(at + 8) != Gid{}) return std::nullopt;
  return ServicePathQuestion{.number = wire::load_be64(at),
                             .sgid = wire::load_gid(at + 8),
                             .dgid = wire::load_gid(at + 24),
                             .pkey = PKey{wire::load_be16(at + 40)},
                             .sl = Sl{wire::load_u8(at + 42)},
                             .via = Lid{wire::load_be16(at + 44)},
                             .whose = whose};
}

Read read_answer(Bytes body) {
  const std::byte* const at = body.data();
  if (body.size() != kAnswerSize || wire::load_u8(at + 8) > 1 || !good_sl(wire::load_u8(at + 9)) ||
      wire::load_be16(at + 14) != 0) {
    return std::nullopt;
  }
  const ServicePathAnswer answer{.number = wire::load_be64(at),
                                 .found = wire::load_u8(at + 8) == 1,
                                 .dlid = Lid{wire::load_be16(at + 10)},
                                 .slid = Lid{wire::load_be16(at + 12)},
                                 .sl = Sl{wire::load_u8(at + 9)}};
  const bool unicast = answer.dlid.value() != 0 && answer.dlid.value() < kFirstMulticastLid;
  if (answer.found && (!unicast || answer.slid.value() >= kFirstMulticastLid)) return std::nullopt;
  return answer;
}

Read read_record(Bytes body) {
  if (body.size() < kRecordHead || body.size() > kRecordHead + ServiceRecord::kMost) {
    return std::nullopt;
  }
  return ServiceRecord{.service = wire::load_be16(body.data()),
                       .record = body.subspan(kRecordHead)};
}

Read read_counters(Bytes body) {
  if (body.size() < kCountersHead) return std::nullopt;
  const std::uint8_t topic = wire::load_u8(body.data());
  const std::size_t count = wire::load_u8(body.data() + 1);
  if (topic > static_cast<std::uint8_t>(CounterTopic::kService) || count > ServiceCounters::kMost) {
    return std::nullopt;
  }
  ServiceCounters out{.topic = static_cast<CounterTopic>(topic)};
  out.counters.reserve(count);
  Bytes rest = body.subspan(kCountersHead);
  for (std::size_t i = 0; i < count; ++i) {
    if (rest.empty()) return std::nullopt;
    const std::size_t name = wire::load_u8(rest.data());
    if (rest.size() < 1 + name + 8) return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(rest.data() + 1), name);
    if (!is_counter_name(text)) return std::nullopt;
    out.counters.push_back({.name = text, .value = wire::load_be64(rest.data() + 1 + name)});
    rest = rest.subspan(1 + name + 8);
  }
  return rest.empty() ? Read(std::move(out)) : std::nullopt;
}

Read read_subnet(Bytes body) {
  if (body.size() != kSubnetSize) return std::nullopt;
  return ServiceSubnet{.prefix = wire::load_be64(body.data())};
}

Read read_body(Type type, Bytes body) {
  switch (type) {
    case Type::kQuestion:
      return read_question(body);
    case Type::kAnswer:
      return read_answer(body);
    case Type::kChanged:
      return body.empty() ? Read(ServicePathsChanged{}) : std::nullopt;
    case Type::kRecord:
      return read_record(body);
    case Type::kCounters:
      return read_counters(body);
    case Type::kSubnet:
      return read_subnet(body);
  }
  return std::nullopt;
}

}  // namespace

bool is_counter_name(std::string_view name) {
  return !name.empty() && name.size() <= ServiceCounters::kMostName &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

bool is_service_message(Bytes packet) {
  const auto lrh = wire::Lrh::parse(packet);
  if (!lrh || lrh->next_header != wire::Lnh::raw || lrh->dlid != wire::kPermissiveLid ||
      lrh->slid != wire::kPermissiveLid) {
    return false;
  }
  const auto raw = wire::RawHeader::parse(packet.subspan(wire::Lrh::kSize));
  return raw && raw->ether_type == kServiceEtherType;
}

std::vector<std::byte> write(const ServiceMessage& message) {
  const std::size_t body = std::visit([](const auto& one) { return size_of(one); }, message);
  const std::size_t size = kServiceMessageBody + (std::max(body, kLeastBody) + 3) / 4 * 4;
  std::vector<std::byte> out(size + wire::kVcrcSize);
  wire::Lrh{.next_header = wire::Lnh::raw,
            .dlid = wire::kPermissiveLid,
            .packet_words = static_cast<std::uint16_t>(size / 4),
            .slid = wire::kPermissiveLid}
      .write(out);
  wire::RawHeader{.ether_type = kServiceEtherType}.write(
      MutableBytes(out).subspan(wire::Lrh::kSize));
  const Type type = std::visit(
      [&out](const auto& one) { return put(one, out.data() + kServiceMessageBody); }, message);
  wire::store_u8(out.data() + kServiceMessageHead, kServiceMessageVersion);
  wire::store_u8(out.data() + kServiceMessageHead + 1, static_cast<std::uint8_t>(type));
  wire::store_be16(out.data() + kServiceMessageHead + 2, static_cast<std::uint16_t>(body));
  wire::seal_link_packet(out);
  return out;
}

std::optional<ServiceMessage> parse_service_message(Bytes packet) {
  if (!is_service_message(packet) ||
      packet.size() < kServiceMessageBody + kLeastBody + wire::kVcrcSize ||
      wire::load_u8(packet.data() + kServiceMessageHead) != kServiceMessageVersion) {
    return std::nullopt;
  }
  const std::size_t body = wire::load_be16(packet.data() + kServiceMessageHead + 2);
  const std::size_t size = kServiceMessageBody + (std::max(body, kLeastBody) + 3) / 4 * 4;
  if (packet.size() != size + wire::kVcrcSize) return std::nullopt;
  const Bytes padding =
      packet.subspan(kServiceMessageBody + body, size - kServiceMessageBody - body);
  if (std::ranges::any_of(padding, [](std::byte b) { return b != std::byte{}; })) {
    return std::nullopt;
  }
  return read_body(static_cast<Type>(wire::load_u8(packet.data() + kServiceMessageHead + 1)),
                   packet.subspan(kServiceMessageBody, body));
}

}  // namespace weft::wan
