// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace weft::cli {

// Which packets of a link somebody wants: those for which every word of the filter holds. No word
// takes all.
//
//   mad  data           to queue pairs 0 and 1, to others
//   vl=N  sl=N          virtual lane, service level
//   lid=N  slid=N  dlid=N   local identifiers: either, source, destination
//   qp=N                destination queue pair
class CaptureFilter {
 public:
  // invalid_argument: names the word and the choices.
  static Expected<CaptureFilter> parse(const std::vector<std::string>& words);

  // `packet` is LRH through VCRC. What cannot be parsed is taken by the empty filter only.
  [[nodiscard]] bool takes(Bytes packet) const;

 private:
  std::optional<bool> mad_;
  std::optional<std::uint32_t> vl_;
  std::optional<std::uint32_t> sl_;
  std::optional<std::uint32_t> lid_;
  std::optional<std::uint32_t> slid_;
  std::optional<std::uint32_t> dlid_;
  std::optional<std::uint32_t> qp_;
};

}  // namespace weft::cli
