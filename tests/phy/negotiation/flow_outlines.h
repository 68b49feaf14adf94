// SPDX-License-Identifier: Apache-2.0
// What the three flow diagrams of the DDR auto-negotiation specification, clause 2.1.2, show, as
// flow_outline() prints it behind a line break.
#pragma once

namespace weft::phy::test {

inline constexpr const char* kCase1Outline = R"(
Node 0: SDR up
Node 0 -> Node 1: Capabilities Advertisement
Node 1: SDR up
Node 1 -> Node 0: Capabilities Advertisement
Node 1 -> Node 0: Capabilities Advertisement + ACK
Node 0 -> Node 1: Capabilities Advertisement + ACK
Node 0: sweeping
Node 1: sweeping
Node 0: returning to SDR
Node 1: returning to SDR
Node 0 -> Node 1: Result Advertisement
Node 1 -> Node 0: Result Advertisement
Node 1 -> Node 0: Result Advertisement + ACK
Node 0 -> Node 1: Result Advertisement + ACK
Node 0: going to DDR
Node 1: going to DDR
Node 0: DDR
Node 1: DDR
)";

inline constexpr const char* kCase2Outline = R"(
Node 0: SDR up
Node 0 -> Node 1: Capabilities Advertisement
Node 1: SDR up
Node 1 -> Node 0: Capabilities Advertisement
Node 1 -> Node 0: Capabilities Advertisement + ACK
Node 0 -> Node 1: Capabilities Advertisement + ACK (lost)
Node 1: sweeping
Node 0: sweeping
Node 1: returning to SDR
Node 0: returning to SDR
Node 0 -> Node 1: Result Advertisement
Node 1 -> Node 0: Result Advertisement
Node 1 -> Node 0: Result Advertisement + ACK (lost)
Node 0 -> Node 1: Result Advertisement + ACK
Node 0: going to DDR
Node 1: going to DDR
Node 0: DDR
Node 1: DDR
)";

inline constexpr const char* kCase3Outline = R"(
Node 0: SDR up
Node 0 -> Node 1: Capabilities Advertisement
Node 1: SDR up
Node 1 -> Node 0: Capabilities Advertisement
Node 1 -> Node 0: Capabilities Advertisement + ACK
Node 0 -> Node 1: Capabilities Advertisement + ACK
Node 0: sweeping
Node 1: sweeping
Node 0: returning to SDR
Node 1: returning to SDR
Node 0 -> Node 1: Result Advertisement
Node 1 -> Node 0: Result Advertisement
Node 1 -> Node 0: Result Advertisement + ACK
Node 0 -> Node 1: Result Advertisement + ACK
Node 0: ended at SDR
Node 1: ended at SDR
)";

}  // namespace weft::phy::test
