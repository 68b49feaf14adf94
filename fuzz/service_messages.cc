// SPDX-License-Identifier: Apache-2.0
// What the other end of the way to an external server says: any bytes are a message, which is
// within its bounds and is written so that it reads back the same, or none; and what is no message
// by its first headers is never taken for one.
#include <cstdint>

#include "input.h"
#include "wan/external/service_message.h"
#include "wire/link_crc.h"

using namespace weft;
using namespace weft::wan;
using fuzz::require;

namespace {

void check(const ServicePathQuestion& question) {
  require(question.sl.value() < 16);
  require(question.whose <= PathWhose::kBrought);
  require(question.whose != PathWhose::kOwn || question.sgid == Gid{});
}
void check(const ServicePathAnswer& answer) {
  require(answer.sl.value() < 16);
  if (!answer.found) return;
  require(answer.dlid != Lid{} && answer.dlid.value() < 0xC000 && answer.slid.value() < 0xC000);
}
void check(const ServicePathsChanged&) {
}
void check(const ServiceRecord& record) {
  require(record.record.size() <= ServiceRecord::kMost);
}
void check(const ServiceCounters& counters) {
  require(counters.counters.size() <= ServiceCounters::kMost);
  for (const auto& counter : counters.counters)
    require(is_counter_name(counter.name));
}
void check(const ServiceSubnet&) {
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes packet = std::as_bytes(std::span(data, size));
  const auto message = parse_service_message(packet);
  if (!message) return 0;
  require(is_service_message(packet));
  std::visit([](const auto& one) { check(one); }, *message);
  const auto again = write(*message);
  require(is_service_message(again) && wire::check_link_crcs(again).good());
  const auto read = parse_service_message(again);
  require(read && read->index() == message->index() && write(*read) == again);
  // All that is said is in it: but for reserved bits of the headers, and the VCRC.
  require(again.size() == packet.size());
  return 0;
}
