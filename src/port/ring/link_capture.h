// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "io/pcapng_writer.h"

namespace weft::port {

// Writes the packets that a program hands to its adapter and takes from it, whole. Thread-safe.
class LinkCapture {
 public:
  // Appends to a file that has an interface of that name.
  static Expected<std::unique_ptr<LinkCapture>> open(const std::string& path,
                                                     const std::string& interface);
  ~LinkCapture() { flush(); }

  // LRH through VCRC.
  void record(Bytes packet);
  void flush();

 private:
  LinkCapture(io::PcapngFile file, std::uint32_t interface)
      : file_(std::move(file)), interface_(interface) {}

  std::mutex mutex_;
  io::PcapngFile file_;
  const std::uint32_t interface_;
};

}  // namespace weft::port
