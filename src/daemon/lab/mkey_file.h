// SPDX-License-Identifier: Apache-2.0
// The file by which a subnet manager keeps the M_Keys of a subnet from one run to the next, in the
// format of OpenSM's guid2mkey. It is for its user alone: whoever knows the keys can manage the
// subnet.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/entropy.h"
#include "base/error.h"
#include "base/ids.h"
#include "sm/mkeys.h"
#include "sm/subnet.h"

namespace weft::daemon {

class MKeyFile {
 public:
  // A file that is not there is as one without any keys. Errors: it cannot be read, or is wrong,
  // with its name and line.
  static Expected<MKeyFile> open(const std::string& path);

  [[nodiscard]] const sm::MKeys& keys() const { return keys_; }
  // The key of a manager at this port: what the file says of the port, or else one that is drawn,
  // and stands in the file before anybody gets it. Errors: it cannot be written.
  Expected<std::uint64_t> own_key(Guid port, Entropy& entropy);
  // What end ports have by now; those that are not there stay as they are. Errors: what differs
  // cannot be written; the next call tries again.
  Expected<void> keep(const sm::Subnet& subnet);

 private:
  explicit MKeyFile(std::string path) : path_(std::move(path)) {}
  Expected<void> write();

  std::string path_;
  sm::MKeys keys_;
  sm::MKeys written_;  // that are in the file
};

}  // namespace weft::daemon
