// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/pcapng_writer.h"

namespace weft::port {

// The addressing of a captured datagram.
struct CaptureFlow {
  Gid source;
  Gid destination;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint16_t identification = 0;  // what the ICRC covers
};

// Writes what queue pairs sent and received, as Ethernet frames made from what the sockets tell:
// addresses, ports and ICRC are the true ones, MAC addresses are zero, the IPv4 Identification is
// what the ICRC covers. Any thread.
class Capture {
 public:
  // `path` was created with its headers by `weft run`; `interface` names one of its interfaces.
  static Expected<std::unique_ptr<Capture>> open(const std::string& path,
                                                 const std::string& interface);
  ~Capture();

  // One datagram; `payload` is what follows the UDP header, in pieces.
  void record(const CaptureFlow& flow, std::span<const Bytes> payload);
  void flush();

 private:
  Capture(io::PcapngFile file, std::uint32_t interface);

  std::mutex mutex_;
  io::PcapngFile file_;
  std::uint32_t interface_;
};

}  // namespace weft::port
