// SPDX-License-Identifier: Apache-2.0
// Lab files and listings of fabrics, whatever stands in them: a lab that can be written and read
// back, or one line that begins with the file's name. The first byte says which of the two it is.
#include "fabric/lab_file.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "fabric/lab_import.h"
#include "input.h"

namespace {

using namespace weft;
using namespace weft::fabric;
using fuzz::require;

void check_error(const Error& error) {
  require(error.message.starts_with("file"));
  require(std::count(error.message.begin(), error.message.end(), '\n') == 0);
}

void check_lab(const Lab& lab) {
  require(!lab.nodes.empty());
  for (const LabLink& link : lab.links) {
    for (const LabEnd& end : link.ends) {
      require(end.node < lab.nodes.size());
      require(end.port >= 1 && end.port <= lab.nodes[end.node].ports);
    }
  }
  const auto again = parse_lab(write_lab(lab), "file");
  require(again.has_value());
  require(again->nodes == lab.nodes);
  require(again->links.size() == lab.links.size());
  require(again->data == lab.data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    const auto lab = parse_lab(text, "file");
    lab ? check_lab(*lab) : check_error(lab.error());
  } else {
    const auto imported = import_listing(text, "file", "lab");
    imported ? check_lab(imported->lab) : check_error(imported.error());
  }
  return 0;
}
