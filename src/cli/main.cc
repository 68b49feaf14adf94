// SPDX-License-Identifier: Apache-2.0
// The `weft` command: reads the command line and calls a command.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/extend_site.h"
#include "cli/help.h"
#include "cli/service_run.h"
#include "cli/site_key.h"
#include "cli/sm_run.h"
#include "cli/suggest.h"
#include "fabric/lab.h"

namespace weft::cli {
namespace {

using Words = std::vector<std::string>;

Words option_names(const CLI::App& command) {
  Words names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string& name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

// Everything from the program's name on is the program's business: taken away from `words`, so that
// its options are never read as ours.
Words split_program(Words& words, const CLI::App& run) {
  auto at = words.begin() + 1;
  while (at != words.end() && at->starts_with('-') && *at != "--") {
    const CLI::Option* option = run.get_option_no_throw(*at);
    at += option != nullptr && option->get_expected_max() > 0 && at + 1 != words.end() ? 2 : 1;
  }
  const auto begin = at;
  if (at != words.end() && *at == "--") ++at;
  Words program(at, words.end());
  words.erase(begin, words.end());
  return program;
}

// CLI11's complaint in one line, with the choices there are.
std::string explain(const CLI::ParseError& error, const CLI::App& command) {
  const Words extra = command.remaining();
  if (!extra.empty()) {
    if (!extra[0].starts_with('-')) return fmt::format("{}: one word too many", extra[0]);
    const Words names = option_names(command);
    const std::string word = extra[0].substr(0, extra[0].find('='));
    return fmt::format("{}: no such option{} (there are {})", word, did_you_mean(word, names),
                       fmt::join(names, ", "));
  }
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message;
}

struct Options {
  RunOptions run;
  DevicesOptions devices;
  DoctorOptions doctor;
  LabOptions lab;
  ResourceOptions resource;
  UpOptions up;
  DownOptions down;
  LinkOptions link;
  LanOptions lan;
  PolicyOptions policy;
  ServiceOptions service;
  ServiceRunOptions service_run;
  SmOptions sm;
  SmRunOptions sm_run;
  CaptureOptions capture;
  ExtendOptions extend;
  UpOptions extend_site;
  SiteKeyOptions site_key;
  FirewallOptions firewall;
  ServeOptions serve;
  WanOptions wan;
  WanEmulatorOptions wan_emulator;
  StatusOptions status;
  Words show;
  Words topics;
};

// CLI11's layout under a usage line of ours.
class Layout : public CLI::Formatter {
 public:
  explicit Layout(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: weft " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& purpose,
                      const std::string& usage, const std::string& footer) {
  CLI::App* command = app.add_subcommand(name, purpose);
  command->formatter(std::make_shared<Layout>(name + usage));
  command->set_help_flag("-h,--help", "Print this help");
  command->footer(footer);
  return command;
}

CLI::App* find_command(CLI::App& app, std::string_view name) {
  for (CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

void define_run(CLI::App& app, RunOptions& options) {
  CLI::App* run = add_command(app, "run", "Run a program on Weft's devices",
                              " [OPTIONS] [--] PROGRAM [ARGUMENT...]", run_footer());
  run->add_option("--wire", options.wire,
                  "What travels: udp (RoCEv2 between Weft peers, default), roce or bare")
      ->option_text("WIRE");
  run->add_option("--interface", options.interface, "Offer the device of this interface only")
      ->option_text("NAME");
  run->add_option("--capture", options.capture, "Write every packet to this pcapng file")
      ->option_text("FILE");
  run->add_flag("--stats", options.stats, "Print the counters on stderr when the program exits");
  run->add_option("--ports", options.ports, "UDP ports of queue pairs; default 49152-65534")
      ->option_text("FIRST-LAST");
  run->add_option("--socket-buffer", options.socket_buffer,
                  "Buffer memory to ask of the kernel, each way; default 4194304")
      ->option_text("BYTES");
  run->add_option("--fault", options.fault,
                  "Spoil what arrives: loss=1%,duplicate=1%,reorder=1%,corrupt=1%,delay=2ms,seed=7")
      ->option_text("LIST");
  run->add_option("--keep-alive", options.keep_alive,
                  "How long an idle connection's peer may be silent; 0: for ever; default 600")
      ->option_text("SECONDS");
  run->add_option("--cm-port", options.cm_port,
                  "UDP port of queue pair 1 on wire udp; default 14791")
      ->option_text("PORT");
  CLI::Option* node = run->add_option("--node", options.node, "Run on this node of a lab");
  node->option_text("NAME");
  run->add_option("--lab", options.lab,
                  "The node's lab, when more than one runs; OWNER/LAB: another user's")
      ->option_text("LAB")
      ->needs(node);
}

void define_lab(CLI::App& app, LabOptions& options) {
  CLI::App* lab =
      add_command(app, "lab", "Make and check lab files",
                  " SHAPE --size SIZE [OPTIONS]\n       weft lab import FILE [--name NAME]"
                  "\n       weft lab check FILE",
                  lab_footer());
  lab->add_option("what", options.what, "fat-tree, torus, dragonfly, line, import or check")
      ->option_text(" ");
  lab->add_option("file", options.file, "Of import and check; - is standard input")
      ->option_text(" ");
  lab->add_option("--size", options.size, "How large: numbers with x between them")
      ->option_text("SIZE");
  lab->add_option("--hosts", options.hosts, "Nodes on each switch of a torus or line; default 1")
      ->option_text("NUMBER");
  lab->add_option("--name", options.name, "The lab's name")->option_text("NAME");
}

constexpr const char* kWhich = "The lab; not needed when only one runs; OWNER/LAB: another user's";

void define_sm(CLI::App& app, SmOptions& options, SmRunOptions& run) {
  CLI::App* sm = add_command(app, "sm", "Ask a subnet manager of a lab, or run one",
                             " [OPTIONS] [status|history|topology|metrics]"
                             "\n       weft sm [OPTIONS] path|explain FROM TO"
                             "\n       weft sm run [OPTIONS]",
                             sm_footer());
  sm->add_option("ACTION", options.action,
                 "status (default), history, topology, metrics, path, explain or run");
  sm->add_option("FROM", options.from, "An end port: host1, host1:2, a LID, a GUID with 0x");
  sm->add_option("TO", options.to, "Another one");
  sm->add_option("--lab", options.lab, kWhich)->option_text("LAB");
  sm->add_flag("--json", options.json, "Print JSON");
  sm->add_option("--node", run.node, "The node where to ask weft sm run, or where to run")
      ->option_text("NAME");
  sm->add_option("--port", run.port, "The node's port; default 1, of a switch 0")
      ->option_text("NUMBER");
  define_sm_run(*sm, run);
}

void define_labs(CLI::App& app, Options& options) {
  CLI::App* up = add_command(app, "up", "Run a lab: a fabric of switches and adapters",
                             " [OPTIONS] FILE", up_footer());
  up->add_option("FILE", options.up.file, "A lab file or a listing; -: standard input")->required();
  up->add_option("--name", options.up.name, "Call the lab so")->option_text("NAME");
  up->add_option("--sm", options.up.sm, "Subnet manager, whatever FILE says: weft, opensm, none")
      ->option_text("WHO")
      ->check(CLI::IsMember({"weft", "opensm", "none"}));
  up->add_option("--part", options.up.part, "Of a lab in parts: run this one")->option_text("NAME");
  up->add_option("--access", options.up.access,
                 "Who may also attach, manage, administer: owner, everyone, group:NAME")
      ->option_text("RIGHT=WHO");
  up->add_flag("-d,--detach", options.up.detach, "In the background; returns when it runs");

  CLI::App* down = add_command(app, "down", "End a lab", " [LAB]", down_footer());
  down->add_option("LAB", options.down.name, kWhich);

  define_link(*add_command(app, "link",
                           "Look at a link of a lab, change what it does, judge how it came up",
                           " [OPTIONS] LINK [show|up|down|degrade LIST]"
                           "\n       weft link [OPTIONS] conform [LINK]",
                           link_footer()),
              options.link);

  define_lan(*add_command(app, "lan", "Give nodes of a lab Ethernet interfaces, and look at them",
                          " [OPTIONS] [show|arp] [NODE[:PORT]]"
                          "\n       weft lan [OPTIONS] up|down NODE[:PORT]",
                          lan_footer()),
             options.lan);

  define_sm(app, options.sm, options.sm_run);

  define_policy(
      *add_command(app, "policy", "Say which paths lead through data services, and ask why",
                   " [OPTIONS] [list]"
                   "\n       weft policy [OPTIONS] add [--before RULE] KEY=VALUE..."
                   "\n       weft policy [OPTIONS] delete RULE"
                   "\n       weft policy [OPTIONS] drain|restore NODE[:PORT]"
                   "\n       weft policy [OPTIONS] explain FROM TO [KEY=VALUE...]"
                   "\n       weft policy [OPTIONS] log"
                   "\n       weft policy [OPTIONS] export",
                   policy_footer()),
      options.policy);

  CLI::App* service =
      add_command(app, "service", "Show the data services of a lab, what they did; run one",
                  " [OPTIONS] [NAME]\n       weft service [OPTIONS] NAME reload"
                  "\n       weft service run [OPTIONS] TYPE",
                  service_footer());
  define_service(*service, options.service);
  define_service_run(*service, options.service_run);

  CLI::App* capture = add_command(app, "capture", "Record what a link of a lab carries",
                                  " [OPTIONS] LINK [FILTER...]", capture_footer());
  capture->add_option("LINK", options.capture.link, "Its name, or one of its ends as in leaf1:3")
      ->required();
  capture->add_option("FILTER", options.capture.filter,
                      "mad, data, vl=N, sl=N, lid=N, slid=N, dlid=N, qp=N: all must hold");
  capture->add_option("-w,--write", options.capture.file, "Write to this pcapng file")
      ->option_text("FILE");
  capture->add_option("-c,--count", options.capture.count, "End after so many packets")
      ->option_text("N");
  capture->add_option("--lab", options.capture.lab, kWhich)->option_text("LAB");
}

void define_extend(CLI::App& app, ExtendOptions& options, SiteKeyOptions& key, UpOptions& site) {
  CLI::App* extend = add_command(
      app, "extend", "Extend a fabric over a WAN, or plan it",
      " [--part NAME] [--detach] SITE.toml\n       weft extend --plan [OPTIONS]"
      "\n       weft extend keygen [--json] FILE\n       weft extend fingerprint [--json] FILE",
      extend_footer());
  extend->add_option("ACTION", key.action,
                     "A lab file, of which to run the extenders; or keygen, fingerprint: of the "
                     "key of a site");
  extend->add_option("--part", site.part, "Of the lab file: where several parts have extenders")
      ->option_text("NAME");
  extend->add_flag("-d,--detach", site.detach, "Go on behind, once the extenders run");
  extend->add_option("FILE", key.file, "Where it is, or shall be");
  extend->add_flag("--plan", options.plan, "Print what a path of this length needs");
  extend->add_flag("--json", options.json, "Print JSON");
  extend->add_option("--distance", options.distance, "Length of the fibre, as in 5000km")
      ->option_text("LENGTH");
  extend->add_option("--per-metre", options.per_metre, "Delay of the fibre; default 5ns")
      ->option_text("TIME");
  extend->add_option("--equipment", options.equipment, "What else delays, one way; default 0ns")
      ->option_text("TIME");
  extend->add_option("--round-trip", options.round_trip, "Measured, instead of a distance")
      ->option_text("TIME");
  CLI::Option* rate = extend->add_option("--rate", options.rate, "Of data; default 10Gb/s");
  rate->option_text("RATE");
  extend->add_option("--signalling", options.signalling, "Instead: of a line with 8b/10b code")
      ->option_text("RATE")
      ->excludes(rate);
  extend->add_option("--vls", options.lanes, "Data virtual lanes in use, 1 (default) to 15")
      ->option_text("NUMBER")
      ->check(CLI::Range(1, 15));
  extend->add_option("--sites", options.sites, "Sites with an extender each; default 2")
      ->option_text("NUMBER")
      ->check(CLI::Range(2, 65'536));
  extend
      ->add_option("--local-credit", options.local_credit,
                   "What the local link advertises per VL; default 8KiB")
      ->option_text("SIZE");
}

void define_wan(CLI::App& app, Options& options) {
  define_extend(app, options.extend, options.site_key, options.extend_site);
  define_wan_codec(*add_command(app, "wan", "Make captures the bytes of a WAN, and back",
                                " [OPTIONS] encode|decode|explain STACK [FILE]", wan_footer()),
                   options.wan);
  define_wan_emulator(*add_command(app, "wan-emulator", "Make the way between programs a WAN",
                                   " [OPTIONS] udp|stream LISTEN TARGET", wan_emulator_footer()),
                      options.wan_emulator);
}

void define(CLI::App& app, Options& options) {
  define_firewall(*add_command(app, "firewall", "Check firewall rules, try them on a capture",
                               " [OPTIONS] check|test RULES [CAPTURE]", firewall_footer()),
                  options.firewall);
  define_serve(*add_command(app, "serve", "Run a data service here, for labs elsewhere",
                            " TYPE --listen ADDRESS [OPTIONS]", serve_footer()),
               options.serve);
  define_run(app, options.run);

  CLI::App* devices = add_command(app, "devices", "List the devices that programs will see",
                                  " [OPTIONS]", devices_footer());
  devices->add_flag("--json", options.devices.json, "Print JSON");
  devices->add_flag("-v,--verbose", options.devices.verbose, "Everything about each device");

  CLI::App* doctor = add_command(app, "doctor", "Check this machine, and a program, for Weft",
                                 " [OPTIONS] [PROGRAM]", doctor_footer());
  doctor->add_flag("--json", options.doctor.json, "Print JSON");
  doctor->add_option("PROGRAM", options.doctor.program, "A program that you want to run");

  CLI::App* status = add_command(app, "status", "Show what runs now, and what went wrong there",
                                 " [OPTIONS]", status_footer());
  status->add_option("--lab", options.status.lab, "This lab alone; OWNER/LAB: another user's")
      ->option_text("LAB");
  status->add_flag("--json", options.status.json, "Print JSON");
  status->add_flag("-d,--details", options.status.details,
                   "Nodes and links of labs, addresses and clients of agents too");

  CLI::App* resource = add_command(app, "resource", "Show the objects of running programs",
                                   " [OPTIONS] [show qp|cq|mr|cm_id]", resource_footer());
  resource->add_flag("--json", options.resource.json, "Print JSON");
  resource->add_flag("-d,--details", options.resource.details, "Counters too");
  resource->add_option("show", options.show, "show qp, cq, mr or cm_id: one line per object")
      ->expected(0, -1)
      ->option_text(" ");

  define_lab(app, options.lab);
  define_labs(app, options);
  define_wan(app, options);

  CLI::App* help = add_command(app, "help", "Explain a command", " [TOPIC]", "");
  help->add_option("TOPIC", options.topics, "The name of a command")->expected(0, 1);
}

Words command_names(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands({}))
    names.push_back(command->get_name());
  return names;
}

int unknown_command(std::string_view word, const CLI::App& app) {
  const Words names = command_names(app);
  fmt::print(stderr, "weft: {}: no such command{} (there are {})\n", word,
             did_you_mean(word, names), fmt::join(names, ", "));
  return kRefused;
}

int help(const std::string& topic, CLI::App& app) {
  if (topic.empty()) {
    fmt::print("{}", general_help());
    return kOk;
  }
  const CLI::App* const command = find_command(app, topic);
  if (command == nullptr) return unknown_command(topic, app);
  fmt::print("{}", command->help());
  return kOk;
}

int show_resources(Options& options) {
  static const Words kinds{"qp", "cq", "mr", "cm_id"};
  const Words& words = options.show;
  if (words.empty()) return resource(options.resource);
  if (words[0] != "show") {
    return refuse("resource", fmt::format("{}: no such action{} (there is show)", words[0],
                                          did_you_mean(words[0], {"show"})));
  }
  if (words.size() > 2) return refuse("resource", fmt::format("{}: one word too many", words[2]));
  const std::string kind = words.size() == 2 ? words[1] : "";
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    return refuse("resource", fmt::format("show{}{}: the choices are {}", kind.empty() ? "" : " ",
                                          kind, fmt::join(kinds, ", ")));
  }
  options.resource.show = kind;
  return resource(options.resource);
}

int service_or_run(Options& options) {
  ServiceRunOptions& run = options.service_run;
  if (options.service.name == "run") {
    run.lab = options.service.lab;
    run.json = options.service.json;
    return service_run(run);
  }
  if (run.any()) {
    return refuse("service",
                  "--node, --rules, --dry-run, --set, --threads, --cores and --pair are of run "
                  "only");
  }
  if (run.type.empty()) return service(options.service);
  if (run.type == "reload") return service_reload(options.service);
  return refuse("service", fmt::format("{}: no such action{} (there is reload)", run.type,
                                       did_you_mean(run.type, {"reload"})));
}

int dispatch(const std::string& command, Options& options, CLI::App& app) {
  if (command == "run") return run(options.run);
  if (command == "devices") return devices(options.devices);
  if (command == "doctor") return doctor(options.doctor);
  if (command == "status") return status(options.status);
  if (command == "resource") return show_resources(options);
  if (command == "lab") return lab(options.lab);
  if (command == "up") return up(options.up);
  if (command == "down") return down(options.down);
  if (command == "link") return link(options.link);
  if (command == "lan") return lan(options.lan);
  if (command == "sm") return sm_command(options.sm, options.sm_run);
  if (command == "policy") return policy(options.policy);
  if (command == "service") return service_or_run(options);
  if (command == "capture") return capture(options.capture);
  if (command == "extend")
    return extend_command(options.extend, options.site_key, options.extend_site);
  if (command == "firewall") return firewall(options.firewall);
  if (command == "serve") return serve(options.serve);
  if (command == "wan") return wan_codec(options.wan);
  if (command == "wan-emulator") return wan_emulator(options.wan_emulator);
  return help("", app);
}

int main_with(Words words) {
  CLI::App app("", "weft");
  Options options;
  define(app, options);
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return help("", app);
  if (words[0] == "--version") {
    fmt::print("weft {}\n", WEFT_VERSION);
    return kOk;
  }
  const std::string name = words[0];
  if (name.starts_with('-')) {
    return refuse("", fmt::format("{}: no such option{}; weft --help", name,
                                  did_you_mean(name, {"--help", "--version"})));
  }
  if (name == "help" && words.size() == 2 && !words[1].starts_with('-')) {
    return help(words[1], app);
  }
  CLI::App* command = find_command(app, name);
  if (command == nullptr) return unknown_command(name, app);
  if (name == "run") options.run.program = split_program(words, *command);
  // CLI11 looks for the names of commands among a command's own words: weft link trunk down.
  for (CLI::App* other : app.get_subcommands({})) {
    if (other != command) app.remove_subcommand(other);
  }
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", command->help());
    return kOk;
  } catch (const CLI::ParseError& error) {
    return refuse(name, explain(error, *command));
  }
  return dispatch(name, options, app);
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) {
  return weft::cli::main_with({argv + (argc > 0 ? 1 : 0), argv + argc});
}
