// SPDX-License-Identifier: Apache-2.0
#include "port/udp/multicast.h"

#include <gtest/gtest.h>

#include "io/socket_address.h"

namespace weft::port {
namespace {

Gid gid(const char* text) {
  return io::parse_address(text).value();
}

TEST(MulticastGroup, OfAnIpv4MappedMgidIsItself) {
  EXPECT_EQ(multicast_group(gid("::ffff:239.1.2.3")), gid("239.1.2.3"));
}

TEST(MulticastGroup, OfTheRoceV1FormIsTheEmbeddedIpv4Group) {
  EXPECT_EQ(multicast_group(gid("ff0e::ffff:239.1.2.3")), gid("239.1.2.3"));
}

TEST(MulticastGroup, OfAnEmbeddedUnicastAddressIsTheIpv6GroupItself) {
  EXPECT_EQ(multicast_group(gid("ff0e::ffff:10.1.2.3")), gid("ff0e::ffff:10.1.2.3"));
}

TEST(MulticastGroup, OfAnyOtherMgidIsTheIpv6GroupOfTheSameBytes) {
  EXPECT_EQ(multicast_group(gid("ff12:401b:ffff::1")), gid("ff12:401b:ffff::1"));
}

}  // namespace
}  // namespace weft::port
