// SPDX-License-Identifier: Apache-2.0
// Processes at the attach socket of a running lab that say what they like and write what they like
// into the memory that they share with the daemon, or die. Two programs that play by the rules
// exchange packets all the while: each arrives, unharmed and in order, and neither is cut off. What
// else arrives at them is what its sender may send, which is anything from a node that carries a
// data service. In the end nothing stays behind.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/plain_bytes.h"
#include "base/random.h"
#include "daemon/lab/attach_server.h"
#include "io/pass_descriptor.h"
#include "io/shared_mapping.h"
#include "io/unix_socket.h"
#include "running_fabric.h"
#include "steps.h"
#include "umad/protocol.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace {

using namespace weft;
using fuzz::Input;
using fuzz::require;
namespace attach = port::attach;
namespace ring = port::ring;

constexpr std::string_view kLab = R"(
[switch]
s = { ports = 4 }
[node]
n1 = {}
n2 = {}
n3 = {}
[[link]]
ends = ["n1", "s:1"]
[[link]]
ends = ["n2", "s:2"]
[[link]]
ends = ["n3", "s:3"]
)";
constexpr std::size_t kNodes = 3;
constexpr std::size_t kServiceNode = 2;  // whose programs may have raw queue pairs
constexpr std::size_t kProcesses = 3;

// What is said of those that are cut off would fill the fuzzer's log.
[[maybe_unused]] const int kQuiet = setenv("WEFT_LOG", "off", 1);

std::string socket_path() {
  static const std::string path = [] {
    std::string pattern = "/tmp/weft-fuzz-attach-XXXXXX";
    require(mkdtemp(pattern.data()) != nullptr);
    return pattern + "/attach";
  }();
  return path;
}

class Process {
 public:
  bool connect() {
    auto socket = io::connect_unix(socket_path(), io::UnixKind::kSeqPacket, 0ns);
    require(socket.has_value());
    *this = Process();
    socket_ = std::move(*socket);
    return fcntl(socket_.get(), F_SETFL, O_NONBLOCK) == 0;
  }
  [[nodiscard]] bool connected() const { return static_cast<bool>(socket_); }
  [[nodiscard]] bool placed() const { return memory_.begin() != nullptr; }

  void say(Bytes message) { (void)io::send_message(socket_.get(), message); }
  void say_hello(std::size_t node, std::uint32_t wish) {
    attach::Hello hello{.magic = attach::kMagic,
                        .version = attach::kVersion,
                        .attach = wish,
                        .reserved = 0,
                        .node = {}};
    hello.node[0] = 'n';
    hello.node[1] = static_cast<char>('1' + node);
    say(plain::bytes_of(hello));
    node_ = node;
  }
  // As libibumad asks, or a purpose that it has elsewhere.
  void ask_what_it_is(std::size_t node, std::uint32_t purpose) {
    umad::protocol::Hello hello{.magic = umad::protocol::kMagic,
                                .version = umad::protocol::kVersion,
                                .purpose = purpose,
                                .port = 0,
                                .node = {}};
    hello.node[0] = 'n';
    hello.node[1] = static_cast<char>('1' + node);
    say(plain::bytes_of(hello));
  }
  // False: the daemon has ended the connection.
  bool hear() {
    std::array<std::byte, sizeof(attach::Welcome)> buffer;
    for (;;) {
      std::array<io::UniqueFd, attach::kFiles> files;
      const auto message = io::receive_message(socket_.get(), buffer, files);
      if (!message || (*message && (*message)->size == 0)) return false;
      if (!*message) return true;
      const Bytes bytes = Bytes(buffer).first((*message)->size);
      if (bytes.size() == sizeof(attach::Answer)) {
        qpn = Qpn{plain::read<attach::Answer>(bytes)->qpn};
      } else if (files[attach::kNews]) {
        map(std::move(files));
        arena = plain::read<attach::Welcome>(bytes)->arena;
      }
    }
  }
  // News, one of them. The arena that is offered, if it is one.
  std::optional<std::uint32_t> hear_news() {
    std::array<std::byte, 4096> buffer;
    const auto message = io::receive_message(files_[attach::kNews].get(), buffer);
    if (!message || !*message) return std::nullopt;
    const Bytes bytes = Bytes(buffer).first((*message)->size);
    const auto news = plain::read<attach::Arena>(bytes);
    if (!news) return std::nullopt;
    if (news->kind == attach::kArena) return news->arena;
    if (news->kind == attach::kFacts) epoch = plain::read<attach::Facts>(bytes)->epoch;
    return std::nullopt;
  }
  void ring() {
    const std::uint64_t one = 1;
    require(write(files_[attach::kDoorbell].get(), &one, sizeof one) == sizeof one);
  }

  [[nodiscard]] ring::ProgramMemory& ours() const {
    return *static_cast<ring::ProgramMemory*>(memory_.begin());
  }
  [[nodiscard]] const ring::DaemonMemory& theirs() const {
    return *static_cast<const ring::DaemonMemory*>(daemon_.begin());
  }
  // A datagram with four bytes, which it bears in a block if there is one.
  void put(std::uint32_t number, std::uint32_t block, Lid slid, Lid dlid, Qpn dest) {
    std::array<std::byte, 38> bytes{};
    constexpr std::size_t kHeaders = 28;
    wire::Lrh{.next_header = wire::Lnh::iba_local, .dlid = dlid, .packet_words = 9, .slid = slid}
        .write(bytes);
    wire::Bth{.opcode = wire::Opcode::ud_send_only, .pkey = kDefaultPKey, .dest_qp = dest}.write(
        MutableBytes(bytes).subspan(8));
    wire::Deth{.src_qp = qpn}.write(MutableBytes(bytes).subspan(20));
    wire::store_be32(bytes.data() + kHeaders, number);
    wire::seal_link_packet(bytes);
    ring::SendSlot& slot = ours().slots[ours().page.sent.load() % ring::kSlots];
    const std::size_t front = block < ring::kBlocks ? kHeaders : bytes.size() - wire::kVcrcSize;
    slot.epoch = epoch;
    slot.source = qpn.value();
    slot.port = 1;
    slot.block = block < ring::kBlocks ? block : ring::kNoBlock;
    slot.payload_size = static_cast<std::uint32_t>(bytes.size() - wire::kVcrcSize - front);
    slot.header_size = static_cast<std::uint8_t>(front);
    slot.trailer_size = wire::kVcrcSize;
    std::copy_n(bytes.begin(), front, slot.header.begin());
    if (block < ring::kBlocks) {
      std::copy_n(bytes.begin() + kHeaders, slot.payload_size, ours().blocks[block].begin());
    }
    std::copy_n(bytes.end() - wire::kVcrcSize, wire::kVcrcSize, slot.trailer.begin());
  }

  Qpn qpn{2};
  std::uint32_t epoch = 0;
  std::uint32_t arena = 0;
  [[nodiscard]] std::size_t node() const { return node_; }

 private:
  void map(std::array<io::UniqueFd, attach::kFiles> files) {
    files_ = std::move(files);
    memory_ = *io::SharedMapping::map(files_[attach::kProgramMemory].get(),
                                      sizeof(ring::ProgramMemory), io::Access::kWrite);
    daemon_ = *io::SharedMapping::map(files_[attach::kDaemonMemory].get(),
                                      sizeof(ring::DaemonMemory), io::Access::kRead);
  }

  io::UniqueFd socket_;
  std::array<io::UniqueFd, attach::kFiles> files_;
  io::SharedMapping memory_;
  io::SharedMapping daemon_;
  std::size_t node_ = 0;
};

class Stage {
 public:
  explicit Stage(const Input& input)
      : input_(input),
        lab_(kLab, {.packets = 4096, .payload_blocks = 64}),
        reactor_(std::move(*io::Reactor::create(0ns))) {
    configure();
    lab_.fabric.find_adapter("n3")->carry_service(entropy_);
    const AttachServerConfig config{
        .socket = socket_path(), .max_connections = 8, .max_programs = 5};
    server_ = std::move(*daemon::AttachServer::open(config, lab_.fabric, *reactor_));
    for (std::size_t i = 0; i < fair_.size(); ++i) {
      Process& fair = fair_[i];
      require(fair.connect());
      fair.say_hello(i, 1);
      settle();
      require(fair.hear() && fair.placed());
      fair.say(plain::bytes_of(request(attach::kAllocate)));
      settle();
      require(fair.hear());
      fair.hear_news();
      require(fair.epoch != 0);
    }
  }

  [[nodiscard]] bool empty() const { return input_.empty(); }

  void step() {
    Process& process = processes_[input_.one_of(kProcesses)];
    act(process);
    exchange();
  }

  void finish() {
    for (Process& process : processes_)
      process = Process();
    settle();
    lab_.now += 2s;
    settle();
    exchange();
    require(server_->programs() == fair_.size());
    fair_ = {};
    settle();
    settle();
    require(server_->programs() == 0 && lab_.fabric.packets_in_use() == 0);
  }

 private:
  using AttachServerConfig = daemon::AttachServerConfig;

  static attach::Request request(std::uint32_t action) {
    return {.action = action, .qpn = 0, .arena = 0, .port = 0, .group = {}};
  }
  [[nodiscard]] static Lid lid_of(std::size_t node) {
    return Lid{static_cast<std::uint16_t>(node + 1)};
  }

  void act(Process& process) {
    const std::uint8_t action = input_.one_of(14);
    if (!process.connected() || action == 0) {
      require(process.connect());
      if (action != 1) greet(process);
      return settle();
    }
    if (action == 1) return process.say(input_.some());
    if (action == 2) return ask(process);
    if (action == 3) {
      if (!process.hear()) process = Process();
      return;
    }
    if (action == 4) return settle();
    if (action == 5) {
      lab_.now += Duration{input_.word() * 10'000};
      return settle();
    }
    if (action == 6) {
      process = Process();
      return;
    }
    if (!process.placed()) return;
    write_memory(process, action);
  }

  void greet(Process& process) {
    const std::size_t node = input_.one_of(kNodes);
    if (!input_.rarely()) return process.say_hello(node, 1);
    if (input_.one_of(2) == 0) return process.say_hello(node, 0);
    process.ask_what_it_is(node, input_.one_of(4));
  }

  void ask(Process& process) {
    attach::Request out = request(input_.one_of(10));
    out.qpn = input_.rarely() ? input_.number() : process.qpn.value();
    out.arena = input_.byte();
    if (process.placed() && out.action == attach::kMapped) {
      out.arena = process.hear_news().value_or(out.arena);
    }
    out.group[0] = input_.byte();
    if (out.action >= attach::kMakeRaw) {
      may_forge_ |= process.node() == kServiceNode;
      out.rule = input_.one_of(7);
      out.value = input_.rarely() ? input_.number() : input_.byte();
    }
    process.say(plain::bytes_of(out));
  }

  void write_memory(Process& process, std::uint8_t action) {
    ring::ProgramPage& page = process.ours().page;
    switch (action) {
      case 7:
        return process.ring();
      case 8:
        process.hear_news();
        return page.taken.store(process.theirs().page.arrived.load());
      case 9: {
        const std::array counts{&page.sent, &page.taken, &page.waits, &page.stalls};
        ring::Count& count = *counts[input_.one_of(4)];
        return count.store(count.load() + input_.byte() - 8 + input_.one_of(2) * input_.number());
      }
      case 10: {
        ring::SendSlot& slot = process.ours().slots[input_.one_of(4)];
        const auto bytes = std::as_writable_bytes(std::span(&slot, 1));
        const std::size_t at = input_.one_of(sizeof slot);
        const Bytes changes = input_.some();
        std::copy_n(changes.begin(), std::min(changes.size(), bytes.size() - at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      }
      default: {
        const std::size_t to = input_.one_of(kNodes);
        const Process& other = to < fair_.size() && input_.one_of(2) == 0
                                   ? fair_[to]
                                   : processes_[input_.one_of(kProcesses)];
        const std::uint32_t block = input_.one_of(8) * 128u;
        process.put(kStrange, block == 0 ? ring::kNoBlock : block, lid_of(process.node()),
                    lid_of(to), other.qpn);
        page.sent.fetch_add(1);
        process.ring();
      }
    }
  }

  // What the two exchange arrives, whatever else does.
  void exchange() {
    const std::size_t from = ++exchanged_ % 2;
    Process& sender = fair_[from];
    Process& receiver = fair_[1 - from];
    require(sender.theirs().page.accepted.load() == sender.ours().page.sent.load());
    const std::uint64_t freed = sender.theirs().page.freed.load();
    const auto block = static_cast<std::uint32_t>(freed % ring::kBlocks);
    sender.put(exchanged_, block, lid_of(from), lid_of(1 - from), receiver.qpn);
    sender.ours().page.sent.fetch_add(1);
    sender.ring();
    settle();
    require(sender.hear() && receiver.hear());
    bool arrived = false;
    std::uint64_t at = receiver.ours().page.taken.load();
    for (; at != receiver.theirs().page.arrived.load(); ++at) {
      const ring::ArrivalSlot& slot = receiver.theirs().slots[at % ring::kSlots];
      if (slot.block == ring::kNoBlock || (may_forge_ && slot.header_size != 28)) continue;
      require(slot.arena == ring::kDaemonArena && slot.header_size == 28 && slot.raw == 0);
      const std::byte* const payload = receiver.theirs().blocks[slot.block].data();
      const bool ours = wire::load_be32(payload) == exchanged_;
      require(ours || may_forge_ || wire::load_be32(payload) == kStrange);
      arrived |= ours;
    }
    receiver.ours().page.taken.store(at);
    receiver.ring();
    settle();
    require(arrived && sender.theirs().page.freed.load() == freed + 1);
  }

  void settle() {
    for (int round = 0; round < 10'000; ++round) {
      const bool moved = server_->poll(lab_.now);
      lab_.settle();
      server_->flush(lab_.now);
      const auto ready = reactor_->run_once(0ns);
      require(ready.has_value());
      if (!moved && *ready == 0) return;
    }
    require(false);
  }

  void configure() {
    lab_.activate();
    wire::LinearBlock block = fuzz::no_routes();
    for (std::size_t node = 0; node < kNodes; ++node) {
      lab_.give_lid(*lab_.fabric.find_adapter("n" + std::to_string(node + 1)), 1, lid_of(node));
      block.ports.at(node + 1) = static_cast<std::uint8_t>(node + 1);
    }
    lab_.route("s", block, Lid{8});
    lab_.settle();
  }

  static constexpr std::uint32_t kStrange = 0xFFFFFFFF;

  Input input_;
  SeededEntropy entropy_{Random(1)};
  fuzz::RunningFabric lab_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<daemon::AttachServer> server_;
  std::array<Process, 2> fair_;
  std::array<Process, kProcesses> processes_;
  std::uint32_t exchanged_ = 0;
  bool may_forge_ = false;  // somebody has asked for a raw queue pair who may have one
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
