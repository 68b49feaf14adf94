// SPDX-License-Identifier: Apache-2.0
// A program's conversation with the daemon of its lab (ring/attach_protocol.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "hca/raw_rule.h"
#include "io/unique_fd.h"
#include "port/ring/attach_protocol.h"
#include "port/ring/port_facts.h"

namespace weft::port {

// Where a program runs.
struct NodePlace {
  std::string lab;   // the lab's directory, where its daemon listens
  std::string node;  // its name in the lab
};

// What the daemon tells of the adapter of a node. no_such_device: the lab has no such node, or it
// has no adapter; other errors say what became of the lab.
Expected<attach::Welcome> describe_adapter(const NodePlace& place);

// A place on the adapter, which ends with the object.
class NodeAttachment {
 public:
  using Files = std::array<io::UniqueFd, attach::kFiles>;

  // Fills `files`, all but kNews, which stays here.
  static Expected<std::unique_ptr<NodeAttachment>> open(const NodePlace& place, Files& files);

  [[nodiscard]] const attach::Welcome& welcome() const { return welcome_; }

  // Requests wait for their answer; any thread. Errors are the daemon's, or say that it has gone.
  Expected<Qpn> allocate();
  Expected<void> release(Qpn qpn);
  Expected<void> move(Qpn qpn, std::uint8_t port);
  Expected<void> join(Qpn qpn, const Gid& group);
  Expected<void> leave(Qpn qpn, const Gid& group);
  // Of raw queue pairs.
  Expected<void> make_raw(Qpn qpn);
  Expected<void> divert(Qpn qpn, const hca::RawRule& rule);
  Expected<void> restore(Qpn qpn, const hca::RawRule& rule);
  // That arrivals may refer to the memory of that number.
  Expected<void> mapped(std::uint32_t arena);

  struct FactsNews {
    PortFacts facts;
    bool reregister = false;
  };
  struct ArenaNews {
    std::uint32_t arena = 0;
    io::UniqueFd file;  // none: it is gone
  };
  using News = std::variant<FactsNews, ArenaNews>;
  // Readable when there is news.
  [[nodiscard]] int news_descriptor() const { return news_.get(); }
  // The oldest; nothing when there is none. Does not wait. An error: the daemon has ended the
  // attachment.
  Expected<std::optional<News>> next_news();
  // The same, and waits for one.
  Expected<News> await_news();

 private:
  NodeAttachment(io::UniqueFd connection, io::UniqueFd news, const attach::Welcome& welcome)
      : connection_(std::move(connection)), news_(std::move(news)), welcome_(welcome) {}
  Expected<attach::Answer> ask(const attach::Request& request);
  Expected<void> ask_for(attach::Action action, Qpn qpn, const Gid& group);
  Expected<void> ask_for(attach::Action action, Qpn qpn, const hca::RawRule& rule);

  std::mutex asking_;
  io::UniqueFd connection_;
  io::UniqueFd news_;
  attach::Welcome welcome_;
};

}  // namespace weft::port
