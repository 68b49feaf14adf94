// SPDX-License-Identifier: Apache-2.0
#include "io/pcapng_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace weft::io::pcapng {
namespace {

constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1A2B3C4D;
constexpr std::size_t kBlockOverhead = 12;  // type, length, …, length

constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kSectionUserApplication = 4;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kInterfaceDescriptionText = 3;
constexpr std::uint16_t kInterfaceTimestampResolution = 9;
constexpr std::byte kNanoseconds{9};  // 10^-9 s

constexpr std::size_t padded(std::size_t size) {
  return (size + 3) & ~std::size_t{3};
}

// Writes one block into `out`: the length goes to both ends when it is known.
class BlockWriter {
 public:
  BlockWriter(std::vector<std::byte>& out, std::uint32_t type) : out_(out), begin_(out.size()) {
    put(type);
    put(std::uint32_t{0});
  }
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;
  ~BlockWriter() {
    const auto length = static_cast<std::uint32_t>(out_.size() - begin_ + 4);
    put(length);
    for (std::size_t i = 0; i < 4; ++i)
      out_[begin_ + 4 + i] = octet(length, i);
  }

  template <class T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      out_.push_back(octet(value, i));
  }
  void put(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void pad() { out_.resize(begin_ + padded(out_.size() - begin_)); }

  void option(std::uint16_t code, Bytes value) {
    put(code);
    put(static_cast<std::uint16_t>(value.size()));
    put(value);
    pad();
    has_options_ = true;
  }
  void option(std::uint16_t code, std::string_view text) {
    if (text.empty()) return;
    option(code, std::as_bytes(std::span(text.substr(0, kMaxCaptureText))));
  }
  void end_options() {
    if (has_options_) put(std::uint32_t{kEndOfOptions});
  }

 private:
  template <class T>
  static std::byte octet(T value, std::size_t index) {
    return static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * index));
  }

  std::vector<std::byte>& out_;
  std::size_t begin_;
  bool has_options_ = false;
};

std::optional<std::uint32_t> take_u32(ByteCursor& cursor) {
  const auto bytes = cursor.take(4);
  if (!bytes) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;)
    value = value << 8 | std::to_integer<std::uint32_t>((*bytes)[i]);
  return value;
}

struct Block {
  std::uint32_t type = 0;
  Bytes body;
};

// Nothing at the end of the file or where a block is not whole.
std::optional<Block> take_block(ByteCursor& cursor) {
  ByteCursor ahead = cursor;
  const auto type = take_u32(ahead);
  const auto length = take_u32(ahead);
  if (!type || !length || *length < kBlockOverhead || *length % 4 != 0) return std::nullopt;
  const auto body = ahead.take(*length - kBlockOverhead);
  if (!body || take_u32(ahead) != length) return std::nullopt;
  cursor = ahead;
  return Block{*type, *body};
}

std::string text_of(Bytes value) {
  std::string text(value.size(), '\0');
  std::transform(value.begin(), value.end(), text.begin(),
                 [](std::byte b) { return static_cast<char>(b); });
  return text;
}

std::optional<CaptureInterface> parse_interface(Bytes body) {
  ByteCursor cursor(body);
  const auto type = take_u32(cursor);  // link type, then two reserved octets
  if (!type || !take_u32(cursor)) return std::nullopt;
  CaptureInterface interface;
  interface.link_type = static_cast<LinkType>(*type & 0xFFFF);
  while (cursor.remaining() > 0) {
    const auto header = take_u32(cursor);
    if (!header) return std::nullopt;
    const auto code = static_cast<std::uint16_t>(*header);
    const std::size_t size = *header >> 16;
    if (code == kEndOfOptions) break;
    const auto value = cursor.take(padded(size));
    if (!value) return std::nullopt;
    if (code == kInterfaceName) interface.name = text_of(value->first(size));
    if (code == kInterfaceDescriptionText) interface.description = text_of(value->first(size));
  }
  return interface;
}

}  // namespace

void append_section_header(std::vector<std::byte>& out, std::string_view comment) {
  BlockWriter block(out, kSectionHeader);
  block.put(kByteOrderMagic);
  block.put(std::uint16_t{1});  // version 1.0
  block.put(std::uint16_t{0});
  block.put(~std::uint64_t{0});  // section length: to the end of the file
  block.option(kComment, comment);
  block.option(kSectionUserApplication, "weft");
  block.end_options();
}

void append_interface(std::vector<std::byte>& out, const CaptureInterface& interface) {
  BlockWriter block(out, kInterfaceDescription);
  block.put(static_cast<std::uint16_t>(interface.link_type));
  block.put(std::uint16_t{0});
  block.put(static_cast<std::uint32_t>(kCaptureSnapLength));
  block.option(kInterfaceName, interface.name);
  block.option(kInterfaceDescriptionText, interface.description);
  block.option(kInterfaceTimestampResolution, Bytes(&kNanoseconds, 1));
  block.end_options();
}

void append_packet(std::vector<std::byte>& out, const CapturedPacket& packet) {
  std::size_t length = 0;
  for (const Bytes piece : packet.data)
    length += piece.size();
  const std::size_t kept = std::min(length, kCaptureSnapLength);
  const auto nanoseconds = static_cast<std::uint64_t>(packet.timestamp.count());

  BlockWriter block(out, kEnhancedPacket);
  block.put(packet.interface_id);
  block.put(static_cast<std::uint32_t>(nanoseconds >> 32));
  block.put(static_cast<std::uint32_t>(nanoseconds));
  block.put(static_cast<std::uint32_t>(kept));
  block.put(static_cast<std::uint32_t>(length));
  std::size_t left = kept;
  for (const Bytes piece : packet.data) {
    const std::size_t now = std::min(left, piece.size());
    block.put(piece.first(now));
    left -= now;
  }
  block.pad();
  block.option(kComment, packet.comment);
  block.end_options();
}

Expected<std::vector<CaptureInterface>> read_interfaces(Bytes file) {
  const auto bad = [&](const ByteCursor& at, std::string_view what) {
    return fail(std::errc::invalid_argument,
                fmt::format("offset {}: {}", file.size() - at.remaining(), what));
  };
  ByteCursor cursor(file);
  const auto header = take_block(cursor);
  if (!header || header->type != kSectionHeader) return bad(cursor, "no pcapng section header");
  ByteCursor body(header->body);
  if (take_u32(body) != kByteOrderMagic) return bad(cursor, "not a little-endian pcapng section");

  std::vector<CaptureInterface> interfaces;
  for (;;) {
    const ByteCursor before = cursor;
    const auto block = take_block(cursor);
    if (!block || block->type != kInterfaceDescription) break;
    auto interface = parse_interface(block->body);
    if (!interface) return bad(before, "malformed interface description");
    interfaces.push_back(std::move(*interface));
  }
  if (interfaces.empty()) return bad(cursor, "no interface description");
  return interfaces;
}

}  // namespace weft::io::pcapng
