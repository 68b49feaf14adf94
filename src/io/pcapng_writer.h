// SPDX-License-Identifier: Apache-2.0
// Captures in pcapng (draft-ietf-opsawg-pcapng) that tshark reads. Several processes can write one
// file: one creates it with all interfaces, the others append packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/time.h"
#include "io/unique_fd.h"

namespace weft::io {

// tcpdump.org's numbers. Whole InfiniBand packets travel as ERF records of type 21, because tshark
// before 4.2 refuses the link type made for them (247).
enum class LinkType : std::uint16_t { kEthernet = 1, kIp = 101, kErf = 197 };

struct CaptureInterface {
  std::string name;  // unique in its file; at most kMaxCaptureText bytes, like every text here
  std::string description;
  LinkType link_type = LinkType::kEthernet;
};

inline constexpr std::size_t kMaxCaptureText = 1024;
// More of a packet than this is not kept; its true length is.
inline constexpr std::size_t kCaptureSnapLength = 65'600;

struct CapturedPacket {
  std::uint32_t interface_id = 0;  // index of the interface in the file
  Duration timestamp{};            // since 1970-01-01 UTC
  std::span<const Bytes> data;     // pieces of one packet, in order
  std::string_view comment;        // cut at kMaxCaptureText
};

// Collects blocks and appends whole ones in single writes, which O_APPEND keeps apart from those of
// other processes. Not thread-safe. After a failed write it refuses everything else: the end of the
// file is torn then.
class PcapngFile {
 public:
  // Creates or empties `path` and writes its header.
  static Expected<PcapngFile> create(const std::string& path,
                                     std::span<const CaptureInterface> interfaces,
                                     std::string_view comment = {});
  // Opens a file that create() wrote and learns its interfaces.
  static Expected<PcapngFile> open_append(const std::string& path);

  PcapngFile(PcapngFile&&) = default;
  PcapngFile& operator=(PcapngFile&&) = default;
  ~PcapngFile();  // flushes; call flush() to learn of errors

  [[nodiscard]] std::span<const CaptureInterface> interfaces() const { return interfaces_; }
  [[nodiscard]] std::optional<std::uint32_t> interface_id(std::string_view name) const;

  // Queues one packet; writes when 64 KiB have gathered.
  Expected<void> write(const CapturedPacket& packet);
  Expected<void> flush();

 private:
  PcapngFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
  std::vector<CaptureInterface> interfaces_;
  std::vector<std::byte> buffer_;
  bool torn_ = false;
};

// Goes before an InfiniBand packet (LRH … VCRC, `packet_bytes` long) on a kErf interface.
inline constexpr std::size_t kErfHeaderBytes = 16;
std::array<std::byte, kErfHeaderBytes> erf_infiniband_header(Duration timestamp,
                                                             std::size_t packet_bytes);

}  // namespace weft::io
