// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/capture_files.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "io/clock.h"
#include "wire/link_crc.h"

namespace weft::daemon {

Expected<std::unique_ptr<CaptureFiles>> CaptureFiles::open(std::string path, std::string interface,
                                                           std::string comment) {
  std::unique_ptr<CaptureFiles> files(
      new CaptureFiles(std::move(path), std::move(interface), std::move(comment)));
  if (auto created = files->create(0); !created) return tl::unexpected(created.error());
  files->is_first_ = true;
  return files;
}

std::string CaptureFiles::name_of(const std::string& path, std::size_t number) {
  const std::filesystem::path whole(path);
  const std::string name =
      fmt::format("{}-{}{}", whole.stem().string(), number, whole.extension().string());
  return (whole.parent_path() / name).string();
}

Expected<void> CaptureFiles::create(std::size_t file) {
  const std::array<io::CaptureInterface, 1> interfaces{
      io::CaptureInterface{interface_, "came to " + interface_, io::LinkType::kErf}};
  file_.reset();
  auto created = io::PcapngFile::create(name_of(path_, file), interfaces, comment_);
  if (!created) return tl::unexpected(created.error());
  file_.emplace(std::move(*created));
  return {};
}

bool CaptureFiles::begin(std::size_t file) {
  if (std::exchange(is_first_, false) && file == 0) return true;
  return create(file).has_value();
}

bool CaptureFiles::write(Bytes packet, const service::Arrival& arrival, Time) {
  if (!file_) return false;
  if (!arrival.sealed) {
    sealed_.assign(packet.begin(), packet.end());
    wire::seal_link_packet(sealed_);
    packet = sealed_;
  }
  const Duration timestamp = io::wall_clock();
  const auto erf = io::erf_infiniband_header(timestamp, packet.size());
  const std::array<Bytes, 2> pieces{Bytes(erf), packet};
  return file_->write({.interface_id = 0, .timestamp = timestamp, .data = pieces, .comment = {}})
      .has_value();
}

bool CaptureFiles::flush() {
  return !file_ || file_->flush().has_value();
}

}  // namespace weft::daemon
