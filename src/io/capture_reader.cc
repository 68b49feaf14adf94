// SPDX-License-Identifier: Apache-2.0
#include "io/capture_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weft::io {
namespace {

// tcpdump.org's numbers of link types.
constexpr std::uint16_t kErf = 197;
constexpr std::uint16_t kInfiniband = 247;
constexpr std::size_t kErfHeader = 16;
constexpr std::size_t kErfExtension = 8;
constexpr unsigned kErfTypeInfiniband = 21;

// draft-ietf-opsawg-pcapng, 4.
constexpr std::uint32_t kSectionHeader = 0x0A0D'0D0A;
constexpr std::uint32_t kByteOrder = 0x1A2B'3C4D;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint16_t kName = 2;  // options of an interface
constexpr std::uint16_t kTimeResolution = 9;

class Reader {
 public:
  Reader(Bytes file, std::optional<std::uint16_t> link_type) : file_(file), link_type_(link_type) {}
  Expected<Capture> read();

 private:
  struct Interface {
    std::uint16_t link_type = 0;
    std::uint8_t resolution = 6;  // of its timestamps: a power of 10, or with bit 7 of 2
    std::string name{};
  };

  [[nodiscard]] tl::unexpected<Error> wrong(std::size_t offset, const char* what) const {
    return fail(std::errc::invalid_argument, fmt::format("byte {}: {}", offset, what));
  }
  [[nodiscard]] std::uint32_t number(std::size_t at, unsigned bytes) const {
    std::uint32_t out = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      const auto byte = static_cast<std::uint32_t>(file_[at + (big_ ? i : bytes - 1 - i)]);
      out = out << 8 | byte;
    }
    return out;
  }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const { return number(at, 4); }
  [[nodiscard]] std::uint16_t u16(std::size_t at) const {
    return static_cast<std::uint16_t>(number(at, 2));
  }
  Expected<void> read_pcap(Duration unit);
  Expected<void> read_pcapng();
  Expected<void> read_block(std::uint32_t type, std::size_t at, std::size_t end);
  void read_options(std::size_t at, std::size_t end, Interface& made) const;
  void add(std::uint16_t link_type, Duration time, Bytes data, std::size_t original,
           std::optional<std::uint32_t> interface);

  Bytes file_;
  const std::optional<std::uint16_t> link_type_;  // nothing: those that InfiniBand has
  bool big_ = false;
  std::vector<Interface> interfaces_;  // of this section
  std::uint32_t first_interface_ = 0;  // how many the sections before had
  Capture out_;
};

Duration time_of(std::uint64_t ticks, std::uint8_t resolution) {
  if ((resolution & 0x80) != 0) {
    const auto nanoseconds = static_cast<long double>(ticks) * 1e9L /
                             static_cast<long double>(std::uint64_t{1} << (resolution & 0x3F));
    return Duration(static_cast<std::int64_t>(std::min(nanoseconds, 9e18L)));
  }
  if (resolution > 9) {
    for (std::uint8_t i = 9; i < std::min<std::uint8_t>(resolution, 40); ++i)
      ticks /= 10;
    resolution = 9;
  }
  std::uint64_t factor = 1;
  for (std::uint8_t i = resolution; i < 9; ++i)
    factor *= 10;
  constexpr std::uint64_t kMost = 9'000'000'000'000'000'000;
  return Duration(static_cast<std::int64_t>(ticks > kMost / factor ? kMost : ticks * factor));
}

void Reader::add(std::uint16_t link_type, Duration time, Bytes data, std::size_t original,
                 std::optional<std::uint32_t> interface) {
  const std::size_t cut = original > data.size() ? original - data.size() : 0;
  if (link_type_) {
    if (link_type != *link_type_) {
      ++out_.others;
      return;
    }
    out_.records.push_back({time, data, cut == 0, interface.value_or(0)});
    return;
  }
  if (link_type == kErf && data.size() >= kErfHeader) {
    const auto type = static_cast<unsigned>(data[8]);
    std::size_t at = kErfHeader;
    // Headers that extend it follow while the highest bit says so.
    for (unsigned more = type; (more & 0x80) != 0 && at + kErfExtension <= data.size();) {
      more = static_cast<unsigned>(data[at]);
      at += kErfExtension;
    }
    if ((type & 0x7F) == kErfTypeInfiniband) {
      const std::size_t length =
          static_cast<std::size_t>(data[14]) << 8 | static_cast<std::size_t>(data[15]);
      const std::size_t kept = std::min(length, data.size() - at);
      const auto own = static_cast<std::uint32_t>(data[9]) & 3;  // flags: the capture interface
      out_.records.push_back(
          {time, data.subspan(at, kept), cut == 0 && kept == length, interface.value_or(own)});
      return;
    }
  } else if (link_type == kInfiniband) {
    out_.records.push_back({time, data, cut == 0, interface.value_or(0)});
    return;
  }
  ++out_.others;
}

Expected<void> Reader::read_pcap(Duration unit) {
  constexpr std::size_t kHeader = 24;
  constexpr std::size_t kRecord = 16;
  if (file_.size() < kHeader) return wrong(0, "the file ends inside its header");
  const std::uint16_t link_type = static_cast<std::uint16_t>(u32(20));
  for (std::size_t at = kHeader; at < file_.size();) {
    if (file_.size() - at < kRecord) return wrong(at, "the file ends inside a record");
    const std::uint32_t kept = u32(at + 8);
    if (kept > file_.size() - at - kRecord) return wrong(at, "the file ends inside a record");
    const Duration time = std::chrono::seconds(u32(at)) + u32(at + 4) * unit;
    add(link_type, time, file_.subspan(at + kRecord, kept), u32(at + 12), std::nullopt);
    at += kRecord + kept;
  }
  return {};
}

void Reader::read_options(std::size_t at, std::size_t end, Interface& made) const {
  while (at + 4 <= end) {
    const std::uint16_t code = u16(at);
    const std::size_t length = u16(at + 2);
    if (code == 0 || length > end - at - 4) return;
    if (code == kTimeResolution && length == 1)
      made.resolution = static_cast<std::uint8_t>(file_[at + 4]);
    if (code == kName) {
      const Bytes name = file_.subspan(at + 4, length);
      made.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    }
    at += 4 + (length + 3) / 4 * 4;
  }
}

// From `at` on its body, which ends at `end`.
Expected<void> Reader::read_block(std::uint32_t type, std::size_t at, std::size_t end) {
  if (type == kInterface) {
    if (end - at < 8) return wrong(at, "an interface description that is too short");
    Interface made{.link_type = u16(at)};
    read_options(at + 8, end, made);
    out_.interfaces.push_back(made.name);
    interfaces_.push_back(std::move(made));
  } else if (type == kEnhancedPacket) {
    constexpr std::size_t kHeader = 20;
    if (end - at < kHeader) return wrong(at, "a packet block that is too short");
    const std::uint32_t which = u32(at);
    if (which >= interfaces_.size()) return wrong(at, "a packet of an interface that is not there");
    const std::uint32_t kept = u32(at + 12);
    if (kept > end - at - kHeader) return wrong(at + 12, "a packet longer than its block");
    const std::uint64_t ticks = std::uint64_t{u32(at + 4)} << 32 | u32(at + 8);
    add(interfaces_[which].link_type, time_of(ticks, interfaces_[which].resolution),
        file_.subspan(at + kHeader, kept), u32(at + 16), first_interface_ + which);
  }
  return {};
}

Expected<void> Reader::read_pcapng() {
  constexpr std::size_t kFrame = 12;  // type and length before a block's body, length behind
  for (std::size_t at = 0; at < file_.size();) {
    if (file_.size() - at < kFrame) return wrong(at, "the file ends inside a block");
    const std::uint32_t type = u32(at);
    if (type == kSectionHeader) {
      big_ = true;
      if (u32(at + 8) != kByteOrder) big_ = false;
      if (u32(at + 8) != kByteOrder) return wrong(at + 8, "no byte order of pcapng");
      first_interface_ = static_cast<std::uint32_t>(out_.interfaces.size());
      interfaces_.clear();
    }
    const std::uint32_t length = u32(at + 4);
    if (length < kFrame || length % 4 != 0) return wrong(at + 4, "a length that no block has");
    if (length > file_.size() - at) return wrong(at, "the file ends inside a block");
    if (auto done = read_block(type, at + 8, at + length - 4); !done) return done;
    at += length;
  }
  return {};
}

Expected<Capture> Reader::read() {
  if (file_.size() < 4) return wrong(0, "neither pcapng nor pcap: it is too short");
  Expected<void> done;
  if (u32(0) == kSectionHeader) {
    done = read_pcapng();
  } else {
    constexpr std::uint32_t kMicroseconds = 0xA1B2'C3D4;
    constexpr std::uint32_t kNanoseconds = 0xA1B2'3C4D;
    big_ = u32(0) != kMicroseconds && u32(0) != kNanoseconds;
    if (u32(0) != kMicroseconds && u32(0) != kNanoseconds)
      return wrong(0, "neither pcapng nor pcap");
    done = read_pcap(u32(0) == kNanoseconds ? Duration(1) : Duration(1000));
  }
  if (!done) return tl::unexpected(done.error());
  return std::move(out_);
}

}  // namespace

Expected<Capture> read_capture(Bytes file) {
  return Reader(file, std::nullopt).read();
}

Expected<Capture> read_capture_of(std::uint16_t link_type, Bytes file) {
  return Reader(file, link_type).read();
}

}  // namespace weft::io
