// SPDX-License-Identifier: Apache-2.0
#include "port/udp/coalescing.h"

#include <gtest/gtest.h>

namespace weft::port {
namespace {

using Change = Coalescing::Change;

TEST(Coalescing, StaysOffForAPingPong) {
  Coalescing coalescing;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(coalescing.received(false), Change::kNone);
    EXPECT_EQ(coalescing.nothing_there(), Change::kNone);
  }
}

TEST(Coalescing, GoesOnOnceWhenDatagramsQueueUp) {
  Coalescing coalescing;
  int on = 0;
  for (int i = 0; i < 100; ++i)
    on += coalescing.received(i > 5) == Change::kOn ? 1 : 0;
  EXPECT_EQ(on, 1);
}

TEST(Coalescing, GoesOffAgainWhenOnlyLoneDatagramsCome) {
  Coalescing coalescing;
  for (int i = 0; i < 10; ++i)
    coalescing.received(true);
  int off = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(coalescing.received(false), Change::kNone) << "runs may be queued behind it";
    off += coalescing.nothing_there() == Change::kOff ? 1 : 0;
  }
  EXPECT_EQ(off, 1);
}

TEST(Coalescing, TriesAgainLaterWhenItCouldNotBeSwitchedOff) {
  Coalescing coalescing;
  for (int i = 0; i < 10; ++i)
    coalescing.received(true);
  int off = 0;
  for (int i = 0; i < 300; ++i) {
    coalescing.received(false);
    if (coalescing.nothing_there() != Change::kOff) continue;
    ++off;
    coalescing.still_on();
  }
  EXPECT_GT(off, 1);
}

TEST(Coalescing, StaysOnForAStreamThatLeavesNoRuns) {
  Coalescing coalescing;
  for (int i = 0; i < 4; ++i)
    coalescing.received(false);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(coalescing.received(false), Change::kNone);
}

}  // namespace
}  // namespace weft::port
