// SPDX-License-Identifier: Apache-2.0
// What the kernel says of IPv6 routes, in messages put together as rtnetlink(7) has them. That it
// says so, and when, is in tests/e2e/lab_kernel_routes.sh.
#include "io/kernel_routes.h"

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>

#include "base/gid_text.h"

namespace weft::io {
namespace {

constexpr std::uint32_t kTable = 1000;  // more than the header's one byte holds

template <class Value>
void append(std::vector<std::byte>& to, const Value& value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

void append_attribute(std::vector<std::byte>& to, unsigned short type, Bytes data) {
  append(to, rtattr{static_cast<unsigned short>(RTA_LENGTH(data.size())), type});
  to.insert(to.end(), data.begin(), data.end());
  to.resize(NLMSG_ALIGN(to.size()));
}

Bytes bytes_of(const Gid& gid) {
  return std::as_bytes(std::span(gid.bytes()));
}

struct RouteMessage {
  rtmsg route{.rtm_family = AF_INET6,
              .rtm_dst_len = 64,
              .rtm_src_len = 0,
              .rtm_tos = 0,
              .rtm_table = RT_TABLE_COMPAT,
              .rtm_protocol = RTPROT_BOOT,
              .rtm_scope = RT_SCOPE_UNIVERSE,
              .rtm_type = RTN_UNICAST,
              .rtm_flags = 0};
  unsigned short type = RTM_NEWROUTE;
  std::optional<Gid> destination = parse_gid("fd00:0:0:2::");
  std::optional<Gid> gateway = parse_gid("2001:db8::2");
  std::vector<std::byte> ways{};

  [[nodiscard]] std::vector<std::byte> write() const {
    std::vector<std::byte> out;
    append(out, nlmsghdr{});
    append(out, route);
    const std::uint32_t table = kTable;
    const std::uint32_t metric = 7;
    append_attribute(out, RTA_TABLE, std::as_bytes(std::span(&table, 1)));
    append_attribute(out, RTA_PRIORITY, std::as_bytes(std::span(&metric, 1)));
    if (destination) append_attribute(out, RTA_DST, bytes_of(*destination));
    if (gateway) append_attribute(out, RTA_GATEWAY, bytes_of(*gateway));
    if (!ways.empty()) append_attribute(out, RTA_MULTIPATH, ways);
    const nlmsghdr header{.nlmsg_len = static_cast<std::uint32_t>(out.size()),
                          .nlmsg_type = type,
                          .nlmsg_flags = NLM_F_MULTI,
                          .nlmsg_seq = 1,
                          .nlmsg_pid = 2};
    std::memcpy(out.data(), &header, sizeof header);
    return out;
  }
};

std::optional<KernelRoute> parsed(const RouteMessage& message) {
  return parse_kernel_route(message.write(), kTable);
}

TEST(KernelRoutes, HaveAPrefixAGatewayAndAMetric) {
  EXPECT_EQ(parsed({}), (KernelRoute{.prefix = *parse_gid_prefix("fd00:0:0:2::/64"),
                                     .gateway = *parse_gid("2001:db8::2"),
                                     .metric = 7}));
  EXPECT_FALSE(parse_kernel_route(RouteMessage{}.write(), kTable + 1));
}

TEST(KernelRoutes, MayBeTheDefaultRoute) {
  RouteMessage message;
  message.route.rtm_dst_len = 0;
  message.destination.reset();
  ASSERT_TRUE(parsed(message));
  EXPECT_EQ(parsed(message)->prefix, GidPrefix());
}

TEST(KernelRoutes, LeadByTheFirstOfSeveralWays) {
  RouteMessage message;
  message.gateway.reset();
  for (const char* const by : {"2001:db8::3", "2001:db8::4"}) {
    std::vector<std::byte> gateway;
    append_attribute(gateway, RTA_GATEWAY, bytes_of(*parse_gid(by)));
    rtnexthop way{};
    way.rtnh_len = static_cast<unsigned short>(sizeof way + gateway.size());
    append(message.ways, way);
    message.ways.insert(message.ways.end(), gateway.begin(), gateway.end());
  }
  ASSERT_TRUE(parsed(message));
  EXPECT_EQ(parsed(message)->gateway, *parse_gid("2001:db8::3"));
  message.ways.resize(sizeof(rtnexthop));
  EXPECT_FALSE(parsed(message)) << "it says that it is longer";
}

TEST(KernelRoutes, AreNoneThatLeadNowhere) {
  const auto changed = [](auto change) {
    RouteMessage message;
    change(message);
    return parsed(message);
  };
  EXPECT_FALSE(changed([](RouteMessage& m) { m.type = RTM_DELROUTE; }));
  EXPECT_FALSE(changed([](RouteMessage& m) { m.route.rtm_family = AF_INET; }));
  EXPECT_FALSE(changed([](RouteMessage& m) { m.route.rtm_type = RTN_BLACKHOLE; }));
  EXPECT_FALSE(changed([](RouteMessage& m) { m.route.rtm_src_len = 64; }));
  EXPECT_FALSE(changed([](RouteMessage& m) { m.route.rtm_dst_len = 129; }));
  EXPECT_FALSE(changed([](RouteMessage& m) { m.route.rtm_flags = RTNH_F_DEAD; }));
  EXPECT_FALSE(changed([](RouteMessage& m) { m.gateway.reset(); }));
}

TEST(KernelRoutes, AreNotReadFromPiecesOfMessages) {
  const auto whole = RouteMessage{}.write();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // Without its end there is no gateway.
    EXPECT_FALSE(parse_kernel_route(Bytes(whole).first(size), kTable)) << size;
  }
}

}  // namespace
}  // namespace weft::io
