// SPDX-License-Identifier: Apache-2.0
// The emulated WAN of streams, over Unix sockets: what keeps it from sleeping.
#include "daemon/wan/stream_proxy.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/clock.h"
#include "scarce.h"

namespace weft::daemon {
namespace {

class StreamProxies : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "weft-proxy-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    at_target_.path = directory_ + "/target";
    at_proxy_.path = directory_ + "/proxy";
    reactor_ = std::move(io::Reactor::create(0us).value());
    target_ = listen_stream(at_target_).value();
    proxy_ = StreamProxy::open(*reactor_, at_proxy_, at_target_, std::size_t{1} << 24).value();
  }
  void TearDown() override {
    proxy_.reset();
    std::filesystem::remove_all(directory_);
  }
  [[nodiscard]] io::UniqueFd client() { return connect_stream(at_proxy_).value(); }

  std::string directory_;
  std::unique_ptr<io::Reactor> reactor_;
  StreamAddress at_target_;
  StreamAddress at_proxy_;
  io::UniqueFd target_;
  std::unique_ptr<StreamProxy> proxy_;
};

TEST_F(StreamProxies, TurnAwayWhoeverComesWhenNoDescriptorIsLeft) {
  {
    const NoDescriptors none(1);
    const auto early = client();
    EXPECT_TRUE(comes_to_rest(*reactor_));
    std::array<char, 1> byte{};
    EXPECT_EQ(recv(early.get(), byte.data(), 1, 0), 0);
  }
  EXPECT_EQ(proxy_->report(io::now())["refused"], 1);
  const auto later = client();
  EXPECT_TRUE(comes_to_rest(*reactor_));
  EXPECT_EQ(proxy_->report(io::now())["connections"], 1);
}

// Its data is held back by the line, and longer than it stays.
TEST_F(StreamProxies, RestWhileTheyHaveMoreOfAClientThatIsGone) {
  wan::PathEmulation slow;
  slow.line.rate_bytes_per_s = 1000;
  proxy_->change(slow, {}, io::now());
  auto gone = client();
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  ASSERT_EQ(send(gone.get(), bytes.data(), bytes.size(), 0), ssize_t{100'000});
  gone.reset();
  EXPECT_TRUE(comes_to_rest(*reactor_));
  EXPECT_EQ(proxy_->report(io::now())["connections"], 1);

  const auto taken = accept_stream(target_.get()).value();
  ASSERT_TRUE(taken);
  std::vector<std::byte> room(bytes.size());
  std::size_t come = 0;
  Time now = io::now();
  for (ssize_t got = -1; got != 0 && come < bytes.size();) {
    proxy_->run(now += 1h);
    ASSERT_TRUE(reactor_->run_once(0us));
    got = recv(taken->get(), room.data() + come, room.size() - come, MSG_DONTWAIT);
    come += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  EXPECT_EQ(room, bytes);
  // Only the target can say something yet, and is not hurried.
  EXPECT_TRUE(comes_to_rest(*reactor_));
}

}  // namespace
}  // namespace weft::daemon
