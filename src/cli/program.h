// SPDX-License-Identifier: Apache-2.0
// Can a program be run with Weft's libraries in front of the system's? Found out before it starts:
// the loader would ignore them in silence, or the program would fail in a way that names no cause.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/elf_file.h"

namespace weft::cli {

enum class Obstacle : std::uint8_t {
  kNotFound,
  kNotExecutable,
  kDamaged,
  kOtherMachine,
  kStaticallyLinked,
  kOtherLoader,  // another C library's
  kPrivileged,   // setuid, setgid or file capabilities: the loader drops what we set
};

struct ProgramFault {
  Obstacle obstacle;
  std::string what;    // one line that names the file
  std::string remedy;  // what to do about it
};

struct Program {
  std::string path;  // what execve is given
  // The ELF file that the kernel loads in the end: the program, or a script's interpreter.
  std::string image;
  ElfFile elf;
  bool script = false;
};

// Looks `name` up as execvp does: in `search_path` (PATH) unless it has a slash.
tl::expected<std::string, ProgramFault> find_program(std::string_view name,
                                                     std::string_view search_path);

// Follows `#!` lines, `env` included, and checks every file on the way.
tl::expected<Program, ProgramFault> inspect_program(std::string_view name,
                                                    std::string_view search_path);

// PATH, or what execvp takes without one.
std::string program_search_path();

}  // namespace weft::cli
