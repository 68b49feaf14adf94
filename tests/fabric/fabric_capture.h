// SPDX-License-Identifier: Apache-2.0
// All that the links of a lab carry, in a capture that tshark reads.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "io/pcapng_writer.h"

namespace weft::fabric {

class FabricCapture {
 public:
  FabricCapture(Fabric& fabric, const std::string& path) : fabric_(fabric) {
    std::vector<io::CaptureInterface> interfaces;
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
      for (const char* end : {"-0", "-1"})
        interfaces.push_back({.name = "link" + std::to_string(i) + end,
                              .description = {},
                              .link_type = io::LinkType::kErf});
    }
    auto created = io::PcapngFile::create(path, interfaces);
    EXPECT_TRUE(created) << created.error().message;
    file_ = std::make_unique<io::PcapngFile>(std::move(*created));
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
      taps_.push_back(std::make_unique<Tap>(*file_, static_cast<std::uint32_t>(2 * i)));
      fabric.link(i).set_tap(taps_.back().get());
    }
  }
  FabricCapture(const FabricCapture&) = delete;
  FabricCapture& operator=(const FabricCapture&) = delete;
  ~FabricCapture() {
    for (std::size_t i = 0; i < fabric_.link_count(); ++i)
      fabric_.link(i).set_tap(nullptr);
    EXPECT_TRUE(file_->flush());
  }

 private:
  class Tap final : public link::LinkTap {
   public:
    Tap(io::PcapngFile& file, std::uint32_t first) : file_(file), first_(first) {}
    void sent(std::size_t from, const link::Packet& packet, Time now) override {
      std::vector<std::byte> bytes(packet.size());
      packet.copy_to(bytes);
      const auto head = io::erf_infiniband_header(now.time_since_epoch(), bytes.size());
      const std::array<Bytes, 2> data{head, bytes};
      const auto written = file_.write({.interface_id = first_ + static_cast<std::uint32_t>(from),
                                        .timestamp = now.time_since_epoch(),
                                        .data = data,
                                        .comment = {}});
      EXPECT_TRUE(written) << written.error().message;
    }
    void sent(std::size_t, const wire::FlowControl&, Time) override {}

   private:
    io::PcapngFile& file_;
    const std::uint32_t first_;
  };

  Fabric& fabric_;
  std::unique_ptr<io::PcapngFile> file_;
  std::vector<std::unique_ptr<Tap>> taps_;
};

}  // namespace weft::fabric
