// SPDX-License-Identifier: Apache-2.0
// The blocks of a pcapng file as bytes, little-endian. Internal to io.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/pcapng_writer.h"

namespace weft::io::pcapng {

void append_section_header(std::vector<std::byte>& out, std::string_view comment);
void append_interface(std::vector<std::byte>& out, const CaptureInterface& interface);
void append_packet(std::vector<std::byte>& out, const CapturedPacket& packet);

// Reads the section header and the interface descriptions that follow it. `file` may end anywhere
// after them; the error names the offset of what is wrong.
Expected<std::vector<CaptureInterface>> read_interfaces(Bytes file);

}  // namespace weft::io::pcapng
