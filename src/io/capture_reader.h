// SPDX-License-Identifier: Apache-2.0
// Captures of InfiniBand links, as `weft capture`, tshark and others write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/time.h"

namespace weft::io {

struct CaptureRecord {
  Duration timestamp{};  // since 1970-01-01 UTC
  Bytes packet{};        // LRH through VCRC, in the file; no more than was kept of it
  bool whole = true;     // nothing of it was cut off
  // Where it was seen: of pcapng the number of the interface, in the order of the file; of pcap the
  // one that an ERF record has itself, 0 to 3.
  std::uint32_t interface = 0;
};

struct Capture {
  std::vector<CaptureRecord> records;
  std::size_t others = 0;               // records that are no InfiniBand packets
  std::vector<std::string> interfaces;  // of pcapng, their names, as the file has them; else empty
};

// Reads pcapng or classic pcap of either byte order, with packets as ERF records of type 21 (link
// type 197) or bare (247). invalid_argument: it is none of these, or torn; the message has the
// offset of what is wrong.
Expected<Capture> read_capture(Bytes file);

// The same of packets of another link type, as they are; all others count as such.
Expected<Capture> read_capture_of(std::uint16_t link_type, Bytes file);

}  // namespace weft::io
