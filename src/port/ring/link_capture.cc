// SPDX-License-Identifier: Apache-2.0
#include "port/ring/link_capture.h"

#include <array>

#include "io/clock.h"

namespace weft::port {

Expected<std::unique_ptr<LinkCapture>> LinkCapture::open(const std::string& path,
                                                         const std::string& interface) {
  auto file = io::PcapngFile::open_append(path);
  if (!file) return tl::unexpected(file.error());
  const auto id = file->interface_id(interface);
  if (!id) {
    return fail(std::errc::no_such_device, path + ": no interface \"" + interface +
                                               "\" in this capture: start `weft run` again");
  }
  return std::unique_ptr<LinkCapture>(new LinkCapture(std::move(*file), *id));
}

void LinkCapture::flush() {
  const std::lock_guard guard(mutex_);
  // A capture that cannot be written must not stop the program that is captured.
  [[maybe_unused]] const auto flushed = file_.flush();
}

void LinkCapture::record(Bytes packet) {
  io::CapturedPacket out;
  out.interface_id = interface_;
  out.timestamp = io::wall_clock();
  const auto head = io::erf_infiniband_header(out.timestamp, packet.size());
  const std::array<Bytes, 2> pieces{head, packet};
  out.data = pieces;
  const std::lock_guard guard(mutex_);
  [[maybe_unused]] const auto written = file_.write(out);
}

}  // namespace weft::port
