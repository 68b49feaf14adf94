// SPDX-License-Identifier: Apache-2.0
// Files that say that somebody is subnet manager of a port: as long as anybody has one open, the
// port's CapabilityMask has IsSM. A program opens its file with open(), and it is closed when the
// program dies.
//
// Each is a FIFO whose writing end is ours. That it was opened is told by inotify; that nobody has
// it open any more, by the writing end, since inotify speaks before it is true.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "daemon/lab/mad_node.h"
#include "daemon/listener.h"
#include "io/reactor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

class SubnetManagerFiles {
 public:
  // They are made in `directory`, for those of `admission`, and removed from it at the end.
  SubnetManagerFiles(std::string directory, const Admission& admission, io::Reactor& reactor);
  ~SubnetManagerFiles();
  SubnetManagerFiles(const SubnetManagerFiles&) = delete;
  SubnetManagerFiles& operator=(const SubnetManagerFiles&) = delete;

  // The path of the file of a port, which is made if it is not there.
  Expected<std::string> path_of(std::string_view name, const MadNode& node, mgmt::PortNumber port);

 private:
  struct File {
    std::string path;
    MadNode node;
    mgmt::PortNumber port = 0;
    int watch = -1;  // inotify's name of it
    io::UniqueFd writer;
    io::Reactor::Registration until_closed;  // while it is open
  };

  Expected<void> start();
  Expected<std::unique_ptr<File>> make(const std::string& path, const MadNode& node,
                                       mgmt::PortNumber port);
  void read_news();
  void look_at(File& file);

  std::string directory_;
  Admission admission_;
  io::Reactor& reactor_;
  io::UniqueFd inotify_;
  io::Reactor::Registration news_;
  std::map<std::pair<std::string, mgmt::PortNumber>, std::unique_ptr<File>, std::less<>> files_;
};

}  // namespace weft::daemon
