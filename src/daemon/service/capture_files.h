// SPDX-License-Identifier: Apache-2.0
// The files of a capture: pcapng, used in turn. "dir/x.pcapng" makes dir/x-0.pcapng, dir/x-1.pcapng
// and so on.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/pcapng_writer.h"
#include "service/capture/capture.h"

namespace weft::daemon {

class CaptureFiles final : public service::CaptureRing {
 public:
  // `interface`: what the files call the port. Begins the first file, to say at once if that cannot
  // be. Errors: of the file system.
  static Expected<std::unique_ptr<CaptureFiles>> open(std::string path, std::string interface,
                                                      std::string comment);

  [[nodiscard]] static std::string name_of(const std::string& path, std::size_t number);
  [[nodiscard]] const std::string& path() const { return path_; }

  bool begin(std::size_t file) override;
  bool write(Bytes packet, const service::Arrival& arrival, Time at) override;
  bool flush() override;

 private:
  CaptureFiles(std::string path, std::string interface, std::string comment)
      : path_(std::move(path)), interface_(std::move(interface)), comment_(std::move(comment)) {}
  Expected<void> create(std::size_t file);

  const std::string path_;
  const std::string interface_;
  const std::string comment_;
  std::optional<io::PcapngFile> file_;
  bool is_first_ = false;          // it has been begun, and has nothing yet
  std::vector<std::byte> sealed_;  // a packet that came without CRCs, with them
};

}  // namespace weft::daemon
