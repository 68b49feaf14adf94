// SPDX-License-Identifier: Apache-2.0
// Processes at the management socket of a running lab that say what they like, send what datagrams
// they like, do not read, or die. A program that plays by the rules asks its own port something all
// the while: each request of it ends once, and with an answer as long as nobody has said anything
// to the fabric's subnet management. In the end nothing stays behind.
#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/plain_bytes.h"
#include "daemon/lab/mad_server.h"
#include "io/pass_descriptor.h"
#include "io/sealed_file.h"
#include "io/unix_socket.h"
#include "running_fabric.h"
#include "steps.h"
#include "wire/class_port_info.h"
#include "wire/sm/smp.h"

namespace {

using namespace weft;
using namespace weft::umad::protocol;
using fuzz::Input;
using fuzz::require;
using wire::MadMethod;
using wire::MgmtClass;

constexpr std::string_view kLab = R"(
[switch]
s = { ports = 4 }
[node]
a = {}
b = { ports = 2 }
[[link]]
ends = ["a:1", "s:1"]
[[link]]
ends = ["b:1", "s:2"]
[[link]]
ends = ["b:2", "s:3"]
)";
constexpr std::size_t kProcesses = 3;
constexpr std::size_t kMostSent = 64;  // datagrams of one input: some are repeated for seconds

const std::string& directory() {
  static const std::string path = [] {
    std::string pattern = "/tmp/weft-fuzz-mads-XXXXXX";
    require(mkdtemp(pattern.data()) != nullptr);
    return pattern;
  }();
  return path;
}

class Process {
 public:
  void connect() {
    auto socket = io::connect_unix(directory() + "/mads", io::UnixKind::kSeqPacket, 0ns);
    require(socket.has_value() && fcntl(socket->get(), F_SETFL, O_NONBLOCK) == 0);
    socket_ = std::move(*socket);
  }
  void end() { socket_.reset(); }
  [[nodiscard]] bool connected() const { return static_cast<bool>(socket_); }

  void say(Bytes message, int descriptor = -1) {
    (void)io::send_message(socket_.get(), message, descriptor);
  }
  void say_hello(std::uint32_t purpose, char node, std::uint32_t port) {
    Hello hello{.magic = kMagic, .version = kVersion, .purpose = purpose, .port = port, .node = {}};
    hello.node[0] = node;
    say(plain::bytes_of(hello));
  }
  // With a socket for the answer, which nobody reads.
  template <class Request>
  void ask(const Request& request) {
    std::array<int, 2> ends{};
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    const io::UniqueFd ours(ends[0]);
    const io::UniqueFd theirs(ends[1]);
    say(plain::bytes_of(request), theirs.get());
  }
  void send(const Mad& header, Bytes datagram, int file = -1) {
    std::vector<std::byte> message(sizeof header + datagram.size());
    std::memcpy(message.data(), &header, sizeof header);
    std::copy(datagram.begin(), datagram.end(), message.begin() + sizeof header);
    say(message, file);
  }
  // The next message in `buffer`; its size, 0: there is none, or the connection is over.
  std::size_t hear(MutableBytes buffer) {
    const auto message = io::receive_message(socket_.get(), buffer);
    if (message && *message && (*message)->size > 0) return (*message)->size;
    if (!message || *message) socket_.reset();
    return 0;
  }

 private:
  io::UniqueFd socket_;
};

class Stage {
 public:
  explicit Stage(const Input& input)
      : input_(input),
        lab_(kLab, {.packets = 4096, .payload_blocks = 64}),
        reactor_(std::move(*io::Reactor::create(0ns))) {
    configure();
    const daemon::MadServerConfig config{.socket = directory() + "/mads",
                                         .directory = directory(),
                                         .max_connections = kProcesses + 1,
                                         .outbox = {.bytes = 1 << 16, .untaken = 1 << 17},
                                         .now = [this] { return lab_.now; }};
    server_ = std::move(*daemon::MadServer::open(
        config, [this](std::string_view name) { return find(name); }, *reactor_));
    fair_.connect();
    fair_.say_hello(kOpen, 'a', 1);
    fair_.ask(registration(MgmtClass::kPerf, 1));
    settle();
    require(fair_.hear(buffer_) == sizeof(Welcome));
    exchange();
  }
  [[nodiscard]] bool empty() const { return input_.empty(); }

  void step() {
    act(processes_[input_.one_of(kProcesses)]);
    exchange();
  }

  void finish() {
    for (Process& process : processes_)
      process.end();
    settle();
    exchange();
    require(server_->connections() == 1);
    fair_.end();
    settle();
    require(server_->connections() == 0);
    lab_.run_off();
    require(lab_.fabric.packets_in_use() == 0);
  }

 private:
  Expected<daemon::MadNode> find(std::string_view name) {
    fabric::Node* const node = lab_.fabric.find_node(name);
    if (node == nullptr) return fail(std::errc::no_such_device, "");
    return daemon::MadNode{&node->management(), node, [node] { node->management_used(); }};
  }

  void configure() {
    lab_.activate();
    wire::LinearBlock block = fuzz::no_routes();
    lab_.give_lid(*lab_.fabric.find_node("a"), 1, Lid{1}, 0, Lid{1});
    lab_.give_lid(*lab_.fabric.find_node("b"), 1, Lid{2}, 0, Lid{1});
    lab_.give_lid(*lab_.fabric.find_node("b"), 2, Lid{3}, 0, Lid{1});
    lab_.give_lid(*lab_.fabric.find_node("s"), 0, Lid{4}, 0, Lid{1});
    for (std::uint8_t port = 1; port <= 3; ++port)
      block.ports.at(port) = port;
    block.ports.at(4) = 0;
    lab_.route("s", block, Lid{8});
    lab_.settle();
  }

  static Register registration(MgmtClass mgmt_class, std::uint8_t version) {
    Register out{};
    out.kind = kRegister;
    out.mgmt_class = static_cast<std::uint8_t>(mgmt_class);
    out.class_version = version;
    return out;
  }
  // Most are well known; the last makes room for any.
  MgmtClass some_class() {
    constexpr std::array kKnown{
        MgmtClass::kSubnLid,   MgmtClass::kSubnDirected, MgmtClass::kSubnAdm, MgmtClass::kPerf,
        MgmtClass::kBaseboard, MgmtClass::kDeviceMgt,    MgmtClass::kCommMgt};
    const std::uint8_t index = input_.one_of(kKnown.size() + 1);
    return index < kKnown.size() ? kKnown.at(index) : static_cast<MgmtClass>(input_.byte());
  }

  void act(Process& process) {
    const std::uint8_t action = input_.one_of(14);
    if (!process.connected() || action == 0) {
      process.end();
      settle();
      process.connect();
      constexpr std::array kNames{'a', 'b', 's', 'x'};
      const std::uint32_t purpose = input_.rarely() ? input_.byte() : std::uint32_t{kOpen};
      process.say_hello(purpose, kNames.at(input_.one_of(4)), input_.one_of(4));
      return settle();
    }
    switch (action) {
      case 1:
        return process.say(input_.some());
      case 2:
        return enlist(process);
      case 3: {
        const Unregister request{.kind = kUnregister, .agent = input_.one_of(kMostAgents + 1)};
        return process.ask(request);
      }
      case 4: {
        const Taken taken{.kind = kTaken, .length = input_.number()};
        return process.say(plain::bytes_of(taken));
      }
      case 5:
        while (process.connected() && process.hear(buffer_) > 0) {
        }
        return;
      case 6:
        return process.end();
      case 7:
        lab_.now += Duration{std::int64_t{input_.word()} * 100'000};
        return settle();
      case 8:
        return settle();
      default:
        return send(process);
    }
  }

  void enlist(Process& process) {
    Register out = registration(some_class(), input_.one_of(3));
    out.rmpp = input_.one_of(2);
    out.methods[0] = input_.number();
    out.methods[1] = input_.byte();
    if (!input_.rarely()) return process.ask(out);
    process.say(plain::bytes_of(out));
  }

  // A datagram to somebody, of which some bytes may be anything, or a long message.
  void send(Process& process) {
    if (++sent_ > kMostSent) return;
    std::vector<std::byte> datagram(wire::kMadSize);
    const MgmtClass mgmt_class = some_class();
    const bool directed = mgmt_class == MgmtClass::kSubnDirected;
    spoilt_ = spoilt_ || directed || mgmt_class == MgmtClass::kSubnLid;
    wire::MadHeader{.mgmt_class = mgmt_class,
                    .class_version = input_.one_of(3),
                    .method = static_cast<MadMethod>(1 + input_.one_of(7)),
                    .class_specific = directed ? input_.one_of(3) : std::uint8_t{0},
                    .transaction_id = input_.byte(),
                    .attribute_id = static_cast<std::uint16_t>(input_.one_of(0x40)),
                    .attribute_modifier = input_.byte()}
        .write(datagram);
    if (directed) {
      wire::store_be32(datagram.data() + wire::smp::kDrSlidOffset, 0xFFFF'FFFF);
      datagram[wire::smp::kInitialPathOffset + 1] = std::byte{input_.byte()};
      datagram[wire::smp::kInitialPathOffset + 2] = std::byte{input_.byte()};
    }
    const Bytes changes = input_.some();
    const std::size_t at = input_.byte();
    std::copy_n(changes.begin(), std::min(changes.size(), datagram.size() - at),
                datagram.begin() + static_cast<std::ptrdiff_t>(at));
    // Another class may have come of it.
    spoilt_ = spoilt_ || at <= 1;
    Mad header{.kind = kMad,
               .agent = input_.one_of(4),
               .status = 0,
               .timeout_ms = input_.byte(),
               .retries = input_.one_of(4),
               .length = static_cast<std::uint32_t>(datagram.size()),
               .address = {}};
    header.address.lid = directed ? 0xFFFF : input_.one_of(6);
    header.address.qpn = input_.one_of(3);
    header.address.qkey = input_.one_of(2) == 0 ? kGsiQKey.value() : input_.number();
    header.address.sl = input_.one_of(17);
    header.address.pkey_index = input_.one_of(2);
    header.address.global = input_.rarely() ? 1 : 0;
    header.address.gid_index = input_.one_of(2);
    if (!input_.rarely()) return process.send(header, datagram);
    datagram.resize(kMostInline + 1 + input_.word());
    const auto file = io::make_sealed_file("fuzz", datagram);
    header.length = static_cast<std::uint32_t>(datagram.size());
    process.send(header, Bytes(datagram).first(wire::kMadSize), file->get());
  }

  // A question to the own port, which ends before the next.
  void exchange() {
    settle();
    std::array<std::byte, wire::kMadSize> datagram{};
    wire::MadHeader{.mgmt_class = MgmtClass::kPerf,
                    .class_version = 1,
                    .method = MadMethod::kGet,
                    .transaction_id = ++asked_,
                    .attribute_id = wire::kClassPortInfoId}
        .write(datagram);
    Mad header{.kind = kMad,
               .agent = 0,
               .status = 0,
               .timeout_ms = 100,
               .retries = 1,
               .length = datagram.size(),
               .address = {}};
    header.address.lid = 1;
    header.address.qpn = 1;
    header.address.qkey = kGsiQKey.value();
    fair_.send(header, datagram);
    settle();
    for (int each = 0; each < 10; ++each) {
      lab_.now += 100ms;
      settle();
    }
    const std::size_t size = fair_.hear(buffer_);
    require(size >= sizeof(Mad) + wire::MadHeader::kSize);
    const auto answer = plain::read<Mad>(Bytes(buffer_).first(size));
    require(answer->agent == 0 && (answer->status == 0 || answer->status == ETIMEDOUT));
    require(answer->status == 0 || spoilt_);
    const auto mad = wire::MadHeader::parse(Bytes(buffer_).subspan(sizeof(Mad)));
    require((mad->transaction_id & 0xFFFF'FFFF) == asked_);
    require(fair_.hear(buffer_) == 0 && fair_.connected());
  }

  void settle() {
    for (int round = 0; round < 10'000; ++round) {
      lab_.settle();
      const auto ready = reactor_->run_once(0ns);
      require(ready.has_value());
      const auto deadline = lab_.fabric.deadline();
      if (*ready == 0 && (!deadline || *deadline > lab_.now)) return;
    }
    require(false);
  }

  Input input_;
  fuzz::RunningFabric lab_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<daemon::MadServer> server_;
  Process fair_;
  std::array<Process, kProcesses> processes_;
  std::array<std::byte, sizeof(Mad) + kMostInline> buffer_{};
  std::uint32_t asked_ = 0;
  std::size_t sent_ = 0;
  bool spoilt_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input(std::as_bytes(std::span(data, size)));
  Stage stage(input);
  while (!stage.empty())
    stage.step();
  stage.finish();
  return 0;
}
