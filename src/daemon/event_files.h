// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>

#include "base/error.h"
#include "io/unique_fd.h"
#include "rdmacm/identity.h"

namespace weft::daemon {

// What programs poll in place of /dev/infiniband/rdma_cm: an eventfd for each channel, in semaphore
// mode, that holds one for each event that waits.
class EventFiles {
 public:
  // The descriptor stays ours; the program gets a copy.
  Expected<io::UniqueFd> make() const;
  int add(rdmacm::ChannelId channel, io::UniqueFd file);
  void remove(rdmacm::ChannelId channel) { files_.erase(channel); }

  // As rdmacm::EventSignal has them.
  void raised(rdmacm::ChannelId channel);
  void withdrawn(rdmacm::ChannelId channel, std::size_t count);

 private:
  std::map<rdmacm::ChannelId, io::UniqueFd> files_;
};

}  // namespace weft::daemon
