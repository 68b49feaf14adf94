// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::wan::sonet {
namespace {

constexpr std::byte kTraceMark{0x80};
constexpr std::byte kTraceReturn{0x0D};
constexpr std::byte kTraceFeed{0x0A};

constexpr std::size_t trace_size(TraceFormat format) {
  switch (format) {
    case TraceFormat::kNone:
      return 1;
    case TraceFormat::k16:
      return 16;
    case TraceFormat::k64:
      return 64;
  }
  return 1;
}

constexpr bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::uint8_t trace_crc7(Bytes octets) {
  unsigned state = 0;
  for (std::size_t i = 0; i < octets.size(); ++i) {
    const unsigned octet = i == 0 ? 0x80U : std::to_integer<unsigned>(octets[i]);
    for (unsigned bit = 8; bit-- != 0;) {
      const unsigned out = (state >> 6 ^ octet >> bit) & 1;
      state = (state << 1 & 0x7F) ^ (out != 0 ? 0x09U : 0U);
    }
  }
  return static_cast<std::uint8_t>(state);
}

Expected<Trace> Trace::of(TraceFormat format, std::string_view text) {
  Trace trace;
  if (format == TraceFormat::kNone) {
    if (!text.empty())
      return fail(std::errc::invalid_argument, "a trace without a format has no text");
    return trace;
  }
  const std::size_t room = format == TraceFormat::k16 ? 15 : 62;
  if (text.size() > room) {
    return fail(std::errc::invalid_argument,
                fmt::format("trace '{}' has more than {} characters", text, room));
  }
  if (!std::ranges::all_of(text, is_printable)) {
    return fail(std::errc::invalid_argument, "a trace has printable characters of ASCII only");
  }
  trace.format_ = format;
  trace.size_ = trace_size(format);
  const std::size_t begin = format == TraceFormat::k16 ? 1 : 0;
  for (std::size_t i = 0; i < room; ++i) {
    trace.octets_[begin + i] = static_cast<std::byte>(i < text.size() ? text[i] : ' ');
  }
  if (format == TraceFormat::k16) {
    trace.octets_[0] = kTraceMark | std::byte{trace_crc7(trace.octets())};
  } else {
    trace.octets_[62] = kTraceReturn;
    trace.octets_[63] = kTraceFeed;
  }
  return trace;
}

TraceReceiver::Message TraceReceiver::take(std::byte octet) {
  const TraceFormat format = expected_.format();
  const std::size_t size = trace_size(format);
  if (format == TraceFormat::kNone) return Message::kNone;
  const bool begins = format == TraceFormat::k16 && (octet & kTraceMark) != std::byte{};
  if (begins && used_ != 0) {
    // The one before was too short.
    const Message message = finish(used_);
    octets_[used_++] = octet;
    return message;
  }
  octets_[used_++] = octet;
  const bool ends = format == TraceFormat::k64 && octet == kTraceFeed && before_ == kTraceReturn;
  before_ = octet;
  return ends || used_ == size ? finish(used_) : Message::kNone;
}

TraceReceiver::Message TraceReceiver::finish(std::size_t size) {
  last_ = octets_;
  last_size_ = size;
  used_ = 0;
  const Bytes expected = expected_.octets();
  const bool same =
      size == expected.size() && std::equal(expected.begin(), expected.end(), last_.begin());
  return same ? Message::kAsExpected : Message::kOther;
}

std::string TraceReceiver::text() const {
  std::string text;
  for (std::size_t i = 0; i < last_size_; ++i) {
    const char c = static_cast<char>(last_[i]);
    if (is_printable(c)) text += c;
  }
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text;
}

}  // namespace weft::wan::sonet
