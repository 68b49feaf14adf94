// SPDX-License-Identifier: Apache-2.0
// Conversations with the daemon of the lab in which this process runs on a node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/unique_fd.h"
#include "umad/protocol.h"

namespace weft::umad {

// Where this process runs.
struct Place {
  std::string lab;   // the lab's directory, where its daemon listens
  std::string node;  // its name in the lab
};
// As `weft run --node` says it: WEFT_LAB and WEFT_NODE. no_such_device without these.
Expected<Place> place_from_environment();

struct Port {
  protocol::PortFacts facts;
  std::vector<std::uint16_t> pkeys;
};

// The node's adapter, with its ports; a switch has port 0 only.
struct Adapter {
  protocol::Welcome facts;
  std::vector<Port> ports;
  [[nodiscard]] const Port* find(std::uint32_t number) const;
};

// As it is now. no_such_device: the lab has no such node; other errors say what became of it.
Expected<Adapter> describe(const Place& place);

// A connection that is the port from now on.
Expected<io::UniqueFd> open_port(const Place& place, std::uint32_t port);

// The file that whoever keeps it open is subnet manager of the port.
Expected<std::string> subnet_manager_path(const Place& place, std::uint32_t port);

// Sends a request of an open port's connection and waits for its answer.
Expected<protocol::Registered> ask(int connection, Bytes request);

// Sends a message, with a file unless that is negative; waits while the daemon does not read.
Expected<void> send_waiting(int connection, Bytes message, int descriptor = -1);

// Sends a datagram of header.length bytes, in a file if it is long.
Expected<void> send_mad(int connection, const protocol::Mad& header, Bytes datagram);

}  // namespace weft::umad
