// SPDX-License-Identifier: Apache-2.0
// What the shim and the ports in a program and the host agent say to each other: over a
// SOCK_SEQPACKET socket in the user's runtime directory, one message at a time, each request
// answered by one reply. Both are built together and run on one machine, so structures travel in
// host order as they are.
//
//   shim                                     agent
//     Hello{kOpen}, faults, capture --------->
//                    <-- Welcome, a socket ---     once for each open rdma_cm file
//     Request, command, option value  ------->
//                    <-- Answer, response ----
//
//   port                                     agent
//     Hello{kSlot}   ------------------------>
//                    <-- Welcome, a socket ---
//                    <-- Agreement -----------    now and then, unasked
//
//   weft status                              agent
//     Hello{kReport} ------------------------>
//                    <-- Welcome, a file -----    the agent's report, JSON (docs/cli.md)
//
// That socket is what the program polls: it is readable as long as events wait, and what is
// readable there is not for the program to take. A forked child that goes on using its parent's
// file says Hello{kJoin} over a connection of its own.
//
// The daemon of a lab is such an agent for each of its nodes, at a socket in the lab's directory:
// it takes Hello{kOpen} and Hello{kJoin}, which name the node.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace weft::host::door {

inline constexpr uint32_t kMagic = 0x77656674;  // "weft"
inline constexpr uint32_t kVersion = 6;
inline constexpr size_t kMostNode = 64;  // bytes of a node's name

enum Purpose : uint32_t {
  kOpen = 1,    // a new rdma_cm file
  kJoin = 2,    // one more connection to a file that is open
  kSlot = 3,    // a slot of UDP port 4791; it is given back when the connection ends
  kReport = 4,  // what the agent does now; for root too, whoever's the agent is
};

enum WireName : uint32_t { kWireUdp = 0, kWireRoce = 2 };

struct Hello {
  uint32_t magic;
  uint32_t version;
  uint32_t purpose;
  uint32_t wire;             // WireName
  uint32_t cm_port;          // UDP port of queue pair 1 on `udp`
  uint32_t ordinal;          // kOpen: how many files the process has opened before
  uint64_t file;             // kJoin: which
  uint64_t secret;           // kJoin: that it is allowed to
  uint32_t fault_size;       // kOpen: of what follows, what `weft run --fault` was given
  uint32_t capture_size;     // kOpen: and of what follows that, the name of the capture file
  char node[kMostNode + 8];  // of a lab: its name, ended by a zero
};

struct Welcome {
  int32_t error;  // errno; 0: welcome
  uint32_t slot;  // kSlot: its number
  uint64_t file;  // names the file to the agent
  uint64_t secret;
  char message[256];  // with an error: what is wrong, one line, ended by a zero
};

struct Request {
  uint32_t command_size;  // what the program wrote
  uint32_t extra_size;    // what SET_OPTION points to
  uint64_t other;         // the file that MIGRATE_ID's descriptor stands for
};

struct Answer {
  int32_t error;  // errno; 0: done
  uint32_t size;  // of the response that follows
};

// To the owner of a slot: a queue pair of the slot and its peer may use Weft's extensions.
struct Agreement {
  uint32_t local_qpn;
  uint32_t remote_qpn;
  uint8_t remote_gid[16];
};

// Of queue pair 1 on wire `udp`, unless configured (port::kManagementPort).
inline constexpr uint32_t kDefaultCmPort = 14791;

inline constexpr uint32_t kMostFault = 512;
inline constexpr uint32_t kMostCapture = 4096;
inline constexpr uint32_t kMostCommand = 1024;
inline constexpr uint32_t kMostExtra = 2048;
inline constexpr uint32_t kMostResponse = 1024;

}  // namespace weft::host::door
