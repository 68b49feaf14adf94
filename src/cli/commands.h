// SPDX-License-Identifier: Apache-2.0
// The commands of `weft`, after their options were read. Each returns the exit status.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/service_settings.h"

namespace CLI {
class App;
}

namespace weft::cli {

enum ExitStatus : int {
  kOk = 0,
  kProblem = 1,  // doctor found one; a report could not be had
  kRefused = 2,  // bad usage, or a program that cannot be run: nothing was started
};

// One line on stderr, "weft run: MESSAGE", and kRefused.
int refuse(std::string_view command, std::string_view message);

struct RunOptions {
  // As given on the command line; what is not given comes from the environment.
  std::optional<std::string> wire;
  std::optional<std::string> interface;
  std::optional<std::string> capture;
  std::optional<std::string> ports;
  std::optional<std::string> socket_buffer;
  std::optional<std::string> fault;
  std::optional<std::string> keep_alive;
  std::optional<std::string> cm_port;
  std::optional<std::string> node;  // of a lab
  std::optional<std::string> lab;
  bool stats = false;
  std::vector<std::string> program;  // with its arguments
};
// Returns only when the program was not started: it replaces this process.
int run(const RunOptions& options);

struct DevicesOptions {
  bool json = false;
  bool verbose = false;
};
int devices(const DevicesOptions& options);

struct DoctorOptions {
  bool json = false;
  std::string program;  // empty: none
};
int doctor(const DoctorOptions& options);

struct StatusOptions {
  std::string lab;  // nothing but that; empty: all that is this user's
  bool json = false;
  bool details = false;
};
int status(const StatusOptions& options);

struct UpOptions {
  std::string file;                 // a lab file or a listing; "-": standard input
  std::string name;                 // empty: the file's own
  std::string sm;                   // weft, opensm or none; empty: as the file has it
  std::string part;                 // of a lab in parts, which to run; else empty
  bool extend = false;              // weft extend: the part that has its extenders
  std::vector<std::string> access;  // each "attach=everyone", whatever the file says
  bool detach = false;
  friend bool operator==(const UpOptions&, const UpOptions&) = default;
};
// Runs a lab, or a part of it, in the foreground, or behind, until it is told to end.
int up(const UpOptions& options);

struct DownOptions {
  std::string name;  // empty: the only one
};
int down(const DownOptions& options);

struct LinkOptions {
  std::string lab;  // empty: the only one
  std::string link;
  std::string action = "show";  // "show", "up", "down", "degrade"; of conform: a link
  std::string value;            // of degrade: "loss=1%,delay=2ms", "none"
  std::string svg;              // of show: a file for the picture of a sweep; empty: none
  // Of conform, whose word stands where a link does.
  std::string role;     // "requester", "responder", "both"; empty: both
  std::string capture;  // a file; empty: none
  std::optional<unsigned> replay;
  bool json = false;
};
// The words that it takes.
void define_link(CLI::App& link, LinkOptions& options);
int link(const LinkOptions& options);

struct LanOptions {
  std::string lab;              // empty: the only one
  std::string action = "show";  // "show", "arp", "up", "down"
  std::string where;            // "host1", "host1:2"; empty: all
  // Of up, in place of what the lab file says.
  std::optional<std::string> netns, name, offloads, bridge;  // "on", "off"; bridge: "auto" too
  std::optional<std::uint32_t> mtu, queues, channels;
  bool json = false;
};
// The words that it takes.
void define_lan(CLI::App& lan, LanOptions& options);
int lan(const LanOptions& options);

struct SmOptions {
  std::string lab;  // empty: the only one
  // Of a node: the manager that `weft sm run` runs there; neither: the lab's own.
  std::optional<std::string> node;
  std::optional<std::uint32_t> port;
  std::string action = "status";  // "status", "history", "topology", "metrics", "path", "explain"
  std::string from, to;           // end ports, of path and explain
  bool json = false;
};
int sm(const SmOptions& options);

struct PolicyOptions {
  std::string lab;  // empty: the only one
  // Of a node: the manager that `weft sm run` runs there; neither: the lab's own.
  std::optional<std::string> node;
  std::optional<std::uint32_t> port;
  std::string action = "list";        // "list", "add", "delete", "drain", "restore", "explain",
                                      // "log", "export", "save"
  std::vector<std::string> words;     // what the action wants
  std::optional<std::string> before;  // of add: a rule, by its number or name
  bool save = false;                  // of add and delete: then save
  bool json = false;
};
// The words that it takes.
void define_policy(CLI::App& policy, PolicyOptions& options);
int policy(const PolicyOptions& options);

struct ServiceOptions {
  std::string lab;   // empty: the only one
  std::string name;  // of a data service; empty: all of them
  bool json = false;
};
// The words that it takes.
void define_service(CLI::App& service, ServiceOptions& options);
int service(const ServiceOptions& options);
// The rules of the service of that name are read anew.
int service_reload(const ServiceOptions& options);

struct CaptureOptions {
  std::string lab;  // empty: the only one
  std::string link;
  std::vector<std::string> filter;
  std::string file;         // empty or "-": standard output
  std::uint64_t count = 0;  // 0: until it is interrupted
};
int capture(const CaptureOptions& options);

struct ResourceOptions {
  std::string show;  // "qp", "cq", "mr", "cm_id"; empty: a summary
  bool json = false;
  bool details = false;
};
int resource(const ResourceOptions& options);

struct LabOptions {
  std::string what;  // "fat-tree", "torus", "dragonfly", "line", "import", "check"
  std::string file;  // of import and check; "-": standard input
  std::optional<std::string> size;
  std::optional<unsigned> hosts;
  std::optional<std::string> name;
};
// Writes lab files to standard output.
int lab(const LabOptions& options);

struct WanEmulatorOptions {
  std::string carries;         // "udp" or "stream"
  std::string listen, target;  // addresses
  std::string path;            // settings of both directions
  std::string forward;         // what differs towards the target
  std::string backward;
  std::string settings;   // a file with such lists; empty: none
  std::string memory;     // a size; empty: as is usual
  std::string equipment;  // of streams that are lines, what stands in them; empty: nothing
  double interval = 0;    // seconds between reports; 0: at the end only
  bool json = false;
};
// The words that it takes.
void define_wan_emulator(CLI::App& emulator, WanEmulatorOptions& options);
// Makes the way between two programs look like a WAN, until it is interrupted.
int wan_emulator(const WanEmulatorOptions& options);

struct WanOptions {
  std::string action;  // "encode", "decode", "explain"
  std::string stack;   // as site files name it
  std::string input;   // a file; empty or "-": standard input
  std::string output;  // a file; empty or "-": standard output
  // Of IP in the stack, whoever sends and whoever receives, with ports of UDP; as is usual if
  // empty.
  std::string from, to;
  std::size_t count = 3;  // of explain: frames of each kind
  bool json = false;
};
// The words that it takes.
void define_wan_codec(CLI::App& wan, WanOptions& options);
// Converts between captures of InfiniBand and the bytes of a WAN.
int wan_codec(const WanOptions& options);

struct FirewallOptions {
  std::string action;   // "check", "test"
  std::string rules;    // a file; "-": standard input
  std::string capture;  // of test: a file
  bool json = false;
};
// The words that it takes.
void define_firewall(CLI::App& firewall, FirewallOptions& options);
// Looks at firewall rules, and at what they do with packets of a capture.
int firewall(const FirewallOptions& options);

struct ServeOptions {
  std::string type;                  // of daemon::types_outside()
  std::vector<std::string> listens;  // addresses
  ServiceSettings settings;
  std::string key, certificate;  // files
  std::vector<std::string> fingerprints;
  bool insecure = false;
  bool json = false;
};
// The words that it takes.
void define_serve(CLI::App& serve, ServeOptions& options);
// A data service for labs elsewhere, until it is interrupted.
int serve(const ServeOptions& options);

struct ExtendOptions {
  bool plan = false;
  bool json = false;
  // With units, as given; what is not given is as is usual.
  std::optional<std::string> distance;
  std::optional<std::string> per_metre;
  std::optional<std::string> equipment;
  std::optional<std::string> round_trip;
  std::optional<std::string> rate;
  std::optional<std::string> signalling;
  std::optional<std::string> local_credit;
  std::optional<unsigned> lanes;
  std::optional<unsigned> sites;
  friend bool operator==(const ExtendOptions&, const ExtendOptions&) = default;
};
// What an extension of a fabric over a WAN needs.
int extend(const ExtendOptions& options);

}  // namespace weft::cli
