// SPDX-License-Identifier: Apache-2.0
// The arithmetic of forward error correction: a systematic Reed-Solomon code over GF(2^8), modulo
// x^8 + x^4 + x^3 + x^2 + 1. A repair symbol is a sum of multiples of data symbols, all of the same
// length. The coefficients are a Cauchy matrix whose columns are scaled so that the first repair
// symbol is the plain sum (XOR); every square part of it has an inverse, so that any number of lost
// data symbols can be solved for from as many repair symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace weft::wan {

// What data symbol `data`, below FecCode::kMostFrames, is multiplied by in repair symbol `repair`,
// below FecCode::kMostRepairs.
[[nodiscard]] std::uint8_t repair_coefficient(std::size_t repair, std::size_t data);

// A matrix of coefficients, by which symbols are multiplied and added to sums, one for each row.
class SymbolSums {
 public:
  // `coefficients`: row by row. One row and one column at least.
  SymbolSums(std::size_t rows, std::size_t columns, std::span<const std::uint8_t> coefficients);

  // Adds the multiples of these bytes of the column's symbol to all sums, from `offset` on. The
  // sums are as many as there are rows, and long enough.
  void add(std::size_t column, Bytes bytes, std::size_t offset,
           std::span<std::vector<std::byte>> sums) const;

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::vector<unsigned char> tables_;
};

// Of a matrix of so many rows and columns. Nothing: it has none.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> inverse(std::vector<std::uint8_t> matrix,
                                                               std::size_t rows);

}  // namespace weft::wan
