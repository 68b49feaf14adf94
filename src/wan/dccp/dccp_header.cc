// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/dccp_header.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "wan/encapsulation/internet_checksum.h"
#include "wan/encapsulation/out_packet.h"
#include "wire/endian.h"

namespace weft::wan::dccp {
namespace {

constexpr std::size_t kShortGeneric = 12;
constexpr std::size_t kGeneric = 16;
constexpr std::size_t kWord = 4;
constexpr std::size_t kChecksumAt = 6;
constexpr std::uint8_t kLastType = static_cast<std::uint8_t>(PacketType::kSyncAck);

std::size_t acknowledgement_size(bool extended) {
  return extended ? 8 : 4;
}

Sequence load_sequence(const std::byte* at) {
  return Sequence(std::uint64_t{wire::load_be16(at)} << 32 | wire::load_be32(at + 2));
}

void store_sequence(std::byte* at, Sequence sequence) {
  wire::store_be16(at, static_cast<std::uint16_t>(sequence.value() >> 32));
  wire::store_be32(at + 2, static_cast<std::uint32_t>(sequence.value()));
}

std::uint32_t load_24(const std::byte* at) {
  return wire::load_be32(at) & 0xFF'FFFF;
}

// Of data of which so much is there, what the checksum covers; nothing: more than there is.
std::optional<std::size_t> covered(std::uint8_t coverage, std::size_t data) {
  if (coverage == 0) return data;
  const std::size_t bytes = (coverage - std::size_t{1}) * kWord;
  return bytes <= data ? std::optional(bytes) : std::nullopt;
}

// The generic header is there.
Header read_generic(Bytes packet) {
  const std::byte* const at = packet.data();
  const auto byte = [at](std::size_t i) { return std::to_integer<std::uint8_t>(at[i]); };
  Header header;
  header.source_port = wire::load_be16(at);
  header.destination_port = wire::load_be16(at + 2);
  header.cc_value = byte(5) >> 4;
  header.coverage = byte(5) & 15;
  header.type = static_cast<PacketType>(byte(8) >> 1 & 15);
  header.extended = (byte(8) & 1) != 0;
  return header;
}

// What comes behind the generic header; all of it is there.
void read_rest(Header& header, const std::byte* at) {
  if (header.extended) {
    header.sequence = load_sequence(at + 10);
    at += kGeneric;
  } else {
    header.sequence = Sequence(load_24(at + 8));
    at += kShortGeneric;
  }
  if (has_acknowledgement(header.type)) {
    header.acknowledged = header.extended ? load_sequence(at + 2) : Sequence(load_24(at));
    at += acknowledgement_size(header.extended);
  }
  if (header.type == PacketType::kRequest || header.type == PacketType::kResponse) {
    header.service_code = wire::load_be32(at);
  } else if (header.type == PacketType::kReset) {
    header.reset_code = static_cast<ResetCode>(std::to_integer<std::uint8_t>(at[0]));
    for (std::size_t i = 0; i < header.reset_data.size(); ++i)
      header.reset_data[i] = std::to_integer<std::uint8_t>(at[1 + i]);
  }
}

void write_fields(const Header& header, std::size_t words, std::byte* at) {
  wire::store_be16(at, header.source_port);
  wire::store_be16(at + 2, header.destination_port);
  at[4] = static_cast<std::byte>(words);
  at[5] = static_cast<std::byte>(header.cc_value << 4 | header.coverage);
  const unsigned type = static_cast<unsigned>(header.type) << 1;
  if (header.extended) {
    at[8] = static_cast<std::byte>(type | 1);
    store_sequence(at + 10, header.sequence);
    at += kGeneric;
  } else {
    wire::store_be32(at + 8, static_cast<std::uint32_t>(header.sequence.value()) & 0xFF'FFFF);
    at[8] = static_cast<std::byte>(type);
    at += kShortGeneric;
  }
  if (has_acknowledgement(header.type)) {
    if (header.extended) {
      store_sequence(at + 2, *header.acknowledged);
    } else {
      wire::store_be32(at, static_cast<std::uint32_t>(header.acknowledged->value()) & 0xFF'FFFF);
    }
    at += acknowledgement_size(header.extended);
  }
  if (header.type == PacketType::kRequest || header.type == PacketType::kResponse) {
    wire::store_be32(at, header.service_code);
  } else if (header.type == PacketType::kReset) {
    at[0] = static_cast<std::byte>(header.reset_code);
    std::memcpy(at + 1, header.reset_data.data(), header.reset_data.size());
  }
}

}  // namespace

std::size_t Header::size() const {
  std::size_t size = extended ? kGeneric : kShortGeneric;
  if (has_acknowledgement(type)) size += acknowledgement_size(extended);
  const bool has_word =
      type == PacketType::kRequest || type == PacketType::kResponse || type == PacketType::kReset;
  return size + (has_word ? kWord : 0);
}

tl::expected<Packet, HeaderRefusal> parse(Bytes packet, const Gid& source, const Gid& destination) {
  if (packet.size() < kShortGeneric) return tl::unexpected(HeaderRefusal::kShort);
  Header header = read_generic(packet);
  if (static_cast<std::uint8_t>(header.type) > kLastType) {
    return tl::unexpected(HeaderRefusal::kType);
  }
  const bool may_be_short = header.type == PacketType::kData || header.type == PacketType::kAck ||
                            header.type == PacketType::kDataAck;
  if (!header.extended && !may_be_short) return tl::unexpected(HeaderRefusal::kNumbers);
  const std::size_t offset = std::to_integer<std::size_t>(packet[4]) * kWord;
  if (offset < header.size() || offset > packet.size()) {
    return tl::unexpected(HeaderRefusal::kOffset);
  }
  const auto bytes = covered(header.coverage, packet.size() - offset);
  if (!bytes) return tl::unexpected(HeaderRefusal::kCoverage);
  InternetChecksum sum(source, destination, *kDccp.ip_protocol,
                       static_cast<std::uint32_t>(packet.size()));
  sum.add(packet.first(offset + *bytes));
  if (sum.value() != 0) return tl::unexpected(HeaderRefusal::kChecksum);
  read_rest(header, packet.data());
  return Packet{.header = header,
                .options = packet.subspan(header.size(), offset - header.size()),
                .data = packet.subspan(offset)};
}

std::size_t header_bytes(const Header& header, std::size_t options) {
  return header.size() + (options + kWord - 1) / kWord * kWord;
}

void write(const Header& header, Bytes options, std::span<const Bytes> data, const Gid& source,
           const Gid& destination, MutableBytes out) {
  assert(out.size() == header_bytes(header, options.size()) && out.size() <= Header::kMostBytes);
  std::fill(out.begin(), out.end(), std::byte{0});  // padding, and what is reserved
  write_fields(header, out.size() / kWord, out.data());
  std::copy(options.begin(), options.end(),
            out.begin() + static_cast<std::ptrdiff_t>(header.size()));
  std::size_t length = 0;
  for (const Bytes piece : data)
    length += piece.size();
  const auto bytes = covered(header.coverage, length);
  assert(bytes);
  InternetChecksum sum(source, destination, *kDccp.ip_protocol,
                       static_cast<std::uint32_t>(out.size() + length));
  sum.add(out);
  std::size_t left = *bytes;
  for (const Bytes piece : data) {
    sum.add(piece.first(std::min(left, piece.size())));
    left -= std::min(left, piece.size());
  }
  wire::store_be16(out.data() + kChecksumAt, sum.value());
}

}  // namespace weft::wan::dccp
