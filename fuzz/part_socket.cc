// SPDX-License-Identifier: Apache-2.0
// Processes that say that they are a part of a lab, to the part that listens and to the part that
// has come to them: they say what they like, give what files they like, write what they like into
// the memory of links, and die. Of each connection of a link both sides are told in turn that it
// begins and ends, no packet arrives outside of one, and whatever was before, the real part is let
// in after it and has its links.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/plain_bytes.h"
#include "carrier/ring_memory.h"
#include "daemon/lab/ring_parts.h"
#include "daemon/lab/ring_protocol.h"
#include "input.h"
#include "io/clock.h"
#include "io/pass_descriptor.h"
#include "io/shared_mapping.h"
#include "io/unix_socket.h"
#include "steps.h"

namespace {

using namespace weft;
using namespace weft::daemon;
using fuzz::Input;
using fuzz::require;

constexpr std::array<std::uint64_t, 2> kLinks{11, 12};
constexpr std::size_t kProcesses = 2;
constexpr int kRounds = 1000;

// What is said of those that make no sense would fill the fuzzer's log.
[[maybe_unused]] const int kQuiet = setenv("WEFT_LOG", "off", 1);

std::string socket_of(const std::string& part) {
  static const std::string directory = [] {
    std::string pattern = "/tmp/weft-fuzz-parts-XXXXXX";
    require(mkdtemp(pattern.data()) != nullptr);
    return pattern;
  }();
  return directory + "/" + part;
}

// What is above a channel.
class User final : public link::ChannelUser {
 public:
  void connected(Time) override { require(!std::exchange(connected_, true)); }
  void disconnected(Time) override { require(std::exchange(connected_, false)); }
  void arrived(Bytes packet, Time) override {
    require(connected_ && packet.size() >= link::kShortestPacket &&
            packet.size() <= link::kLongestPacket);
  }
  void arrived_flow_control(link::SignalBytes, Time) override {
    require(connected_);
    ++signals;
  }
  void may_send(Time) override { require(connected_); }

  std::size_t signals = 0;

 private:
  bool connected_ = false;
};

// One side's half of both links.
struct Ends {
  explicit Ends(RingPart& part) {
    for (std::size_t i = 0; i < kLinks.size(); ++i) {
      channels[i] = &part.add(kLinks[i]);
      channels[i]->set_user(&users[i]);
      channels[i]->seek(true, io::now());
    }
  }
  void leave() {
    for (carrier::RingChannel* const channel : channels) {
      channel->seek(false, io::now());
      channel->set_user(nullptr);
    }
  }

  std::array<User, kLinks.size()> users;
  std::array<carrier::RingChannel*, kLinks.size()> channels{};
};

class Nobody final : public RingSession::Owner {
 public:
  bool heard(RingSession&, Bytes, std::span<io::UniqueFd>) override { return false; }
  void ended(RingSession&) override {}
};

class Process {
 public:
  void connect() {
    memory_ = {};
    socket_ = std::move(*io::connect_unix(socket_of("left"), io::UnixKind::kSeqPacket, 0ns));
    require(fcntl(socket_.get(), F_SETFL, O_NONBLOCK) == 0);
  }
  // The other end of what it is connected with.
  io::UniqueFd connect_pair() {
    std::array<int, 2> ends{};
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) ==
            0);
    memory_ = {};
    socket_ = io::UniqueFd(ends[0]);
    return io::UniqueFd(ends[1]);
  }
  void end() { socket_.reset(); }
  [[nodiscard]] bool connected() const { return static_cast<bool>(socket_); }
  [[nodiscard]] std::uint32_t attempt() const { return attempt_; }

  void say(Bytes message, std::span<const int> files = {}) {
    (void)io::send_message(socket_.get(), message, files);
  }
  void hear() {
    std::array<std::byte, 512> buffer{};
    std::array<io::UniqueFd, 2> files;
    for (;;) {
      const auto message = io::receive_message(socket_.get(), buffer, files);
      if (!message || (*message && (*message)->size == 0)) return end();
      if (!*message) return;
      if (const auto said = plain::read<RingMessage>(buffer)) attempt_ = said->attempt;
      if (files[1]) map(files[1].get());
    }
  }
  void map(int file) {
    auto mapped = io::SharedMapping::map(file, sizeof(carrier::RingMemory), io::Access::kWrite);
    if (mapped) memory_ = std::move(*mapped);
  }
  void scribble(Input& input) {
    if (memory_.begin() == nullptr) return;
    auto& memory = *static_cast<carrier::RingMemory*>(memory_.begin());
    switch (input.one_of(4)) {
      case 0:
        memory.written.store(input.rarely() ? input.number() : input.byte() * 8U);
        break;
      case 1:
        memory.read.store(input.byte());
        break;
      case 2:
        memory.sleeps.store(input.byte());
        break;
      default:
        memory.bytes.at(input.byte() * 4U) = std::byte{input.byte()};
        break;
    }
  }

 private:
  io::UniqueFd socket_;
  io::SharedMapping memory_;
  std::uint32_t attempt_ = 0;
};

class Stage {
 public:
  explicit Stage(const Input& input)
      : input_(input), reactor_(std::move(*io::Reactor::create(0ns))) {
    left_ = std::move(*RingParts::open(config_of("left"), socket_of, *reactor_));
    left_ends_ = std::make_unique<Ends>(left_->add("right", true));
    left_->start(io::now());
    guest_ends_ = std::make_unique<Ends>(guest_);
  }
  [[nodiscard]] bool empty() const { return input_.empty(); }

  void step() {
    act(processes_.at(input_.one_of(kProcesses)));
    settle();
  }

  void finish() {
    for (Process& process : processes_)
      process.end();
    settle();
    require(guest_.open_links() == 0);
    for (carrier::RingChannel* const channel : left_ends_->channels)
      channel->seek(true, io::now());
    let_in_the_real_one();
    left_ends_->leave();
    guest_ends_->leave();
  }

 private:
  static RingParts::Config config_of(const std::string& part) {
    return {.lab = "lab", .part = part, .socket = socket_of(part)};
  }

  void let_in_the_real_one() {
    auto right = std::move(*RingParts::open(config_of("right"), socket_of, *reactor_));
    RingPart& part = right->add("left", false);
    Ends ends(part);
    right->start(io::now());
    for (int round = 0; part.open_links() < kLinks.size(); ++round) {
      require(round < kRounds);
      turn(right.get());
    }
    turn(right.get());
    const std::array<std::byte, wire::FlowControl::kSize> signal{};
    for (std::size_t i = 0; i < kLinks.size(); ++i) {
      const std::size_t before = left_ends_->users.at(i).signals;
      ends.channels.at(i)->send_flow_control(signal, io::now());
      left_ends_->channels.at(i)->send_flow_control(signal, io::now());
      for (int round = 0; round < 3; ++round)
        turn(right.get());
      require(left_ends_->users.at(i).signals == before + 1 && ends.users.at(i).signals == 1);
    }
    ends.leave();
  }

  std::string some_name() {
    constexpr std::array kNames{"right", "left", "other", ""};
    return kNames.at(input_.rarely() ? input_.one_of(4) : 0);
  }
  void say_hello(Process& process) {
    RingHello hello;
    if (input_.rarely()) hello.version = input_.byte();
    (input_.rarely() ? some_name() : "lab").copy(hello.lab, sizeof hello.lab);
    some_name().copy(hello.from, sizeof hello.from);
    (input_.rarely() ? some_name() : "left").copy(hello.to, sizeof hello.to);
    process.say(plain::bytes_of(hello));
  }
  void say_something(Process& process) {
    const RingMessage message{
        .action = RingAction{input_.rarely() ? input_.byte() : 1U + input_.one_of(5)},
        .attempt = input_.rarely() ? input_.byte() : process.attempt(),
        .link = input_.rarely() ? input_.byte() : kLinks.at(input_.one_of(kLinks.size()))};
    if (message.action != RingAction::kOpen) return process.say(plain::bytes_of(message));
    // Files of a link; or one that anybody can resize, or none.
    std::vector<io::UniqueFd> files;
    const std::uint8_t kind = input_.one_of(4);
    for (std::size_t i = 0; i < 2 && kind != 1; ++i) {
      if (kind == 2) {
        files.emplace_back(memfd_create("soft", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      } else {
        files.push_back(std::move(*io::make_shared_file("link", sizeof(carrier::RingMemory))));
      }
    }
    std::vector<int> numbers;
    for (const io::UniqueFd& file : files)
      numbers.push_back(file.get());
    if (kind != 1) process.map(numbers.front());
    process.say(plain::bytes_of(message), numbers);
  }

  void act(Process& process) {
    const std::uint8_t action = input_.one_of(9);
    if (!process.connected() || action == 0) {
      process.end();
      settle();
      process.connect();
      return say_hello(process);
    }
    Ends& ends = input_.one_of(2) == 0 ? *left_ends_ : *guest_ends_;
    carrier::RingChannel& channel = *ends.channels.at(input_.one_of(kLinks.size()));
    switch (action) {
      case 1:
        return process.say(input_.some());
      case 2:
        return process.hear();
      case 3:
        return process.scribble(input_);
      case 4:
        return channel.seek(!channel.seeks(), io::now());
      case 5: {
        const std::array<std::byte, wire::FlowControl::kSize> signal{};
        return channel.send_flow_control(signal, io::now());
      }
      case 6: {
        auto session = std::make_unique<RingSession>(process.connect_pair(), nobody_);
        require(session->start(*reactor_).has_value());
        return guest_.adopt(std::move(session));
      }
      default:
        return say_something(process);
    }
  }

  bool turn(RingParts* right) {
    const Time now = io::now();
    bool worked = left_->poll(now);
    worked = guest_.poll(now) || worked;
    if (right != nullptr) worked = right->poll(now) || worked;
    left_->flush();
    guest_.flush();
    if (right != nullptr) right->flush();
    const auto ready = reactor_->run_once(0ns);
    require(ready.has_value());
    return worked || *ready > 0;
  }
  // A process that writes to a link for ever does not keep others from their turn.
  void settle() {
    for (int round = 0; round < kRounds && turn(nullptr); ++round) {
    }
  }

  Input input_;
  std::unique_ptr<io::Reactor> reactor_;
  Nobody nobody_;
  std::unique_ptr<RingParts> left_;
  std::unique_ptr<Ends> left_ends_;
  RingPart guest_{"left", false};  // has come to whoever is its other end
  std::unique_ptr<Ends> guest_ends_;
  std::array<Process, kProcesses> processes_;
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
