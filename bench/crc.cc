// SPDX-License-Identifier: Apache-2.0
// The CRC kernels beside their rivals, in one run: ISA-L's crc32_gzip_refl and slicing by 8.
//
// Alternatives take turns, a fraction of a millisecond each, so that a change of clock or a busy
// neighbour meets them all; a figure is the median of its turns. Data is in the first-level cache.
#include "wire/crc.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "wire/crc_slice.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"

#ifdef WEFT_HAVE_ISAL
#include <isa-l/crc.h>
#endif

namespace {

using namespace weft;
using namespace weft::wire;

constexpr int kTurns = 201;
constexpr double kTurnNs = 100'000;

// Keeps the compiler from dropping or hoisting what is measured.
void keep(std::uint64_t value) {
  asm volatile("" : : "r"(value) : "memory");
}

struct Alternative {
  std::string name;
  std::function<void(int)> run;  // so many times
  std::vector<double> ns;        // per call, one for each turn

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
    (void)time_ns(alternative, 1000);
    calls.push_back(std::max(1, static_cast<int>(kTurnNs / time_ns(alternative, 1000))));
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      alternatives[i].ns.push_back(time_ns(alternatives[i], calls[i]));
    }
  }
}

// Calls `crc` on the data over and over, each time with a state that the last did not produce.
template <class Crc>
Alternative over(std::string name, Bytes data, Crc crc) {
  return {std::move(name),
          [data, crc](int calls) {
            for (int i = 0; i < calls; ++i)
              keep(crc(static_cast<std::uint32_t>(i), data));
          },
          {}};
}

std::uint64_t first_of(CrcPair pair) {
  return pair.icrc ^ pair.vcrc;
}

std::vector<Alternative> alternatives_for(Bytes data) {
  std::vector<Alternative> all;
  all.push_back(over("slice-by-8 ICRC", data, [](std::uint32_t state, Bytes bytes) {
    return detail::update_sliced<std::uint32_t, 8>(detail::kSlices32<8>, state, bytes);
  }));
#ifdef WEFT_HAVE_ISAL
  all.push_back(over("ISA-L crc32_gzip_refl", data, [](std::uint32_t state, Bytes bytes) {
    // ISA-L's interface takes bytes as unsigned char.
    return crc32_gzip_refl(~state, reinterpret_cast<const unsigned char*>(bytes.data()),
                           bytes.size());
  }));
#endif
  for (const CrcKernel& kernel : crc_kernels()) {
    const std::string name(kernel.name);
    all.push_back(over(name + " ICRC", data, kernel.crc32));
    all.push_back(
        over(name + " VCRC", data, [crc = kernel.crc16](std::uint32_t state, Bytes bytes) {
          return crc(static_cast<std::uint16_t>(state), bytes);
        }));
    all.push_back(over(name + " both", data, [crc = kernel.both](std::uint32_t state, Bytes bytes) {
      return first_of(crc({state, static_cast<std::uint16_t>(state)}, bytes));
    }));
  }
  all.push_back(over("in use ICRC", data, crc32_update));
  all.push_back(over("in use both", data, [](std::uint32_t state, Bytes bytes) {
    return first_of(crc_both_update({state, static_cast<std::uint16_t>(state)}, bytes));
  }));
  return all;
}

// Speed of `one` over that of `other`; 0 if one of them was not measured.
double ratio(std::vector<Alternative>& all, const std::string& one, const std::string& other) {
  double ns[2] = {0, 0};
  for (Alternative& alternative : all) {
    if (alternative.name == one) ns[0] = alternative.median();
    if (alternative.name == other) ns[1] = alternative.median();
  }
  return ns[0] > 0 ? ns[1] / ns[0] : 0;
}

bool goal(const char* what, double measured, double least) {
  if (measured == 0) {
    std::printf("  %-58s not measured on this machine\n", what);
    return true;
  }
  const bool met = measured >= least;
  std::printf("  %-58s %6.2f  goal >= %.2f  %s\n", what, measured, least, met ? "met" : "MISSED");
  std::printf("result: %s = %.2f\n", what, measured);
  return met;
}

bool bench_kernels(const std::vector<std::byte>& data) {
  bool met = true;
  for (const std::size_t size : {256u, 1024u, 4096u}) {
    std::vector<Alternative> all = alternatives_for(Bytes(data).first(size));
    measure(all);
    std::printf("%zu bytes\n", size);
    for (Alternative& alternative : all) {
      std::printf("  %-24s %8.1f ns %8.2f GB/s\n", alternative.name.c_str(), alternative.median(),
                  static_cast<double>(size) / alternative.median());
    }
    if (size >= 1024) {
      met &= goal(size == 1024 ? "both / one, 1 KiB" : "both / one, 4 KiB",
                  ratio(all, "in use both", "in use ICRC"), 0.85);
    }
    if (size == 4096) {
      met &= goal("ICRC / ISA-L", ratio(all, "in use ICRC", "ISA-L crc32_gzip_refl"), 0.9);
      met &= goal("PCLMUL ICRC / slice-by-8", ratio(all, "pclmul ICRC", "slice-by-8 ICRC"), 12);
    }
  }
  return met;
}

// What a switch does to packet after packet: another VL, and the VCRC that goes with it.
bool bench_hop() {
  constexpr std::size_t kPackets = 8;
  bool met = true;
  std::printf("VCRC after a hop changed the VL\n");
  for (const std::size_t size : {66u, 290u, 1058u, 2082u, 4130u}) {
    std::vector<std::vector<std::byte>> packets(kPackets, std::vector<std::byte>(size));
    std::vector<Alternative> all{{"recomputed",
                                  [&packets](int calls) {
                                    for (int i = 0; i < calls; ++i) {
                                      const MutableBytes packet =
                                          packets[static_cast<std::size_t>(i) % kPackets];
                                      LrhView(packet).set_vl(Vl{static_cast<std::uint8_t>(i >> 3)});
                                      const Bytes covered = packet.first(packet.size() - 2);
                                      store_le16(packet.data() + covered.size(),
                                                 crc16_finish(crc16_update(kVcrcPreset, covered)));
                                    }
                                  },
                                  {}},
                                 {"updated",
                                  [&packets](int calls) {
                                    for (int i = 0; i < calls; ++i) {
                                      rewrite_vl(packets[static_cast<std::size_t>(i) % kPackets],
                                                 Vl{static_cast<std::uint8_t>(i >> 3)});
                                    }
                                  },
                                  {}}};
    measure(all);
    std::printf("  %4zu bytes  recomputed %6.1f ns  updated %5.1f ns\n", size, all[0].median(),
                all[1].median());
    if (size == 2082) {
      met &= goal("recomputed / updated at 2 KiB", all[0].median() / all[1].median(), 10);
    }
  }
  return met;
}

}  // namespace

int main() {
  std::mt19937_64 random(1);
  std::vector<std::byte> data(8192);
  for (std::byte& byte : data)
    byte = static_cast<std::byte>(random());
  std::printf("in use: %s\n", std::string(crc_kernels().back().name).c_str());
  const bool kernels = bench_kernels(data);
  const bool hop = bench_hop();
  return kernels && hop ? 0 : 1;
}
