// SPDX-License-Identifier: Apache-2.0
#include "wan/erasure_code.h"

#include <isa-l/erasure_code.h>

#include <array>
#include <cassert>

#include "wan/fec_code.h"

namespace weft::wan {
namespace {

// The library expands a coefficient into so many bytes.
constexpr std::size_t kTable = 32;
// Of the rows of the Cauchy matrix; its columns have the numbers from 0 on.
constexpr std::size_t kFirstRow = 255;
static_assert(FecCode::kMostFrames <= kFirstRow - FecCode::kMostRepairs);

// The library changes no symbol that it is not asked to, and says nothing of const.
unsigned char* as_symbol(const std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes));
}

}  // namespace

std::uint8_t repair_coefficient(std::size_t repair, std::size_t data) {
  assert(repair < FecCode::kMostRepairs && data < FecCode::kMostFrames);
  const auto scale = static_cast<unsigned char>(kFirstRow ^ data);
  const auto cauchy = gf_inv(static_cast<unsigned char>((kFirstRow - repair) ^ data));
  return gf_mul(scale, cauchy);
}

SymbolSums::SymbolSums(std::size_t rows, std::size_t columns,
                       std::span<const std::uint8_t> coefficients)
    : rows_(rows), columns_(columns), tables_(kTable * rows * columns) {
  assert(rows > 0 && columns > 0 && coefficients.size() == rows * columns);
  std::vector<unsigned char> copy(coefficients.begin(), coefficients.end());
  ec_init_tables(static_cast<int>(columns), static_cast<int>(rows), copy.data(), tables_.data());
}

void SymbolSums::add(std::size_t column, Bytes bytes, std::size_t offset,
                     std::span<std::vector<std::byte>> sums) const {
  assert(column < columns_ && sums.size() == rows_ && rows_ <= FecCode::kMostRepairs);
  if (bytes.empty()) return;
  std::array<unsigned char*, FecCode::kMostRepairs> at{};
  for (std::size_t row = 0; row < rows_; ++row) {
    assert(offset + bytes.size() <= sums[row].size());
    at[row] = as_symbol(sums[row].data() + offset);
  }
  // It does not write to the tables either.
  auto* const tables = const_cast<unsigned char*>(tables_.data());
  ec_encode_data_update(static_cast<int>(bytes.size()), static_cast<int>(columns_),
                        static_cast<int>(rows_), static_cast<int>(column), tables,
                        as_symbol(bytes.data()), at.data());
}

std::optional<std::vector<std::uint8_t>> inverse(std::vector<std::uint8_t> matrix,
                                                 std::size_t rows) {
  assert(matrix.size() == rows * rows);
  std::vector<std::uint8_t> out(matrix.size());
  if (gf_invert_matrix(matrix.data(), out.data(), static_cast<int>(rows)) != 0) {
    return std::nullopt;
  }
  return out;
}

}  // namespace weft::wan
