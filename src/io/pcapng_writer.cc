// SPDX-License-Identifier: Apache-2.0
#include "io/pcapng_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cmath>

#include "io/pcapng_blocks.h"

namespace weft::io {
namespace {

constexpr std::size_t kFlushBytes = 65'536;
// A header with more interfaces than this holds is no file of ours.
constexpr std::size_t kMaxHeaderBytes = 16U << 20;

// The front of the file, enough of it to hold its header.
Expected<std::vector<std::byte>> read_front(int fd, const std::string& path) {
  std::vector<std::byte> front;
  constexpr std::size_t kChunk = 65'536;
  while (front.size() < kMaxHeaderBytes) {
    const std::size_t had = front.size();
    front.resize(had + kChunk);
    const ssize_t got = pread(fd, front.data() + had, kChunk, static_cast<off_t>(had));
    if (got < 0) return fail_errno(errno, "read " + path);
    front.resize(had + static_cast<std::size_t>(got));
    if (got == 0) break;
  }
  return front;
}

}  // namespace

Expected<PcapngFile> PcapngFile::create(const std::string& path,
                                        std::span<const CaptureInterface> interfaces,
                                        std::string_view comment) {
  const auto refuse = [&](std::string_view what) {
    return fail(std::errc::invalid_argument, fmt::format("capture {}: {}", path, what));
  };
  if (interfaces.empty()) return refuse("needs at least one interface");
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    const std::string& name = interfaces[i].name;
    if (name.empty() || name.size() > kMaxCaptureText) {
      return refuse(fmt::format("interface {}: a name of 1 to {} bytes", i, kMaxCaptureText));
    }
    const auto same = [&](const CaptureInterface& other) { return other.name == name; };
    if (std::any_of(interfaces.begin(), interfaces.begin() + static_cast<std::ptrdiff_t>(i),
                    same)) {
      return refuse(fmt::format("two interfaces named '{}'", name));
    }
  }
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (!fd) return fail_errno(errno, "create capture " + path);
  PcapngFile file(std::move(fd), path);
  file.interfaces_.assign(interfaces.begin(), interfaces.end());
  pcapng::append_section_header(file.buffer_, comment);
  for (const CaptureInterface& interface : interfaces) {
    pcapng::append_interface(file.buffer_, interface);
  }
  if (auto ok = file.flush(); !ok) return tl::unexpected(ok.error());
  return file;
}

Expected<PcapngFile> PcapngFile::open_append(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open capture " + path);
  const auto front = read_front(fd.get(), path);
  if (!front) return tl::unexpected(front.error());
  auto interfaces = pcapng::read_interfaces(*front);
  if (!interfaces) {
    return fail(interfaces.error().code, fmt::format("{}: {}", path, interfaces.error().message));
  }
  PcapngFile file(std::move(fd), path);
  file.interfaces_ = std::move(*interfaces);
  return file;
}

PcapngFile::~PcapngFile() {
  if (fd_) (void)flush();
}

std::optional<std::uint32_t> PcapngFile::interface_id(std::string_view name) const {
  const auto found = std::find_if(interfaces_.begin(), interfaces_.end(),
                                  [&](const auto& interface) { return interface.name == name; });
  if (found == interfaces_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - interfaces_.begin());
}

Expected<void> PcapngFile::write(const CapturedPacket& packet) {
  if (packet.interface_id >= interfaces_.size()) {
    return fail(std::errc::invalid_argument, fmt::format("capture {}: interface {} of {}", path_,
                                                         packet.interface_id, interfaces_.size()));
  }
  pcapng::append_packet(buffer_, packet);
  return buffer_.size() >= kFlushBytes ? flush() : Expected<void>{};
}

Expected<void> PcapngFile::flush() {
  const std::size_t size = buffer_.size();
  if (size == 0) return {};
  ssize_t written = -1;
  int error = EIO;
  if (!torn_) {
    do {
      written = ::write(fd_.get(), buffer_.data(), size);
      error = errno;
    } while (written < 0 && error == EINTR);
  }
  buffer_.clear();  // also when it failed: memory stays bounded
  if (written == static_cast<ssize_t>(size)) return {};
  // Nothing went out: the next write may fare better. A part went out: others' blocks may follow
  // it.
  if (written >= 0) {
    torn_ = true;
    error = ENOSPC;
  }
  return fail_errno(error, fmt::format("write {} bytes to capture {}", size, path_));
}

std::array<std::byte, kErfHeaderBytes> erf_infiniband_header(Duration timestamp,
                                                             std::size_t packet_bytes) {
  constexpr std::uint8_t kTypeInfiniband = 21;
  constexpr std::uint8_t kVaryingLength = 0x04;
  assert(packet_bytes + kErfHeaderBytes <= UINT16_MAX);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(timestamp);
  const auto nanoseconds = static_cast<std::uint64_t>((timestamp - seconds).count());
  // Little-endian fixed point, 32.32 seconds; all that follows is big-endian.
  const std::uint64_t fixed = static_cast<std::uint64_t>(seconds.count()) << 32 |
                              ((nanoseconds << 32) + 500'000'000) / 1'000'000'000;
  std::array<std::byte, kErfHeaderBytes> header{};
  for (std::size_t i = 0; i < 8; ++i)
    header[i] = static_cast<std::byte>(fixed >> (8 * i));
  header[8] = std::byte{kTypeInfiniband};
  header[9] = std::byte{kVaryingLength};
  const std::size_t record = packet_bytes + kErfHeaderBytes;
  header[10] = static_cast<std::byte>(record >> 8);
  header[11] = static_cast<std::byte>(record);
  header[14] = static_cast<std::byte>(packet_bytes >> 8);
  header[15] = static_cast<std::byte>(packet_bytes);
  return header;
}

}  // namespace weft::io
