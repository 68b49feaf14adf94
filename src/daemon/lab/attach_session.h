// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "daemon/lab/other_users.h"
#include "daemon/lab/ring_program.h"
#include "fabric/channel_adapter.h"
#include "io/reactor.h"
#include "io/unique_fd.h"
#include "io/unix_socket.h"
#include "port/ring/attach_protocol.h"

namespace weft::daemon {

class AttachServer;

// One connection of a program that comes to be attached: what it asks for, what it is told, and its
// rings. What it says is checked; what makes no sense ends the connection.
class AttachSession final : private RingOwner {
 public:
  AttachSession(AttachServer& server, std::uint64_t id, io::UniqueFd socket,
                const io::PeerCredentials& peer, OtherUsers::Place place);
  AttachSession(const AttachSession&) = delete;
  AttachSession& operator=(const AttachSession&) = delete;
  ~AttachSession() override;

  Expected<void> start();

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const io::PeerCredentials& peer() const { return peer_; }
  // Null: it has no place yet.
  [[nodiscard]] RingProgram* program() { return program_.get(); }
  [[nodiscard]] const RingProgram* program() const { return program_.get(); }
  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] std::size_t queue_pairs() const { return queue_pairs_; }

  // What has happened for it since: to its rings, and over its news socket.
  // False: the connection is over.
  bool flush();
  // When to flush() whatever has happened. Nothing: no such time.
  [[nodiscard]] std::optional<Time> deadline() const;
  // A memory that it was offered is no more referred to.
  void arena_gone(std::uint32_t arena);
  // The connection is over, but not what was sent.
  void leave(Time now);

  // The server's notes.
  bool active = false;    // its rings are looked at
  bool to_flush = false;  // it waits for flush()
  Time last_active{};

 private:
  // A queue pair number that is given back when what it sent before has gone.
  struct Release {
    Qpn qpn{};
    std::uint64_t last = 0;  // packet
    Time until{};            // and then not any more
  };
  struct Offer {
    std::uint32_t arena = 0;
    std::weak_ptr<port::ring::ProgramBlocks> blocks;
  };

  // Those that are false have found that the connection is over.
  void on_ready(std::uint32_t events);
  bool read_all();
  bool on_message(Bytes message);
  bool on_hello(Bytes message);
  bool on_question(Bytes message);
  bool on_request(Bytes message);
  bool on_release(Qpn qpn);
  bool on_move(Qpn qpn, std::uint32_t port);
  bool on_mapped(std::uint32_t arena);
  bool on_make_raw(Qpn qpn);
  bool on_rule(const port::attach::Request& request, Qpn qpn);
  bool go_on();  // with what waited
  bool attach(fabric::ChannelAdapter& adapter);
  bool welcome(const port::attach::Welcome& welcome, std::span<const int> files = {});
  bool turn_away(const Error& why);
  bool answer(const Expected<Qpn>& result);
  bool nonsense();  // counts it

  // RingOwner
  void touched() override;
  void not_mapped(port::ring::ProgramBlocks& sender) override;
  void port_changed(mgmt::PortNumber port, bool reregister) override;

  [[nodiscard]] bool has_news() const;
  // False: there is no room, or nobody reads.
  bool tell(Bytes message, int file = -1);
  bool tell_facts();
  bool tell_gone();
  bool tell_arena();
  void tell_all();

  AttachServer& server_;
  const std::uint64_t id_;
  io::UniqueFd socket_;
  const io::PeerCredentials peer_;
  const OtherUsers::Place place_;
  std::vector<std::byte> buffer_;
  bool has_said_hello_ = false;
  fabric::ChannelAdapter* adapter_ = nullptr;
  std::string node_;
  std::unique_ptr<RingProgram> program_;
  std::size_t queue_pairs_ = 0;
  std::optional<Release> releasing_;  // no further request is read

  io::UniqueFd news_;
  // Ports whose facts it is to be told, with the events (Event) that are part of them.
  std::map<mgmt::PortNumber, std::uint32_t> owed_facts_;
  // Memory of others, by its numbers: what is or was to be offered, what was not yet, and the one
  // of which it did not say yet that it has mapped it.
  std::unordered_set<std::uint32_t> offered_;
  std::optional<std::uint32_t> unreadable_;  // the last that this program may not read
  std::deque<Offer> offers_;
  std::optional<std::uint32_t> unanswered_;
  std::deque<std::uint32_t> gone_;
  io::Reactor::Registration watch_;
  io::Reactor::Registration doorbell_watch_;
  io::Reactor::Registration news_watch_;  // while there is no room
};

}  // namespace weft::daemon
