// SPDX-License-Identifier: Apache-2.0
// A program's end of the memory between it and its lab's daemon, where the daemon may write what it
// likes at any time. Nothing outside of the memory is read, no block is given out twice, and as
// long as the daemon plays by the rules every packet is handed on whole and in order.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "io/shared_mapping.h"
#include "port/ring/fabric_inlet.h"
#include "steps.h"
#include "wire/bth.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace {

using namespace weft;
using namespace weft::port::ring;
using fuzz::Input;
using fuzz::require;

constexpr std::uint32_t kOwnArena = 1;
constexpr std::uint8_t kPort = 1;  // the only one of the adapter

template <class Memory>
struct Shared {
  explicit Shared(const char* name)
      : file(std::move(*io::make_shared_file(name, sizeof(Memory)))),
        mapping(
            std::move(*io::SharedMapping::map(file.get(), sizeof(Memory), io::Access::kWrite))) {}
  [[nodiscard]] Memory& operator*() const { return *static_cast<Memory*>(mapping.begin()); }
  // All but the payload, which no decision depends on.
  void clear() const { std::memset(mapping.begin(), 0, offsetof(Memory, blocks)); }
  io::UniqueFd file;
  io::SharedMapping mapping;
};

const Shared<ProgramMemory>& program_memory() {
  static const Shared<ProgramMemory> memory("fuzz-program");
  return memory;
}
const Shared<DaemonMemory>& daemon_memory() {
  static const Shared<DaemonMemory> memory("fuzz-daemon");
  return memory;
}

class Fuzzer final : public port::DatagramSink {
 public:
  explicit Fuzzer(Input& input) : input_(input) {
    program_memory().clear();
    daemon_memory().clear();
    std::array<int, 2> ends{};
    require(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    waker_.reset(ends[1]);
    auto end = port::ProgramEnd::map(program_memory().file.get(), daemon_memory().file.get(), {},
                                     io::UniqueFd(ends[0]));
    require(end.has_value());
    end_ = end->get();
    shared_ = std::make_shared<port::FabricShared>(nullptr, kPort, kOwnArena, std::move(*end),
                                                   port::unguarded);
    inlet_ = std::make_unique<port::FabricInlet>(shared_, nullptr);
  }

  void step() {
    switch (input_.one_of(11)) {
      case 0:
        return push_packet();
      case 1:
        return push_anything();
      case 2:
        honest_ = false;
        memory().page.arrived.fetch_add(strange_step());
        return;
      case 3:
        return receive();
      case 4:
        return send();
      case 5:
        return accept();
      case 6:
        return free_one_of_ours();
      case 7:
        honest_ = false;
        return free_block(input_.number());
      case 8:
        memory().page.sleeps.store(input_.byte());
        return end_->wait();
      case 9:
        honest_ = false;
        memory().page.accepted.fetch_add(strange_step());
        return;
      default:
        return scribble();
    }
  }

  void finish() {
    if (honest_) require(!end_->is_broken());
    receive();
    while (honest_ && !expected_.empty())
      receive();
    if (!end_->is_broken()) return;
    require(end_->arrived() == 0 && !end_->has_room(1, 0));
  }

  void deliver(const hca::InDatagram& datagram) override {
    if (datagram.raw != nullptr) return deliver_raw(*datagram.raw);
    const std::size_t size = datagram.transport.size() + datagram.apart.size();
    require(datagram.transport.size() >= wire::Bth::kSize && size <= port::kLongestLinkPacket);
    for (const Bytes part : {datagram.transport, datagram.apart}) {
      for (const std::byte byte : part)
        sum_ += std::to_integer<unsigned>(byte);
    }
    if (!honest_) return;
    require(!expected_.empty() && expected_.front().raw == Qpn{} &&
            datagram.slid == expected_.front().slid && size == expected_.front().size);
    expected_.pop_front();
  }
  void end_run() override {}

 private:
  struct Expected {
    Lid slid;
    std::size_t size = 0;
    Qpn raw{};  // the raw queue pair that it is for
  };

  void deliver_raw(const hca::RawPacket& packet) {
    require(packet.to != Qpn{} && packet.size() <= port::kLongestLinkPacket);
    for (const Bytes part : {packet.header, packet.payload, packet.trailer}) {
      for (const std::byte byte : part)
        sum_ += std::to_integer<unsigned>(byte);
    }
    if (!honest_) return;
    require(!expected_.empty() && packet.to == expected_.front().raw &&
            wire::Lrh::parse(packet.header)->slid == expected_.front().slid &&
            packet.size() == expected_.front().size + wire::Lrh::kSize + 6);
    expected_.pop_front();
  }

  static DaemonMemory& memory() { return *daemon_memory(); }
  std::uint64_t strange_step() {
    const std::uint64_t step = input_.rarely() ? input_.number() : input_.byte();
    return input_.byte() % 2 == 0 ? step : 0 - step;
  }

  void push_packet() {
    const std::uint64_t at = memory().page.arrived.load();
    if (at - (*program_memory()).page.taken.load() >= kSlots) return;
    const std::size_t payload = input_.word() % 4097 / 4 * 4;
    packet_.assign(wire::Lrh::kSize + wire::Bth::kSize + payload + 6, std::byte{0x5A});
    const Lid slid{static_cast<std::uint16_t>(++pushed_)};
    wire::Lrh{.dlid = Lid{1},
              .packet_words = static_cast<std::uint16_t>((packet_.size() - 2) / 4),
              .slid = slid}
        .write(packet_);
    wire::Bth{.opcode = wire::Opcode::rc_send_only}.write(
        MutableBytes(packet_).subspan(wire::Lrh::kSize));
    wire::seal_link_packet(packet_);
    ArrivalSlot slot{};
    const std::size_t front = std::min<std::size_t>(20 + input_.byte() % 109, packet_.size() - 6);
    const std::size_t rest = packet_.size() - 6 - front;
    slot.port = kPort;
    const std::uint8_t kind = input_.byte();
    slot.unsealed = kind % 2;
    slot.raw = kind % 4 / 2 * 0x77u;
    slot.block = rest == 0 ? kNoBlock : static_cast<std::uint32_t>(at % kBlocks);
    slot.payload_size = static_cast<std::uint32_t>(rest);
    slot.header_size = static_cast<std::uint8_t>(front);
    slot.trailer_size = 6;
    std::copy_n(packet_.begin(), front, slot.header.begin());
    std::copy_n(packet_.end() - 6, 6, slot.trailer.begin());
    std::copy_n(packet_.data() + front, rest, memory().blocks[at % kBlocks].begin());
    expected_.push_back({slid, wire::Bth::kSize + payload, Qpn{slot.raw}});
    publish(slot);
  }

  void push_anything() {
    honest_ = false;
    ArrivalSlot slot{};
    slot.port = input_.byte();
    slot.arena = input_.byte() % 4;
    slot.block = input_.rarely() ? input_.number() : input_.word() % (kBlocks + 2);
    slot.payload_size = input_.rarely() ? input_.number() : input_.word() % (kBlock + 2);
    slot.header_size = input_.byte();
    slot.trailer_size = input_.byte() % 12;
    slot.unsealed = input_.byte();
    slot.raw = input_.rarely() ? input_.number() : 0;
    fill(slot.header);
    fill(slot.trailer);
    publish(slot);
  }

  template <std::size_t kSize>
  void fill(std::array<std::byte, kSize>& out) {
    const Bytes some = input_.some();
    std::copy_n(some.begin(), std::min(some.size(), out.size()), out.begin());
  }

  void publish(const ArrivalSlot& slot) {
    const std::uint64_t at = memory().page.arrived.load();
    memory().slots[at % kSlots] = slot;
    memory().page.arrived.store(at + 1);
    [[maybe_unused]] const auto woken = write(waker_.get(), "", 1);
  }

  // What was pushed is changed before it is taken.
  void scribble() {
    honest_ = false;
    auto* const slots = reinterpret_cast<std::byte*>(&memory().slots);
    const std::size_t at = input_.word() % (std::size_t{16} * sizeof(ArrivalSlot));
    const Bytes some = input_.some();
    std::copy(some.begin(), some.end(), slots + at);
  }

  void receive() {
    const std::size_t budget = 1u + input_.byte() % 64;
    require(inlet_->receive(*this, budget) <= budget);
  }

  void send() {
    const std::size_t packets = 1u + input_.byte() % 64;
    const std::size_t blocks = input_.byte() % (packets + 1);
    if (!end_->has_room(packets, blocks)) return;
    for (std::size_t i = 0; i < packets; ++i) {
      SendSlot& slot = end_->slot(i);
      slot.block = kNoBlock;
      if (i >= blocks) continue;
      slot.block = end_->take_block();
      require(slot.block < kBlocks && !out_[slot.block]);
      out_.set(slot.block);
    }
    end_->publish(packets);
    sent_ += packets;
    require((*program_memory()).page.sent.load() == sent_);
  }

  void accept() {
    if (!honest_) return;
    const std::uint64_t waiting = sent_ - memory().page.accepted.load();
    memory().page.accepted.fetch_add(std::min<std::uint64_t>(waiting, input_.byte()));
  }

  void free_one_of_ours() {
    const std::size_t from = input_.word() % kBlocks;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const std::size_t number = (from + i) % kBlocks;
      if (!out_[number]) continue;
      out_.reset(number);
      return free_block(static_cast<std::uint32_t>(number));
    }
  }

  void free_block(std::uint32_t number) {
    const std::uint64_t at = memory().page.freed.load();
    memory().freed[at % kBlocks] = number;
    memory().page.freed.store(at + 1);
    if (number < kBlocks) out_.reset(number);
  }

  Input& input_;
  io::UniqueFd waker_;
  std::shared_ptr<port::FabricShared> shared_;
  port::ProgramEnd* end_ = nullptr;
  std::unique_ptr<port::FabricInlet> inlet_;
  bool honest_ = true;  // the daemon, until now
  std::deque<Expected> expected_;
  std::vector<std::byte> packet_;
  std::uint64_t pushed_ = 0;
  std::uint64_t sent_ = 0;
  std::bitset<kBlocks> out_;  // handed over, and not freed yet
  unsigned sum_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
