// SPDX-License-Identifier: Apache-2.0
// A bridge for RoCE under whatever frames the hosts beside it may send, and whatever packets the
// other site may: what goes on is a packet or a frame of the kinds that are carried, as it was;
// all else is counted once; hosts and packets stay within their bounds.
#include "wan/roce/roce_bridge.h"

#include <algorithm>
#include <array>
#include <vector>

#include "input.h"
#include "link/direct_link.h"
#include "steps.h"
#include "wire/link_crc.h"
#include "wire/raw_header.h"
#include "wire/roce_frame.h"

using namespace weft;
using namespace weft::wan;
using fuzz::Input;
using fuzz::require;

namespace {

constexpr std::size_t kHosts = 6;

class Fuzzer final : RoceUser, link::PortOwner {
 public:
  explicit Fuzzer(Input& input) : input_(input) {
    bridge_.add_site();
    link_.join(far_, bridge_.site(0), now_);
    settle();
    far_.set_state(link::PortState::kArmed, now_);
    far_.set_state(link::PortState::kActive, now_);
    settle();
  }
  ~Fuzzer() override {
    bridge_.site(0).connect(nullptr, now_);
    far_.connect(nullptr, now_);
  }

  void step() {
    switch (input_.one_of(8)) {
      case 0:
      case 1:
      case 2:
        ++given_;
        bridge_.from_hosts(frame(), now_);
        break;
      case 3:
      case 4:
        from_site();
        break;
      case 5:
        now_ += Duration(std::int64_t{input_.word()} << input_.one_of(22));
        break;
      case 6:
        full_ = !full_;
        woken_ = true;
        break;
      default:
        link_.set_plugged(!link_.plugged() || !input_.rarely(), now_);
        far_.set_state(link::PortState::kArmed, now_);
        far_.set_state(link::PortState::kActive, now_);
    }
    settle();
    check();
  }
  void finish() {
    full_ = false;
    woken_ = true;
    settle();
    check();
    require(bridge_.waiting() == 0);
  }

 private:
  void mac(std::byte* at) {
    const std::uint8_t host = input_.one_of(kHosts + 1);
    for (std::size_t i = 0; i < 6; ++i)
      wire::store_u8(at + i, host == kHosts ? 0xFF : i == 5 ? host : 2);
  }
  // Of a kind that is carried, perhaps with some bytes changed.
  std::vector<std::byte> frame() {
    const std::uint8_t kind = input_.one_of(5);
    if (kind == 4) {
      const Bytes some = input_.some();
      return {some.begin(), some.end()};
    }
    const std::size_t transport = 16 + 4 * std::size_t{input_.byte()} * (1 + input_.one_of(5));
    std::vector<std::byte> out(14);
    mac(out.data());
    mac(out.data() + 6);
    if (kind == 0) {
      out.resize(60);
      wire::store_be64(out.data() + 12, 0x0806'0001'0800'0604);
    } else if (kind == 1) {
      out.resize(14 + 40 + 24 + 8 * std::size_t{input_.one_of(4)});
      wire::store_be16(out.data() + 12, 0x86DD);
      wire::store_u8(out.data() + 14, 0x60);
      wire::store_be16(out.data() + 18, static_cast<std::uint16_t>(out.size() - 54));
      wire::store_be16(out.data() + 20, 58 << 8 | 255);
      wire::store_u8(out.data() + 54, static_cast<std::uint8_t>(135 + input_.one_of(2)));
    } else {
      const bool ipv4 = kind == 2;
      wire::Datagram datagram{
          .dst_port = wire::kRocePort, .traffic_class = input_.byte(), .payload_size = transport};
      if (ipv4) datagram.src = datagram.dst = Gid::from_ipv4(0x0A000001);
      wire::store_be16(out.data() + 12, ipv4 ? 0x0800 : 0x86DD);
      const std::size_t headers = ipv4 ? 28 : 48;
      out.resize(14 + 48 + transport);
      wire::write_ip_udp_headers(MutableBytes(out).subspan(14), datagram);
      out.resize(14 + headers + transport);
    }
    for (std::uint8_t changes = input_.rarely() ? input_.one_of(8) : 0; changes-- > 0;)
      wire::store_u8(out.data() + input_.word() % out.size(), input_.byte());
    if (input_.rarely()) out.resize(input_.word() % (out.size() + 1));
    return out;
  }
  void from_site() {
    const auto carried = frame();
    const std::size_t covered = (12 + carried.size() + 3) / 4 * 4;
    if (covered + 2 > kLongestRawPacket || covered < 20) return;
    std::vector<std::byte> bytes(covered + 2);
    wire::Lrh{.next_header = wire::Lnh{input_.rarely() ? input_.one_of(4) : std::uint8_t{0}},
              .packet_words = static_cast<std::uint16_t>(covered / 4)}
        .write(bytes);
    const std::uint16_t type = input_.rarely() ? input_.word() : std::uint16_t{0x6558};
    wire::RawHeader{.ether_type = type}.write(MutableBytes(bytes).subspan(8));
    std::ranges::copy(carried, bytes.begin() + 12);
    auto packet = pool_.copy(bytes);
    if (packet == nullptr) return;
    packet->intact = true;
    far_.transmit(std::move(packet), Vl{input_.one_of(8)}, now_);
  }

  // RoceUser
  MutableBytes room() override { return full_ ? MutableBytes{} : MutableBytes(room_); }
  void put(Bytes frame) override { look_at(HostFrame::read(frame), frame); }
  void wake() override { woken_ = true; }
  // link::PortOwner, of the other site
  void received(link::Port&, link::PacketPtr packet, Time) override {
    require(packet->vcrc_good());
    std::array<std::byte, kLongestRawPacket> room;
    const HostFrame frame = carried_frame(*packet, room);
    look_at(frame, frame.bytes);
  }
  void state_changed(link::Port&, link::PortState, Time) override {}
  void wake(link::Port&) override { woken_ = true; }

  static void look_at(const HostFrame& frame, Bytes bytes) {
    using Kind = HostFrame::Kind;
    require(frame.kind == Kind::kRoce || frame.kind == Kind::kResolution);
    require(frame.bytes.size() == bytes.size() && (frame.source[0] & 1) == 0);
    if (frame.kind == Kind::kRoce) require(wire::parse_ethernet(bytes).has_value());
  }
  void settle() {
    for (int rounds = 0; woken_ || due(); ++rounds) {
      require(rounds < 10'000);
      woken_ = false;
      far_.run(now_);
      bridge_.run(now_);
    }
  }
  bool due() const {
    const auto passed = [this](std::optional<Time> when) { return when && *when <= now_; };
    return passed(bridge_.deadline()) || passed(far_.deadline());
  }
  void check() {
    const RoceCounters& counters = bridge_.counters();
    const std::uint64_t came = bridge_.site(0).counters().get(link::PortCounter::kRxPackets);
    std::uint64_t settled = bridge_.waiting();
    for (std::size_t i = 0; i < RoceCounters::kSize; ++i) {
      const auto counter = static_cast<RoceCounter>(i);
      if (counter == RoceCounter::kMarked || counter == RoceCounter::kStations) continue;
      settled += counters.get(counter);
    }
    require(given_ + came == settled);
    require(bridge_.stations().size() <= 2 * kOptions.stations.most);
  }

  static constexpr RoceOptions kOptions{.port = {.data_vls = 8, .vl_buffer = 70},
                                        .stations = {.most = 3},
                                        .marked = 2,
                                        .most = 4,
                                        .questions = 3};
  Input& input_;
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 100};
  link::PacketPool pool_{200, payloads_};
  Time now_{1s};
  bool woken_ = true;
  bool full_ = false;
  std::uint64_t given_ = 0;
  std::array<std::byte, kLongestRawPacket> room_{};
  link::DirectLink link_{pool_};
  link::Port far_{{.data_vls = 8, .vl_buffer = 70}, *this};
  RoceBridge bridge_{kOptions, pool_, *this};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
