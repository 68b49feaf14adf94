// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/mkey_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace weft::daemon {
namespace {

using ::testing::HasSubstr;

constexpr Guid kOwn{0x1001};

class Drawn final : public Entropy {
 public:
  explicit Drawn(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  std::uint64_t draw() override { return words_.at(drawn_++); }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t drawn_ = 0;
};

class MKeyFiles : public ::testing::Test {
 protected:
  MKeyFiles() {
    std::string name = ::testing::TempDir() + "mkeys-XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~MKeyFiles() override { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path() const { return directory_ + "/keys"; }
  void put(const std::string& text) { std::ofstream(path()) << text; }
  [[nodiscard]] sm::MKeys in_file() {
    const auto file = MKeyFile::open(path());
    EXPECT_TRUE(file);
    return file->keys();
  }

  std::string directory_;
};

TEST_F(MKeyFiles, HaveAKeyThatIsDrawnBeforeAnybodyGetsIt) {
  auto file = MKeyFile::open(path());
  ASSERT_TRUE(file);
  Drawn entropy({0, 77});  // 0 would be no key
  EXPECT_EQ(file->own_key(kOwn, entropy), 77u);
  EXPECT_EQ(in_file().of(kOwn), 77u);
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  // It stays that.
  Drawn none({});
  EXPECT_EQ(MKeyFile::open(path())->own_key(kOwn, none), 77u);
}

TEST_F(MKeyFiles, TakeTheKeyThatTheyHaveForThePortAsTheManagersOwn) {
  put("0x1001 0xab\n0x1002 0x0\n");
  auto file = MKeyFile::open(path());
  ASSERT_TRUE(file);
  Drawn entropy({5});
  EXPECT_EQ(file->own_key(kOwn, entropy), 0xABu);
  // A port that was not protected has no key that could be one.
  EXPECT_EQ(file->own_key(Guid{0x1002}, entropy), 5u);
}

TEST_F(MKeyFiles, KeepWhatPortsHaveAndThoseThatAreAway) {
  put("0x1001 0xab\n0x9999 0xcd\n");
  auto file = MKeyFile::open(path());
  ASSERT_TRUE(file);
  sm::Subnet subnet;
  sm::SubnetNode& node = subnet.nodes.emplace_back();
  node.info.type = wire::NodeType::kChannelAdapter;
  node.ports.resize(2);
  node.ports[1].guid = Guid{0x1002};
  node.ports[1].info = wire::PortInfo{.mkey = 0xAB};
  EXPECT_TRUE(file->keep(subnet));
  sm::MKeys all;
  all.put(kOwn, 0xAB);
  all.put(Guid{0x1002}, 0xAB);
  all.put(Guid{0x9999}, 0xCD);
  EXPECT_EQ(in_file(), all);
  // Nothing new is nothing to write.
  std::filesystem::remove(path());
  EXPECT_TRUE(file->keep(subnet));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(MKeyFiles, AreRefusedWhereTheyAreWrongOrCannotBeWritten) {
  put("0x1001 key\n");
  const auto wrong = MKeyFile::open(path());
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("keys:1: want a port GUID"));
  auto nowhere = MKeyFile::open(directory_ + "/nowhere/keys");
  ASSERT_TRUE(nowhere);
  Drawn entropy({5});
  EXPECT_FALSE(nowhere->own_key(kOwn, entropy)) << "a key that nobody could find again";
}

}  // namespace
}  // namespace weft::daemon
