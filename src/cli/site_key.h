// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft::cli {

struct SiteKeyOptions {
  std::string action;  // "keygen", "fingerprint"
  std::string file;
  bool json = false;
};
// `weft extend keygen FILE`, `weft extend fingerprint FILE`: the key of a site, and what others
// know it by.
int site_key(const SiteKeyOptions& options);

}  // namespace weft::cli
