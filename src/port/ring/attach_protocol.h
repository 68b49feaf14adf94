// SPDX-License-Identifier: Apache-2.0
// How a program and the daemon of a lab agree on a place on a node's adapter, all its ports. The
// program says who it is over a SOCK_SEQPACKET socket in the lab's directory, one message at a
// time, each request answered by one answer; packets then go through the memory that it is given
// (shared_memory.h). Both are built together and run on one machine, so structures travel in host
// order as they are.
//
//   program                                  daemon
//     Hello -------------------------------->
//                    <-- Welcome, with the descriptors of File
//     Request ------------------------------>
//                    <-- Answer ------------
//                    <== Facts, Arena ======    over the news socket, unasked; Facts of each port
//                                               at once
//
// The attachment ends with the connection: its queue pair numbers are free again, and what it has
// handed over still arrives. A daemon that ends the connection, and the news socket with it, has
// been lied to, or is gone itself.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace weft::port::attach {

inline constexpr uint32_t kMagic = 0x77656174;  // "weat"
inline constexpr uint32_t kVersion = 4;

inline constexpr size_t kMostName = 64;  // of a node, bytes
inline constexpr size_t kMostPorts = 255;
inline constexpr size_t kMostGids = 128;
inline constexpr size_t kMostPkeys = 128;

struct Hello {
  uint32_t magic;
  uint32_t version;
  uint32_t attach;  // 1; 0: nothing but the Welcome is wanted, without files
  uint32_t reserved;
  char node[kMostName + 8];  // its name in the lab, ended by a zero
};

// What comes with a welcome, in this order.
enum File : uint32_t {
  kProgramMemory = 0,  // the program writes to it, the daemon reads
  kDaemonMemory = 1,   // the daemon writes to it, the program reads
  kDoorbell = 2,       // eventfd, to be written to only: the program wakes the daemon
  // The end of a pipe, to be read till it is empty: the daemon wakes the program. Of an eventfd
  // both would share the flag that keeps the daemon from waiting.
  kArrivals = 3,
  kNews = 4,  // SOCK_SEQPACKET: Facts and Arena come here
  kFiles = 5,
};

struct Welcome {
  int32_t error;  // errno; 0: welcome
  // The number of the program's memory in the lab, as ArrivalSlot names it, from 1 and never used
  // again while the lab runs. What the program sends to itself stays there.
  uint32_t arena;
  char message[256];  // with an error: what is wrong, one line, ended by a zero
  // What does not change while the lab runs.
  uint32_t ports;  // of the adapter, 1 to 255
  uint32_t vendor_id;
  uint32_t part_id;
  uint32_t hardware;
  uint64_t node_guid;
  uint64_t system_guid;
  char firmware[24];
  char description[72];
};

enum Action : uint32_t {
  kAllocate = 1,  // a queue pair number, on port 1
  kRelease = 2,   // gives one back
  kJoin = 3,      // packets to a multicast group arrive, too
  kLeave = 4,
  kMapped = 5,  // the arena of that number may be referred to from now on
  kMove = 6,    // the queue pair is on that port from now on, and no raw one
  // A raw queue pair: what follows says comes to it whole, and it sends packets of whomever.
  kMakeRaw = 7,
  kDivert = 8,   // packets of that rule go to it, or to it and others that ask for the same
  kRestore = 9,  // and no more
};

// Which packets of the queue pair's port, as hca::RawRule has it (raw_rule_code.h).
enum Rule : uint32_t {
  kToLid = 1,
  kToGids = 2,
  kToOtherLids = 3,
  kToOtherGids = 4,
  kEverything = 5,
};

struct Request {
  uint32_t action;
  uint32_t qpn;        // of all but kAllocate and kMapped
  uint32_t arena;      // of kMapped
  uint32_t port;       // of kMove, from 1
  uint8_t group[16];   // MGID, of kJoin and kLeave; the prefix of kToGids, with zeros behind it
  uint32_t rule = 0;   // Rule, of kDivert and kRestore
  uint32_t value = 0;  // of kToLid the LID, of kToGids how many bits
};

struct Answer {
  int32_t error;  // errno
  uint32_t qpn;   // of kAllocate
  char message[256];
};

enum Kind : uint32_t { kFacts = 1, kArena = 2, kArenaGone = 3 };

// What happened since the Facts before, besides what they show. A bit mask.
enum Event : uint32_t {
  kClientReregister = 1u << 0,  // the subnet manager asks for it (IBA 14.4.11)
};

// What PortInfo says of a port now; the codes are PortInfo's. `gids` times 16 bytes and `pkeys`
// times uint16_t follow: whole tables up to the last entry in use.
struct Facts {
  uint32_t kind;
  uint32_t epoch;  // 1 and up; packets say by which facts they were made (SendSlot)
  uint32_t events;
  uint32_t capabilities;
  uint16_t lid;
  uint16_t sm_lid;
  uint8_t lmc;
  uint8_t sm_sl;
  uint8_t state;
  uint8_t physical_state;
  uint8_t mtu_cap;
  uint8_t neighbor_mtu;
  uint8_t width_active;
  uint8_t speed_active;
  uint8_t speed_ext_active;
  uint8_t operational_vls;
  uint8_t subnet_timeout;
  uint8_t init_type_reply;
  uint8_t vl_cap;
  uint8_t port;  // of the adapter, from 1
  uint8_t reserved[6];
  uint16_t pkey_violations;
  uint16_t qkey_violations;
  uint16_t gids;
  uint16_t pkeys;
  uint64_t gid_prefix;
};

// Memory of another program of this user, which may be read: arrivals will refer to it, once the
// program has said kMapped. Comes with its file, and the next when that was said. kArenaGone,
// without a file: that program has gone, the last arrival that refers to its memory has been taken,
// and no more will come.
struct Arena {
  uint32_t kind;
  uint32_t arena;
};

}  // namespace weft::port::attach
