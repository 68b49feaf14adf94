// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace weft::cli {

// What decides whether the loader can put libraries under a program.
struct ElfFile {
  std::uint8_t word_bits = 0;       // 32 or 64
  std::uint16_t machine = 0;        // EM_X86_64, …
  std::string interpreter;          // PT_INTERP; empty in a statically linked program
  std::vector<std::string> needed;  // DT_NEEDED

  [[nodiscard]] bool uses_loader() const { return !interpreter.empty(); }
  [[nodiscard]] bool needs(std::string_view prefix) const;  // a library whose name begins so
};

// Nothing when the file is no ELF file at all. EINVAL for one whose tables do not fit it. Of a file
// for another word size or byte order only `word_bits` and `machine` are read.
Expected<std::optional<ElfFile>> read_elf(const std::string& path);

// "x86-64", "AArch64", … or "machine 7".
std::string machine_name(std::uint16_t machine);

}  // namespace weft::cli
