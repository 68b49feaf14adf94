// SPDX-License-Identifier: Apache-2.0
// The emulated WAN of streams, over Unix sockets: what keeps it from sleeping.
#include "daemon/wan/stream_proxy.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

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

}  // namespace
}  // namespace weft::daemon
