// SPDX-License-Identifier: Apache-2.0
// Lab files: TOML, described in docs/fabric.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "fabric/lab.h"
#include "fabric/lab_access.h"

namespace weft::fabric {

// Bytes that no lab needs: a file of all the LIDs that a subnet has is below 10 MB.
inline constexpr std::size_t kMostFile = std::size_t{64} << 20;

// What a lab file says: a fabric, and who may use it where it runs.
struct LabFile {
  Lab lab;
  LabAccess access;
};

// `file` is the name that errors begin with: "lab.toml:7: switch.leaf.ports: must be …".
[[nodiscard]] Expected<LabFile> parse_lab_file(std::string_view text, const std::string& file);
// The fabric alone.
[[nodiscard]] Expected<Lab> parse_lab(std::string_view text, const std::string& file);

// A lab file that parse_lab reads back as the same lab. What every lab has by itself is left out.
// `comment` is put first, each of its lines behind a #.
[[nodiscard]] std::string write_lab(const Lab& lab, std::string_view comment = {});

}  // namespace weft::fabric
