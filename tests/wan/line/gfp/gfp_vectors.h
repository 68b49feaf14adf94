// SPDX-License-Identifier: Apache-2.0
// Frames that another program made from G.7041's text, and that tshark 4.0.17 reads without a
// complaint; not scrambled.
#pragma once

#include <string_view>

namespace weft::wan {

// An Ethernet frame, with FCS.
inline constexpr std::string_view kEthernetFrame =
    "005ebb3b10011352020000000002020000000001891560000000001c1b40fe800000000000000000000000000001"
    "fe8000000000000000000000000000020440ffff000000128000000168656c6c6f20776f726c6421b461397a"
    "246695e23ca55165";
// IPv4 in PPP, with FCS.
inline constexpr std::string_view kPppFrame =
    "002ce5ee10022331ff0300214500002000010000401166ca0a0000010a00000212345678000c0000deadbeef"
    "151fc32b";
// IPv4, without FCS.
inline constexpr std::string_view kIpv4Frame =
    "002464e6001012314500002000010000401166ca0a0000010a00000212345678000c0000deadbeef";
// The Ethernet frame in channel 0, without FCS.
inline constexpr std::string_view kBareFrame =
    "005afbbf00011021020000000002020000000001891560000000001c1b40fe800000000000000000000000000001"
    "fe8000000000000000000000000000020440ffff000000128000000168656c6c6f20776f726c6421b461397a"
    "246695e2";

}  // namespace weft::wan
