// SPDX-License-Identifier: Apache-2.0
#include "cli/database_place.h"

#include "io/runtime_dir.h"
#include "io/state_dir.h"

namespace weft::cli {

Expected<std::string> usual_database(const std::string& lab, const std::string& file) {
  const auto all = io::state_directory();
  if (!all) return tl::unexpected(all.error());
  const std::string directory = *all + "/" + lab;
  if (auto made = io::ensure_private_directory(directory); !made) {
    return tl::unexpected(made.error());
  }
  return directory + "/" + file;
}

}  // namespace weft::cli
