// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>

#include "base/bytes.h"
#include "base/error.h"
#include "io/unique_fd.h"
#include "rdmacm/command_core.h"
#include "rdmacm/identity.h"

namespace weft::daemon {

// What programs poll in place of /dev/infiniband/rdma_cm: for each channel a socket that is
// readable as long as events wait there. Whatever a program does to its end, ours never waits: an
// eventfd that both have could be filled up by one of them.
class EventFiles {
 public:
  struct File {
    io::UniqueFd ours;
    io::UniqueFd theirs;
    std::size_t waiting = 0;  // events; what is readable says that there are some
  };

  Expected<File> make() const;
  // What the program gets a copy of.
  int add(rdmacm::ChannelId channel, File file);
  void remove(rdmacm::ChannelId channel) { files_.erase(channel); }

  // As rdmacm::EventSignal has them.
  void raised(rdmacm::ChannelId channel);
  void withdrawn(rdmacm::ChannelId channel, std::size_t count);
  // The program got an answer to a command, which may have been an event.
  void answered(rdmacm::ChannelId channel, Bytes command, const rdmacm::Reply& reply);

 private:
  std::map<rdmacm::ChannelId, File> files_;
};

}  // namespace weft::daemon
