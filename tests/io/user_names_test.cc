// SPDX-License-Identifier: Apache-2.0
#include "io/user_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "io/lab_refusal.h"

namespace weft::io {
namespace {

TEST(UserNames, AreThoseOfTheMachineOrNumbers) {
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(find_user("root"), uid_t{0});
  EXPECT_EQ(find_group("root"), gid_t{0});
  // Nobody has the number, and yet it is one.
  EXPECT_EQ(user_name(4'000'000'001), "4000000001");
  EXPECT_EQ(find_user("4000000001"), uid_t{4'000'000'001});
  EXPECT_EQ(find_group("4000000001"), gid_t{4'000'000'001});
}

TEST(UserNames, AreNothingElse) {
  for (const char* name : {"", "no such user", "-1", "4294967295", "4294967296", "12x"}) {
    EXPECT_FALSE(find_user(name)) << name;
    EXPECT_FALSE(find_group(name)) << name;
  }
}

std::string new_directory() {
  std::string pattern = testing::TempDir() + "weft-lab-XXXXXX";
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  return pattern;
}

TEST(RefusalOfALab, NamesWhatIsMissingAndWhoCanGiveIt) {
  const std::string own = new_directory();
  const std::string others = new_directory();
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(chown(others.c_str(), 65533, 65533), 0);
  }
  const Error closed{std::errc::permission_denied, "connect to mads: Permission denied"};
  EXPECT_EQ(explain_refusal(closed, own, "manage").message, closed.message);
  const Error refused = explain_refusal(closed, is_root ? others : "/usr", "manage");
  EXPECT_EQ(refused.code, std::errc::permission_denied);
  EXPECT_THAT(refused.message, testing::ContainsRegex("^lab (65533|root)/.* does not let user .* "
                                                      "manage .*: weft up --access manage="));
  const Error busy{std::errc::timed_out, "it is busy"};
  EXPECT_EQ(explain_refusal(busy, others, "manage").message, busy.message);
  rmdir(own.c_str());
  rmdir(others.c_str());
}

}  // namespace
}  // namespace weft::io
