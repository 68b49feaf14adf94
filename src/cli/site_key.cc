// SPDX-License-Identifier: Apache-2.0
#include "cli/site_key.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/report_view.h"
#include "io/tls_site.h"

namespace weft::cli {

int site_key(const SiteKeyOptions& options) {
  const bool makes = options.action == "keygen";
  const std::string command = "extend " + options.action;
  if (options.file.empty()) {
    return refuse(command, makes ? "name the file that the key is to be written to"
                                 : "name a file with a key or a certificate");
  }
  const auto fingerprint =
      makes ? io::make_site_key(options.file) : io::read_fingerprint(options.file);
  if (!fingerprint) return refuse(command, fingerprint.error().message);
  if (options.json) {
    print_json({{"file", options.file}, {"fingerprint", fingerprint->to_string()}});
  } else {
    fmt::print("{}\n", fingerprint->to_string());
  }
  return kOk;
}

}  // namespace weft::cli
