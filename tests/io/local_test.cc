// SPDX-License-Identifier: Apache-2.0
// What a process finds on its own machine: runtime directory, Unix sockets, network interfaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "io/net_interfaces.h"
#include "io/runtime_dir.h"
#include "io/socket_address.h"
#include "io/state_dir.h"
#include "io/unix_socket.h"

namespace weft::io {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Local : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "weft-local-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(base_); }
  std::string base_;
};

TEST_F(Local, RuntimeDirectoryIsMadePrivateInsideXdgRuntimeDir) {
  ASSERT_EQ(setenv("XDG_RUNTIME_DIR", base_.c_str(), 1), 0);
  for (int again = 0; again < 2; ++again) {
    const auto directory = runtime_directory();
    ASSERT_TRUE(directory.has_value()) << directory.error().message;
    EXPECT_EQ(*directory, base_ + "/weft");
    struct stat status {};
    ASSERT_EQ(stat(directory->c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
  }
}

TEST_F(Local, RuntimeDirectoryIsElsewhereWhereXdgRuntimeDirIsNoDirectoryOfOurs) {
  ASSERT_EQ(unsetenv("XDG_RUNTIME_DIR"), 0);
  const auto without = runtime_directory_candidates();
  EXPECT_THAT(without, Contains("/tmp/weft-" + std::to_string(geteuid())));
  for (const std::string& value : {std::string("relative"), base_ + "/missing"}) {
    ASSERT_EQ(setenv("XDG_RUNTIME_DIR", value.c_str(), 1), 0);
    EXPECT_EQ(runtime_directory_candidates(), without);
    const auto directory = runtime_directory();
    ASSERT_TRUE(directory.has_value()) << directory.error().message;
    EXPECT_THAT(without, Contains(*directory));
  }
}

TEST_F(Local, RuntimeDirectoryPassesOverOneThatOthersMayEnter) {
  ASSERT_EQ(setenv("XDG_RUNTIME_DIR", base_.c_str(), 1), 0);
  const std::string open_to_all = base_ + "/weft";
  ASSERT_EQ(mkdir(open_to_all.c_str(), 0700), 0);
  EXPECT_THAT(runtime_directories(), Contains(open_to_all));
  ASSERT_EQ(chmod(open_to_all.c_str(), 0755), 0);
  const auto directory = runtime_directory();
  ASSERT_TRUE(directory.has_value()) << directory.error().message;
  EXPECT_NE(*directory, open_to_all);
  EXPECT_THAT(runtime_directories(), AllOf(Contains(*directory), Not(Contains(open_to_all))));
}

TEST_F(Local, StateDirectoryIsMadeWithWhatIsAboveIt) {
  const std::string home = base_ + "/home/of/somebody";
  ASSERT_EQ(setenv("HOME", home.c_str(), 1), 0);
  ASSERT_EQ(setenv("XDG_STATE_HOME", "relative", 1), 0);
  for (const std::string& parent : {home + "/.local/state", base_ + "/state"}) {
    const auto directory = state_directory();
    ASSERT_TRUE(directory.has_value()) << directory.error().message;
    EXPECT_EQ(*directory, parent + "/weft");
    struct stat status {};
    ASSERT_EQ(stat(directory->c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
    ASSERT_EQ(setenv("XDG_STATE_HOME", (base_ + "/state").c_str(), 1), 0);
  }
}

TEST_F(Local, StateDirectoryIsNoneThatOthersMayEnter) {
  ASSERT_EQ(setenv("XDG_STATE_HOME", base_.c_str(), 1), 0);
  ASSERT_TRUE(state_directory().has_value());
  ASSERT_EQ(chmod((base_ + "/weft").c_str(), 0755), 0);
  const auto directory = state_directory();
  ASSERT_FALSE(directory.has_value());
  EXPECT_THAT(directory.error().message, HasSubstr("is open to other users"));
}

// A user whom nobody else is, whose names in /tmp another user (root) holds.
class HeldNames : public Local {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
    Local::SetUp();
    ASSERT_EQ(unsetenv("XDG_RUNTIME_DIR"), 0);
    ASSERT_EQ(seteuid(user_), 0);
    names_ = runtime_directory_candidates();
    ASSERT_EQ(seteuid(0), 0);
    ASSERT_EQ(names_.size(), 10u);
  }
  void TearDown() override {
    if (names_.empty()) return;
    EXPECT_EQ(seteuid(0), 0);
    for (const std::string& name : names_)
      std::filesystem::remove_all(name);
    Local::TearDown();
  }
  void hold(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(ensure_private_directory(names_[i]).has_value()) << names_[i];
    ASSERT_EQ(seteuid(user_), 0);
  }
  const uid_t user_ = 1'000'000 + static_cast<uid_t>(getpid());
  std::vector<std::string> names_;
};

TEST_F(HeldNames, MakeTheRuntimeDirectoryTheNextNameThatIsFree) {
  hold(2);
  const auto directory = runtime_directory();
  ASSERT_TRUE(directory.has_value()) << directory.error().message;
  EXPECT_EQ(*directory, "/tmp/weft-" + std::to_string(user_) + "-2");
  EXPECT_EQ(runtime_directory().value(), *directory);
  EXPECT_THAT(runtime_directories(), ElementsAre(*directory));
}

TEST_F(HeldNames, LeaveADirectoryOfEarlierTimesVisible) {
  hold(1);
  const auto spare = runtime_directory();
  ASSERT_TRUE(spare.has_value()) << spare.error().message;
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(rmdir(names_[0].c_str()), 0);
  ASSERT_EQ(seteuid(user_), 0);
  EXPECT_EQ(runtime_directory().value(), names_[0]);
  EXPECT_THAT(runtime_directories(), ElementsAre(names_[0], *spare));
}

TEST_F(HeldNames, AreRefusedWhenNoneIsLeft) {
  hold(names_.size());
  const auto directory = runtime_directory();
  ASSERT_FALSE(directory.has_value());
  EXPECT_EQ(directory.error().code, std::errc::permission_denied);
  EXPECT_THAT(directory.error().message, HasSubstr(names_[0]));
  EXPECT_TRUE(runtime_directories().empty());
}

TEST_F(Local, RefusesADirectoryThatAnotherUserOwns) {
  // Whoever runs this, the root directory of the file system or a directory given away is foreign.
  std::string foreign = "/";
  if (geteuid() == 0) {
    foreign = base_ + "/foreign";
    ASSERT_EQ(mkdir(foreign.c_str(), 0700), 0);
    ASSERT_EQ(chown(foreign.c_str(), 12345, 12345), 0);
  }
  const auto result = ensure_private_directory(foreign);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, std::errc::permission_denied);
  EXPECT_THAT(result.error().message, HasSubstr(foreign + " belongs to user "));
}

TEST_F(Local, RefusesADirectoryThatOthersMayEnter) {
  const std::string open_to_all = base_ + "/open";
  ASSERT_EQ(mkdir(open_to_all.c_str(), 0700), 0);
  ASSERT_EQ(chmod(open_to_all.c_str(), 0755), 0);
  const auto result = ensure_private_directory(open_to_all);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("mode 0755"));
}

TEST_F(Local, RefusesASymbolicLinkAndAFileInPlaceOfADirectory) {
  ASSERT_EQ(mkdir((base_ + "/real").c_str(), 0700), 0);
  ASSERT_EQ(symlink((base_ + "/real").c_str(), (base_ + "/link").c_str()), 0);
  EXPECT_FALSE(ensure_private_directory(base_ + "/link").has_value());
  EXPECT_EQ(ensure_private_directory(base_ + "/missing/deep").error().code,
            std::errc::no_such_file_or_directory);
}

TEST_F(Local, UnixSocketsCarryMessagesAndNameThePeer) {
  const std::string path = base_ + "/s";
  const auto listener = listen_unix(path, UnixKind::kSeqPacket);
  ASSERT_TRUE(listener.has_value()) << listener.error().message;
  EXPECT_EQ(accept_unix(listener->get(), true)->has_value(), false);
  const auto client = connect_unix(path, UnixKind::kSeqPacket, 1s);
  ASSERT_TRUE(client.has_value()) << client.error().message;
  const auto accepted = accept_unix(listener->get(), true);
  ASSERT_TRUE(accepted.has_value() && accepted->has_value());
  ASSERT_EQ(send(client->get(), "ab", 2, 0), 2);
  ASSERT_EQ(send(client->get(), "cde", 3, 0), 3);
  char buffer[16];
  EXPECT_EQ(recv((*accepted)->get(), buffer, sizeof buffer, 0), 2);  // boundaries are kept
  EXPECT_EQ(recv((*accepted)->get(), buffer, sizeof buffer, 0), 3);
  const auto peer = peer_credentials((*accepted)->get());
  ASSERT_TRUE(peer.has_value());
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_EQ(peer->uid, geteuid());
  EXPECT_FALSE(peer_credentials(-1).has_value());
}

TEST_F(Local, ConnectingTimesOutOnAListenerThatNeverAccepts) {
  const std::string path = base_ + "/s";
  const auto listener = listen_unix(path, UnixKind::kStream, 0);
  ASSERT_TRUE(listener.has_value());
  std::vector<UniqueFd> queued;
  for (int i = 0; i < 10; ++i) {
    auto client = connect_unix(path, UnixKind::kStream, 1ms);
    if (!client) {
      EXPECT_EQ(client.error().code, std::errc::timed_out);
      return;
    }
    queued.push_back(std::move(*client));
  }
  FAIL() << "a queue of length 0 took ten connections";
}

TEST_F(Local, ReplacesAnAbandonedSocketButNoOther) {
  const std::string path = base_ + "/s";
  { ASSERT_TRUE(listen_unix(path, UnixKind::kStream).has_value()); }  // closed; its file stays
  EXPECT_EQ(connect_unix(path, UnixKind::kStream, 1s).error().code, std::errc::connection_refused);
  const auto second = listen_unix(path, UnixKind::kStream);
  ASSERT_TRUE(second.has_value()) << second.error().message;
  const auto third = listen_unix(path, UnixKind::kStream);
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().message, "bind " + path + ": Address already in use");
  EXPECT_TRUE(connect_unix(path, UnixKind::kStream, 1s).has_value());
  EXPECT_FALSE(listen_unix(base_, UnixKind::kStream).has_value());  // a directory is left alone
  EXPECT_TRUE(std::filesystem::is_directory(base_));
}

TEST_F(Local, RefusesASocketPathThatDoesNotFit) {
  EXPECT_EQ(listen_unix(std::string(200, 'x'), UnixKind::kStream).error().code,
            std::errc::filename_too_long);
  EXPECT_FALSE(connect_unix("", UnixKind::kStream, 1s).has_value());
}

TEST(NetInterfaces, ListTheLoopbackInterfaceWithItsAddresses) {
  const auto interfaces = list_interfaces();
  ASSERT_TRUE(interfaces.has_value()) << interfaces.error().message;
  const auto lo = std::find_if(interfaces->begin(), interfaces->end(),
                               [](const auto& each) { return each.loopback; });
  ASSERT_NE(lo, interfaces->end());
  EXPECT_EQ(lo->name, "lo");
  EXPECT_EQ(lo->index, if_nametoindex("lo"));
  EXPECT_GE(lo->mtu, 1500u);
  EXPECT_TRUE(lo->up);
  EXPECT_FALSE(lo->default_route);
  EXPECT_FALSE(lo->mac.has_value());
  const auto v4 = std::find_if(lo->addresses.begin(), lo->addresses.end(), [](const auto& each) {
    return each.address == Gid::from_ipv4(0x7F000001);
  });
  ASSERT_NE(v4, lo->addresses.end());
  EXPECT_EQ(v4->prefix_bits, 8);
  EXPECT_FALSE(v4->tentative);
  EXPECT_FALSE(v4->temporary);
}

// The C library's own list is the judge.
TEST(NetInterfaces, NameEveryInterfaceOnceInOrderAndAtMostOneDefaultRoute) {
  const auto interfaces = list_interfaces();
  ASSERT_TRUE(interfaces.has_value());
  struct if_nameindex* const names = if_nameindex();
  ASSERT_NE(names, nullptr);
  std::size_t count = 0;
  for (const auto* each = names; each->if_index != 0; ++each, ++count) {
    const auto found = std::find_if(interfaces->begin(), interfaces->end(),
                                    [&](const auto& have) { return have.index == each->if_index; });
    ASSERT_NE(found, interfaces->end()) << each->if_name;
    EXPECT_EQ(found->name, each->if_name);
  }
  if_freenameindex(names);
  EXPECT_EQ(interfaces->size(), count);
  EXPECT_TRUE(std::is_sorted(interfaces->begin(), interfaces->end(),
                             [](const auto& a, const auto& b) { return a.index < b.index; }));
  EXPECT_LE(std::count_if(interfaces->begin(), interfaces->end(),
                          [](const auto& each) { return each.default_route; }),
            1);
}

}  // namespace
}  // namespace weft::io
