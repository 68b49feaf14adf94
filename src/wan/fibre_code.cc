// SPDX-License-Identifier: Apache-2.0
#include "wan/fibre_code.h"

#include "wan/fibre_block_code.h"
#include "wan/fibre_framing.h"
#include "wan/fibre_lane_code.h"

namespace weft::wan {

std::unique_ptr<FibreCode> make_fibre_code(FibreCodeKind kind) {
  switch (kind) {
    case FibreCodeKind::kSymbols:
      break;
    case FibreCodeKind::k8b10b:
      return std::make_unique<FibreLaneCode>();
    case FibreCodeKind::k64b66b:
      return std::make_unique<FibreBlockCode>();
  }
  return std::make_unique<SymbolCode>();
}

}  // namespace weft::wan
