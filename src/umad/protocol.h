// SPDX-License-Identifier: Apache-2.0
// What libibumad.so.3 and the daemon of a lab say to each other, over SOCK_SEQPACKET sockets in
// the lab's directory, one message at a time. Both are built together and run on one machine, so
// structures travel in host order as they are.
//
//   library                                  daemon
//     Hello{kDescribe} -------------------->
//                    <-- Welcome, then as many PortFacts as it says, each with its P_Keys
//
// At the socket `attach`, like all who want to run on a node; at the socket `mads`:
//
//     Hello{kSubnetManager} --------------->
//                    <-- Welcome: the path that whoever opens it is the port's subnet manager
//
//     Hello{kOpen} ------------------------>
//                    <-- Welcome. From here on the connection is the port:
//     Register, a socket ------------------>
//                    <-- Registered ------    over that socket
//     Unregister, a socket ---------------->
//                    <-- Registered ------    over that socket
//     Mad ---------------------------------> a datagram to send
//                    <-- Mad -------------    one that came in, or that nobody answered
//     Taken ------------------------------->  a long one was read
//
// Answers to Register come over a socket of their own, so that nothing but datagrams ever makes the
// connection readable: programs poll it. A datagram of more than kMostInline bytes travels as a
// sealed memory file; its first kFront bytes stand in the message too.
//
// Who is let in at `mads` owns the fabric: management datagrams of every node go this way.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace weft::umad::protocol {

inline constexpr uint32_t kMagic = 0x77656D64;  // "wemd"
inline constexpr uint32_t kVersion = 1;

inline constexpr size_t kMostName = 64;       // of a node, bytes
inline constexpr size_t kMostAgents = 32;     // of a connection, numbered from 0
inline constexpr size_t kMostPkeys = 1024;    // of a port
inline constexpr size_t kMostPorts = 9;       // of an adapter: what umad_ca_t has room for
inline constexpr size_t kMostInline = 8192;   // bytes of a datagram in a message
inline constexpr size_t kFront = 256;         // bytes of a longer one, which has a file too
inline constexpr size_t kMostMad = 64 << 20;  // bytes of a datagram that RMPP carries

enum Purpose : uint32_t { kDescribe = 1, kOpen = 2, kSubnetManager = 3 };

struct Hello {
  uint32_t magic;
  uint32_t version;
  uint32_t purpose;
  uint32_t port;             // kOpen, kSubnetManager: 0 on a switch, else 1 and up
  char node[kMostName + 8];  // its name in the lab, ended by a zero
};

struct Welcome {
  int32_t error;      // errno; 0: welcome
  uint32_t ports;     // kDescribe: how many PortFacts follow
  char message[256];  // with an error: what is wrong, one line; kSubnetManager: the path
  // kDescribe:
  char adapter[20];  // what programs call it
  char type[40];
  char firmware[20];
  char hardware[20];
  uint32_t node_type;  // 1: channel adapter, 2: switch
  uint64_t node_guid;
  uint64_t system_guid;
};

struct PortFacts {
  uint32_t number;
  uint32_t lid;
  uint32_t lmc;
  uint32_t sm_lid;
  uint32_t sm_sl;
  uint32_t state;  // PortInfo's codes, of these two
  uint32_t physical_state;
  uint32_t width;      // lanes
  uint32_t lane_mbps;  // data rate as it is called: 2500, 14000, 25000, ...
  uint32_t capabilities;
  uint64_t gid_prefix;
  uint64_t guid;
  uint32_t pkeys;  // how many uint16_t follow
  uint32_t reserved;
};

enum Kind : uint32_t { kRegister = 1, kUnregister = 2, kMad = 3, kTaken = 4 };

struct Register {
  uint32_t kind;
  uint8_t mgmt_class;
  uint8_t class_version;
  uint8_t rmpp;  // 1: the port cuts up and puts together long messages
  uint8_t oui[3];
  uint8_t reserved[6];
  uint64_t methods[2];  // bit m of word 0: method m; of word 1: method 64 + m
};

struct Unregister {
  uint32_t kind;
  uint32_t agent;
};

struct Registered {
  int32_t error;  // errno
  uint32_t agent;
  char message[256];  // with an error
};

struct Address {
  uint32_t qpn;
  uint32_t qkey;
  uint16_t lid;
  uint16_t pkey_index;
  uint8_t sl;
  uint8_t path_bits;
  uint8_t global;  // 1: what follows counts
  uint8_t gid_index;
  uint8_t hop_limit;
  uint8_t traffic_class;
  uint8_t reserved[2];
  uint32_t flow_label;
  uint8_t gid[16];
};

// Its bytes follow: all of them, or the first kFront and a file with all.
struct Mad {
  uint32_t kind;
  uint32_t agent;
  uint32_t status;      // errno, from the daemon: ETIMEDOUT, or why it could not be sent
  uint32_t timeout_ms;  // 0: no answer is waited for
  uint32_t retries;
  uint32_t length;  // bytes of the datagram
  Address address;
};

struct Taken {
  uint32_t kind;
  uint32_t length;
};

}  // namespace weft::umad::protocol
