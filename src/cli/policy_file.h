// SPDX-License-Identifier: Apache-2.0
// Rules for paths in a file of their own, which a lab file names (`policies`): they are read with
// the lab, and written when somebody says so, by `weft policy save`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "fabric/lab.h"

namespace weft::cli {

// Reads the rules of the lab's file, where it names one: it lies where `lab_file` does, and is
// called by its whole path from then on. Errors: it cannot be read; a rule is wrong, by its line.
Expected<void> read_policies(fabric::Lab& lab, const std::string& lab_file);

// Whether this user may have the rules of a lab saved, called as --lab calls it. Another user's lab
// says itself which file that is, and is not to have others write where it likes. Errors: it is
// one.
Expected<void> may_save_policies(const std::string& lab);

// Writes the rules that `weft policy list` has reported into the file that it names: another lab
// that begins meanwhile finds those of before or these. Returns the file. Errors: it names none; it
// cannot be written; as rules_text() has them.
Expected<std::string> save_policies(const nlohmann::json& report);

}  // namespace weft::cli
