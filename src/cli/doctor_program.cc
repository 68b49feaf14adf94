// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <string>

#include "cli/finding.h"
#include "cli/program.h"

namespace weft::cli {
namespace {

constexpr std::string_view kVerbs = "libibverbs.so";
// Programs that name the library only at run time keep its name among their constants, early
// enough in nearly all; a larger file is not read further.
constexpr std::size_t kDoctorProgramMostRead = 64u << 20;

bool mentions(const std::string& path, std::string_view text) {
  std::ifstream file(path, std::ios::binary);
  std::string window;
  std::string block(1u << 16, '\0');
  for (std::size_t total = 0; total < kDoctorProgramMostRead && file;) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto got = static_cast<std::size_t>(file.gcount());
    total += got;
    window.append(block, 0, got);
    if (window.find(text) != std::string::npos) return true;
    // A name may lie across two blocks.
    if (window.size() > text.size()) window.erase(0, window.size() - text.size());
  }
  return false;
}

Finding how_it_gets_verbs(const Program& program) {
  if (program.elf.needs(kVerbs)) {
    return {"verbs", Level::kOk, fmt::format("{} is linked with libibverbs", program.image), ""};
  }
  if (program.script) {
    return {"verbs", Level::kOk,
            fmt::format("{} is a script run by {}: what they start and load uses Weft",
                        program.path, program.image),
            ""};
  }
  if (mentions(program.image, kVerbs)) {
    return {"verbs", Level::kOk,
            fmt::format("{} opens libibverbs when it runs (dlopen)", program.image), ""};
  }
  return {
      "verbs", Level::kNote,
      fmt::format("{} is not linked with libibverbs itself; a library of it may be", program.image),
      fmt::format("ldd {} | grep libibverbs tells", program.image)};
}

}  // namespace

Findings check_program(const std::string& name) {
  const auto program = inspect_program(name, program_search_path());
  if (!program) {
    return {{"program", Level::kProblem, program.error().what, program.error().remedy}};
  }
  const std::string image = program->script ? " (run by " + program->image + ")" : "";
  return {{"program", Level::kOk, fmt::format("{}{} can be run", program->path, image), ""},
          how_it_gets_verbs(*program)};
}

}  // namespace weft::cli
