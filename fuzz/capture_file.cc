// SPDX-License-Identifier: Apache-2.0
// Captures, whatever is in them: packets within the file, or one line that says where it is wrong.
#include <algorithm>
#include <cstdint>
#include <span>

#include "input.h"
#include "io/capture_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using fuzz::require;
  const Bytes file = std::as_bytes(std::span(data, size));
  const auto capture = io::read_capture(file);
  if (!capture) {
    require(capture.error().message.starts_with("byte "));
    return 0;
  }
  for (const io::CaptureRecord& record : capture->records) {
    require(record.timestamp >= Duration{});
    if (record.packet.empty()) continue;
    require(record.packet.data() >= file.data());
    require(record.packet.data() + record.packet.size() <= file.data() + file.size());
  }
  return 0;
}
