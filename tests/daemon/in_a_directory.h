// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace weft::daemon {

// A directory of the test's own, which goes with it.
class InADirectory : public ::testing::Test {
 protected:
  InADirectory() : directory_(::testing::TempDir() + "weft-service-" + std::to_string(getpid())) {
    std::filesystem::create_directory(directory_);
  }
  ~InADirectory() override { std::filesystem::remove_all(directory_); }
  const std::string directory_;
};

}  // namespace weft::daemon
