// SPDX-License-Identifier: Apache-2.0
#include "io/socket_address.h"

#include <gtest/gtest.h>
#include <net/if.h>

namespace weft::io {
namespace {

TEST(SocketAddress, ParsesWhatItPrints) {
  for (const char* text :
       {"192.0.2.1:4791", "[2001:db8::1]:4791", "[::]:0", "[fe80::1%lo]:65535"}) {
    const auto address = SocketAddress::parse(text);
    ASSERT_TRUE(address.has_value()) << text;
    EXPECT_EQ(address->to_string(), text);
  }
}

TEST(SocketAddress, HoldsIpv4AsAMappedAddress) {
  const auto address = SocketAddress::parse("192.0.2.1:7");
  ASSERT_TRUE(address.has_value());
  EXPECT_TRUE(address->is_ipv4());
  EXPECT_EQ(address->address, Gid::from_ipv4(0xC0000201));
  EXPECT_EQ(address->port, 7);
  EXPECT_EQ(*address, *SocketAddress::parse("[::ffff:192.0.2.1]:7"));
}

TEST(SocketAddress, TakesAnAddressWithoutPort) {
  EXPECT_EQ(SocketAddress::parse("2001:db8::1")->address, *parse_address("2001:db8::1"));
  EXPECT_EQ(SocketAddress::parse("[2001:db8::1]")->port, 0);
  EXPECT_EQ(SocketAddress::parse("10.0.0.1")->address, Gid::from_ipv4(0x0A000001));
  EXPECT_EQ(SocketAddress::parse("fe80::1%lo")->scope_id, if_nametoindex("lo"));
}

TEST(SocketAddress, RefusesTextThatIsNoAddress) {
  for (const char* text :
       {"", "host", "1.2.3:4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:x", "[::1", "[::1]x",
        "[::1]:", "[]:1", "[::1]:-1", "fe80::1%nosuchif0", "1.2.3.4:99999999999"}) {
    EXPECT_FALSE(SocketAddress::parse(text).has_value()) << text;
  }
}

TEST(SocketAddress, SurvivesSockaddrOfBothFamilies) {
  sockaddr_storage raw{};
  const auto v4 = *SocketAddress::parse("192.0.2.1:4791");
  EXPECT_NE(v4.to_sockaddr(AF_INET, raw), 0u);
  EXPECT_EQ(raw.ss_family, AF_INET);
  EXPECT_EQ(SocketAddress::from_sockaddr(raw), v4);
  EXPECT_NE(v4.to_sockaddr(AF_INET6, raw), 0u);
  EXPECT_EQ(raw.ss_family, AF_INET6);
  EXPECT_EQ(SocketAddress::from_sockaddr(raw), v4);
  const auto v6 = *SocketAddress::parse("[fe80::1%lo]:9");
  EXPECT_NE(v6.to_sockaddr(AF_INET6, raw), 0u);
  EXPECT_EQ(SocketAddress::from_sockaddr(raw), v6);
}

TEST(SocketAddress, CannotPutIpv6IntoAnIpv4Socket) {
  sockaddr_storage raw{};
  EXPECT_EQ(SocketAddress::parse("[2001:db8::1]:9")->to_sockaddr(AF_INET, raw), 0u);
  EXPECT_NE(SocketAddress{}.to_sockaddr(AF_INET, raw), 0u);
  EXPECT_EQ(SocketAddress::from_sockaddr(raw), SocketAddress{});
}

}  // namespace
}  // namespace weft::io
