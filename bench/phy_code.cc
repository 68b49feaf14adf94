// SPDX-License-Identifier: Apache-2.0
// 8b/10b of many characters beside the obvious way, in one run: a table of a byte and the disparity
// that gives the code word and the next disparity, so that every byte waits for the one before.
//
// Alternatives take turns, a fraction of a millisecond each, so that a change of clock or a busy
// neighbour meets them all; a figure is the median of its turns. Data is in the first-level cache.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "phy/code/block_code.h"
#include "phy/code/code_8b10b.h"

namespace {

using namespace weft;
using namespace weft::phy;

constexpr int kTurns = 201;
constexpr double kTurnNs = 100'000;
constexpr std::size_t kBytes = 4096;

// Keeps the compiler from dropping or hoisting what is measured.
void keep(std::uint64_t value) {
  asm volatile("" : : "r"(value) : "memory");
}

struct Alternative {
  std::string name;
  std::function<void(int)> run;  // so many times
  std::vector<double> ns{};      // per call, one for each turn

  [[nodiscard]] double median() {
    std::nth_element(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2), ns.end());
    return ns[ns.size() / 2];
  }
};

double time_ns(const Alternative& alternative, int calls) {
  const auto start = std::chrono::steady_clock::now();
  alternative.run(calls);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / calls;
}

void measure(std::vector<Alternative>& alternatives) {
  std::vector<int> calls;
  for (const Alternative& alternative : alternatives) {
    (void)time_ns(alternative, 100);
    calls.push_back(std::max(1, static_cast<int>(kTurnNs / time_ns(alternative, 100))));
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      alternatives[i].ns.push_back(time_ns(alternatives[i], calls[i]));
    }
  }
}

// The rival: entries are a code word, and above it the disparity that follows.
using ByteTable = std::array<std::array<std::uint16_t, 256>, 2>;

ByteTable make_byte_table() {
  ByteTable table{};
  for (unsigned before = 0; before < 2; ++before) {
    for (unsigned value = 0; value < 256; ++value) {
      Encoder encoder{Disparity(before)};
      const unsigned word = encoder.encode({static_cast<std::uint8_t>(value), false});
      table[before][value] =
          static_cast<std::uint16_t>(word | static_cast<unsigned>(encoder.disparity()) << 10);
    }
  }
  return table;
}

unsigned encode_by_bytes(const ByteTable& table, Bytes data, std::uint16_t* out, unsigned before) {
  for (const std::byte byte : data) {
    const unsigned entry = table[before][std::to_integer<std::size_t>(byte)];
    *out++ = static_cast<std::uint16_t>(entry & 0x3FF);
    before = entry >> 10;
  }
  return before;
}

// Decoding: the same, from a word and a disparity to a byte, whether it is one, and the disparity.
using WordTable = std::array<std::array<std::uint16_t, 1024>, 2>;

WordTable make_word_table() {
  WordTable table{};
  for (unsigned before = 0; before < 2; ++before) {
    for (unsigned word = 0; word < 1024; ++word) {
      Decoder decoder{Disparity(before)};
      const Decoder::Decoded decoded = decoder.decode(static_cast<std::uint16_t>(word));
      const bool is_data = !decoded.error() && !decoded.character.control;
      table[before][word] =
          static_cast<std::uint16_t>(decoded.character.value | unsigned{is_data} << 8 |
                                     static_cast<unsigned>(decoder.disparity()) << 9);
    }
  }
  return table;
}

std::size_t decode_by_words(const WordTable& table, std::span<const std::uint16_t> words,
                            std::byte* out, unsigned before) {
  std::size_t done = 0;
  for (const std::uint16_t word : words) {
    const unsigned entry = table[before][word & 0x3FF];
    if ((entry & 1U << 8) == 0) break;
    out[done++] = static_cast<std::byte>(entry);
    before = entry >> 9;
  }
  return done;
}

struct Buffers {
  std::vector<std::byte> data = std::vector<std::byte>(kBytes);
  // Not at the same place of a page as the data.
  std::vector<std::uint16_t> words = std::vector<std::uint16_t>(kBytes + 512);
  std::vector<std::byte> back = std::vector<std::byte>(kBytes);
};

std::vector<Alternative> encoders(Buffers& buffers, const ByteTable& table) {
  std::vector<Alternative> all;
  all.push_back({"byte table", [&](int calls) {
                   unsigned disparity = 0;
                   for (int i = 0; i < calls; ++i) {
                     disparity =
                         encode_by_bytes(table, buffers.data, buffers.words.data(), disparity);
                     keep(disparity);
                   }
                 }});
  for (const BlockKernel& kernel : block_kernels()) {
    all.push_back({std::string(kernel.name), [&buffers, encode = kernel.encode](int calls) {
                     Disparity disparity = Disparity::kMinus;
                     for (int i = 0; i < calls; ++i) {
                       disparity = encode(buffers.data, buffers.words.data(), disparity);
                       keep(static_cast<std::uint64_t>(disparity));
                     }
                   }});
  }
  return all;
}

std::vector<Alternative> decoders(Buffers& buffers, const WordTable& table) {
  const std::span<const std::uint16_t> words(buffers.words.data(), kBytes);
  std::vector<Alternative> all;
  all.push_back({"word table", [&buffers, &table, words](int calls) {
                   for (int i = 0; i < calls; ++i) {
                     keep(decode_by_words(table, words, buffers.back.data(), 0));
                   }
                 }});
  for (const BlockKernel& kernel : block_kernels()) {
    all.push_back({std::string(kernel.name), [&buffers, words, decode = kernel.decode](int calls) {
                     for (int i = 0; i < calls; ++i) {
                       Disparity disparity = Disparity::kMinus;
                       keep(decode(words, buffers.back.data(), disparity));
                     }
                   }});
  }
  return all;
}

void print(const char* what, std::vector<Alternative>& all) {
  std::printf("%s, %zu bytes\n", what, kBytes);
  for (Alternative& alternative : all) {
    std::printf("  %-12s %8.1f ns %6.2f GB/s, %5.2f times the table\n", alternative.name.c_str(),
                alternative.median(), static_cast<double>(kBytes) / alternative.median(),
                all.front().median() / alternative.median());
  }
}

bool goal(const std::string& what, std::vector<Alternative>& all, const std::string& name,
          double least) {
  for (Alternative& alternative : all) {
    if (alternative.name != name) continue;
    const double ratio = all.front().median() / alternative.median();
    std::printf("  %-40s %6.2f  goal >= %.2f  %s\n", what.c_str(), ratio, least,
                ratio >= least ? "met" : "MISSED");
    std::printf("result: %s = %.2f\n", what.c_str(), ratio);
    return ratio >= least;
  }
  std::printf("  %-40s not measured on this machine\n", what.c_str());
  return true;
}

}  // namespace

int main() {
  Random random(1);
  Buffers buffers;
  for (std::byte& byte : buffers.data)
    byte = static_cast<std::byte>(random.next());
  const ByteTable bytes = make_byte_table();
  const WordTable words = make_word_table();
  std::printf("in use: %s\n", std::string(block_kernels().back().name).c_str());
  std::vector<Alternative> encoding = encoders(buffers, bytes);
  measure(encoding);
  print("8b/10b encoding", encoding);
  bool met = goal("8b/10b encoding, portable / byte table", encoding, "portable", 3);
  met &= goal("8b/10b encoding, AVX-512 / byte table", encoding, "vbmi", 10);
  // What is decoded begins at negative disparity.
  (void)encode_block(buffers.data, buffers.words, Disparity::kMinus);
  std::vector<Alternative> decoding = decoders(buffers, words);
  measure(decoding);
  print("8b/10b decoding", decoding);
  return met ? 0 : 1;
}
