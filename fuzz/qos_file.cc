// SPDX-License-Identifier: Apache-2.0
// QoS options, whatever stands in them: tables that hold together, or one line that begins with the
// file's name.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "input.h"
#include "sm/qos.h"

namespace {

using namespace weft;
using namespace weft::sm;
using fuzz::require;

void check(const QosProfile& profile) {
  require(profile.max_vls >= 1 && profile.max_vls <= 15);
  for (const auto* table : {&profile.high, &profile.low}) {
    require(table->size() <= 64);
    for (const auto& entry : *table)
      require(entry.vl.value() < 15);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto qos = Qos::parse(text, "file");
  if (!qos) {
    require(qos.error().message.starts_with("file:"));
    require(std::count(qos.error().message.begin(), qos.error().message.end(), '\n') == 0);
    return 0;
  }
  for (const auto* profile :
       {&qos->adapters, &qos->routers, &qos->switch_port0, &qos->switch_ports}) {
    check(*profile);
  }
  return 0;
}
