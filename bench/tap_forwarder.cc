// SPDX-License-Identifier: Apache-2.0
// The least that a program can do between two TAP interfaces: it reads a frame from one and writes
// it to the other, and nothing else. What Ethernet over the fabric is measured by.
//
//   tap_forwarder NAMESPACE-A NAMESPACE-B NAME MTU offloads|plain SPIN
//
// The interfaces are called NAME, and are made as those of LAN ports are, in the network namespaces
// of these files; with `offloads` their kernels leave checksums and segmentation undone. It looks
// for frames for SPIN microseconds before it sleeps. It prints a line when they are there, and runs
// until it is killed.
#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "io/clock.h"
#include "io/spin_wait.h"
#include "io/tap_interface.h"

namespace {

using weft::Bytes;
using weft::MutableBytes;
using weft::io::TapInterface;
using weft::io::TapOptions;

constexpr int kMostAtOnce = 64;  // frames read from one end before the other has its turn

std::unique_ptr<TapInterface> make_interface(char** arguments, std::uint8_t end) {
  auto made = TapInterface::make({
      .name = arguments[3],
      .network_namespace = arguments[1 + end],
      .mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(end + 1)},
      .mtu = static_cast<std::uint32_t>(std::strtoul(arguments[4], nullptr, 10)),
      .offloads = std::string_view(arguments[5]) == "offloads",
  });
  if (!made) {
    fmt::print(stderr, "tap_forwarder: {}\n", made.error().message);
    std::exit(1);
  }
  if (const auto on = (*made)->set_carrier(true); !on) {
    fmt::print(stderr, "tap_forwarder: {}\n", on.error().message);
    std::exit(1);
  }
  return std::move(*made);
}

void forward(TapInterface& from, TapInterface& to, MutableBytes place) {
  for (int n = 0; n < kMostAtOnce; ++n) {
    const Bytes frame = from.receive(0, place);
    if (frame.empty()) return;
    // What the kernel has no room for is lost, as on any Ethernet.
    (void)to.send(0, std::span(&frame, 1));
  }
}

int run(TapInterface& a, TapInterface& b, std::chrono::microseconds spin) {
  static std::array<std::byte, TapInterface::kHeader + TapInterface::kLongestFrame> place;
  std::array<pollfd, 2> ends{pollfd{a.queues()[0].get(), POLLIN, 0},
                             pollfd{b.queues()[0].get(), POLLIN, 0}};
  weft::io::SpinWait wait(spin);
  bool sleeps = true;
  while (poll(ends.data(), ends.size(), sleeps ? -1 : 0) >= 0) {
    if (ends[0].revents != 0) forward(a, b, place);
    if (ends[1].revents != 0) forward(b, a, place);
    if (ends[0].revents != 0 || ends[1].revents != 0) wait.reset();
    sleeps = !wait.look_again(weft::io::now());
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc == 7 ? argv[5] : "";
  if (how != "offloads" && how != "plain") {
    fmt::print(stderr,
               "usage: tap_forwarder NAMESPACE-A NAMESPACE-B NAME MTU offloads|plain SPIN\n");
    return 2;
  }
  const auto a = make_interface(argv, 0);
  const auto b = make_interface(argv, 1);
  fmt::print("ready\n");
  std::fflush(stdout);
  return run(*a, *b, std::chrono::microseconds(std::strtoul(argv[6], nullptr, 10)));
}
