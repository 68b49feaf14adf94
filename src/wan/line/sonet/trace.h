// SPDX-License-Identifier: Apache-2.0
// Traces, by which a receiver knows that it is connected with whom it should be: J0 of a section,
// J1 of a path, one octet in each frame (G.707, 9.2.2.2 and 9.3.1.1, annex B).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace weft::wan::sonet {

enum class TraceFormat : std::uint8_t {
  kNone,  // the same octet always, which says nothing
  k16,    // an octet with the first bit set and a CRC-7, and 15 characters
  k64     // 62 characters, carriage return, line feed
};

// x^7 + x^3 + 1, preset to zero, over a trace of 16 octets of which the first counts as 0x80.
[[nodiscard]] std::uint8_t trace_crc7(Bytes octets);

// What is sent over and over.
class Trace {
 public:
  // None: an octet of 1, as of a section that is not traced (G.707, 9.2.2.2).
  Trace() { octets_[0] = std::byte{1}; }
  // `text` is filled up with blanks. Refuses one that is too long for the format, has anything but
  // printable ASCII, or is there although there is no format.
  [[nodiscard]] static Expected<Trace> of(TraceFormat format, std::string_view text);

  [[nodiscard]] TraceFormat format() const { return format_; }
  [[nodiscard]] Bytes octets() const { return Bytes(octets_).first(size_); }
  friend bool operator==(const Trace&, const Trace&) = default;

 private:
  TraceFormat format_ = TraceFormat::kNone;
  std::size_t size_ = 1;
  std::array<std::byte, 64> octets_{};
};

// Sends one, octet by octet.
class TraceSender {
 public:
  explicit TraceSender(const Trace& trace) : trace_(trace) {}
  [[nodiscard]] std::byte next() {
    const std::byte octet = trace_.octets()[at_];
    at_ = (at_ + 1) % trace_.octets().size();
    return octet;
  }

 private:
  const Trace trace_;
  std::size_t at_ = 0;
};

// Takes octets as they come and finds where messages begin: by the first bit that is set, or by
// carriage return and line feed.
class TraceReceiver {
 public:
  explicit TraceReceiver(const Trace& expected) : expected_(expected) {}

  // What the octet ends.
  enum class Message : std::uint8_t { kNone, kAsExpected, kOther };
  // Of a trace without a format: never anything. As many octets without a message as one has are
  // another one.
  [[nodiscard]] Message take(std::byte octet);
  // The octets that come do not follow those that came.
  void restart() { used_ = 0; }
  // The last message, as it came: without CRC, blanks and control characters at its ends.
  [[nodiscard]] std::string text() const;

 private:
  Message finish(std::size_t size);

  const Trace expected_;
  std::array<std::byte, 64> octets_{};
  std::size_t used_ = 0;
  std::byte before_{};  // the last octet
  std::array<std::byte, 64> last_{};
  std::size_t last_size_ = 0;
};

}  // namespace weft::wan::sonet
