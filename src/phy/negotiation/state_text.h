// SPDX-License-Identifier: Apache-2.0
// The state table as docs/link-training.md shows it, made from the one that the code runs.
#pragma once

#include <string>

namespace weft::phy {

// A table in Markdown: state, event, guard, action, next.
[[nodiscard]] std::string state_table_markdown();
// A state diagram in Mermaid's language.
[[nodiscard]] std::string state_diagram_mermaid();

}  // namespace weft::phy
