// SPDX-License-Identifier: Apache-2.0
// Two connection managers under arbitrary calls of their consumers, on a network that loses, keeps,
// repeats and changes what they send, and where a stranger sends what it likes. They may refuse and
// drop; what they may not do is to crash, to tell a consumer of something that it has given up, to
// tell it things in an order that makes no sense, to remember more than their limits, or to be left
// with anything when all is destroyed and time has passed.
#include "mgmt/connection_manager.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "wire/cm_field.h"

namespace {

using namespace weft;
using namespace weft::mgmt;
using fuzz::Input;
using fuzz::require;

constexpr std::size_t kHosts = 2;
constexpr std::uint32_t kIds = 12;
constexpr std::uint32_t kBacklog = 3;
constexpr ServiceId kService{0x0106'0001};

Gid address(unsigned host) {
  return Gid::from_ipv4(0x0A00'0000 + host);
}

struct InFlight {
  Gid from, to;
  Mad mad;
};

class Host final : private LocalEnds, private MadSink, private EventSink {
 public:
  Host(unsigned number, std::vector<InFlight>& network)
      : gid(address(number)),
        network_(network),
        entropy_(Random(number)),
        manager({.limits = {.ids = kIds, .passive_ids = kIds - 2, .listeners = 3}}, *this, entropy_,
                *this, *this) {}

  const Gid gid;
  std::vector<CmId> ids;  // given out, perhaps destroyed since

 private:
  std::optional<LocalEnd> find(const Gid& asked) const override {
    if (asked != gid && asked != address(9)) return std::nullopt;
    return LocalEnd{.ca_guid = Guid{7}};
  }
  void send(const hca::Path& to, std::span<const std::byte, kMadSize> bytes) override {
    InFlight one{.from = to.sgid, .to = to.dgid, .mad = {}};
    std::copy(bytes.begin(), bytes.end(), one.mad.begin());
    if (network_.size() < 64) network_.push_back(one);
  }

  // What an event may follow: each is told once, and in this order.
  enum Told : unsigned { kResponse = 1, kEstablished = 2, kOver = 4, kOut = 8 };
  void on_event(const CmEvent& event) override {
    require(manager.state(event.id).has_value());
    unsigned& told = told_[event.id];
    if (std::holds_alternative<ConnectRequest>(event.what) ||
        std::holds_alternative<SidrRequest>(event.what)) {
      require(told == 0);
      ids.push_back(event.id);
    } else if (std::holds_alternative<ConnectResponse>(event.what)) {
      require(told == 0);
      told |= kResponse;
    } else if (std::holds_alternative<Established>(event.what)) {
      require(told == 0);
      told |= kEstablished;
    } else if (std::holds_alternative<TimewaitExit>(event.what)) {
      require((told & kOut) == 0 && (told & kOver) != 0);
      told |= kOut;
    } else if (std::holds_alternative<Disconnected>(event.what) ||
               std::holds_alternative<Rejected>(event.what) ||
               std::holds_alternative<SidrReply>(event.what)) {
      require((told & kOver) == 0);
      told |= kOver;
    } else {
      require((told & kOut) == 0);
    }
  }

  std::vector<InFlight>& network_;
  SeededEntropy entropy_;
  std::map<CmId, unsigned> told_;

 public:
  ConnectionManager manager;
};

class Fuzzer {
 public:
  explicit Fuzzer(Input& input) : input_(input), hosts_{Host(1, network_), Host(2, network_)} {}

  void step() {
    Host& host = hosts_[input_.one_of(kHosts)];
    switch (input_.one_of(8)) {
      case 0:
      case 1:
        deliver();
        break;
      case 2:
        pass_time();
        break;
      case 3:
        forge(host);
        break;
      case 4:
        begin(host);
        break;
      default:
        act(host, pick(host));
        break;
    }
    for (Host& each : hosts_) {
      require(each.manager.ids() <= kIds);
    }
  }

  void finish() {
    for (Host& host : hosts_) {
      for (const CmId id : host.ids)
        host.manager.destroy(id, now_);
    }
    for (int rounds = 0; rounds < 4000; ++rounds) {
      std::optional<Time> next;
      for (Host& host : hosts_) {
        const auto deadline = host.manager.deadline();
        if (deadline && (!next || *deadline < *next)) next = deadline;
      }
      if (!next) break;
      now_ = std::max(now_, *next);
      for (Host& host : hosts_)
        host.manager.expire(now_);
    }
    for (Host& host : hosts_)
      require(host.manager.ids() == 0);
  }

 private:
  CmId pick(Host& host) {
    if (host.ids.empty()) return CmId{input_.byte()};
    return host.ids[input_.byte() % host.ids.size()];
  }

  // Up to three bytes of a message become something else.
  void change(Mad& mad) {
    const unsigned changes = input_.one_of(8);
    if (changes > 3) return;
    for (unsigned i = 0; i < changes; ++i)
      mad[input_.byte()] ^= static_cast<std::byte>(input_.byte());
  }

  void deliver() {
    if (network_.empty()) return;
    const std::size_t which = input_.byte() % network_.size();
    InFlight one = network_[which];
    const std::uint8_t fate = input_.byte();
    if ((fate & 3) != 0) network_.erase(network_.begin() + static_cast<std::ptrdiff_t>(which));
    if ((fate & 0x1C) == 4) return;  // lost
    if ((fate & 0xE0) == 0x20) change(one.mad);
    if ((fate & 0xE0) == 0x40) one.from = address(3);
    const std::size_t size = (fate & 0xE0) == 0x60 ? input_.byte() : one.mad.size();
    for (Host& host : hosts_) {
      if (one.to == host.gid) {
        host.manager.receive(Bytes(one.mad).first(size), {.sgid = one.to, .dgid = one.from}, now_);
      }
    }
  }

  void pass_time() {
    const std::uint8_t how = input_.byte();
    now_ += std::chrono::milliseconds{std::int64_t{1} << (how & 15)};
    for (Host& host : hosts_) {
      if ((how & 0x80) != 0 && &host == &hosts_[0]) continue;  // it is late
      host.manager.expire(now_);
      require(!host.manager.deadline() || *host.manager.deadline() > now_);
    }
  }

  // A message of a stranger, or of the peer as it should never send it.
  void forge(Host& host) {
    Mad mad{};
    wire::MadHeader header{.mgmt_class = wire::MgmtClass::kCommMgt,
                           .class_version = wire::kCmClassVersion,
                           .method = wire::MadMethod::kSend,
                           .transaction_id = input_.one_of(4),
                           .attribute_id = static_cast<std::uint16_t>(0x10 + input_.one_of(12))};
    header.write(mad);
    std::byte* body = mad.data() + wire::MadHeader::kSize;
    const Gid from = address(1 + input_.one_of(4));
    if (static_cast<wire::CmMessage>(header.attribute_id) == wire::CmMessage::kReq) {
      const wire::CmReq req{.local_comm_id = wire::CommId{input_.one_of(6)},
                            .service_id = kService,
                            .local_qpn = Qpn{16u + input_.one_of(4)},
                            .transport = static_cast<wire::CmTransport>(input_.one_of(4)),
                            .local_cm_timeout = input_.one_of(32),
                            .path_mtu = input_.one_of(7),
                            .extended_transport = input_.one_of(2),
                            .primary = {.local_gid = from, .remote_gid = host.gid},
                            .alternate = {.remote_gid = input_.one_of(8) == 0 ? host.gid : Gid{}}};
      req.write(MutableBytes(mad).subspan(wire::MadHeader::kSize));
    } else {
      const Bytes rest = input_.some();
      std::copy_n(rest.begin(), std::min<std::size_t>(rest.size(), 16), body + 8);
      wire::store_be32(body, input_.one_of(6));
      wire::store_be32(body + 4, pick(host).value());
      // What a DREQ and a LAP name as our queue pair, and a service.
      if (input_.one_of(2) == 0) wire::store_be24(body + 8, 0x11);
      if (header.attribute_id == 0x17) wire::store_be64(body + 8, kService.value());
    }
    change(mad);
    host.manager.receive(mad, {.sgid = host.gid, .dgid = from}, now_);
  }

  void begin(Host& host) {
    const std::uint8_t how = input_.byte();
    const hca::Path path{.sgid = (how & 0x40) != 0 ? address(9) : host.gid,
                         .dgid = (how & 0x80) != 0 ? host.gid : hosts_[how & 1].gid};
    Expected<CmId> id = CmId{};
    switch (how >> 1 & 3) {
      case 0:
        id = host.manager.listen({.service_id = kService,
                                  .mask = (how & 8) != 0 ? ~std::uint64_t{0} : ~std::uint64_t{0xF},
                                  .address = (how & 16) != 0 ? host.gid : Gid{},
                                  .backlog = kBacklog});
        break;
      case 1:
        id = host.manager.sidr_request({.path = path, .service_id = kService}, now_);
        break;
      default:
        id = host.manager.connect(
            {.path = path,
             .alternate_path = (how & 8) != 0 ? std::optional(path) : std::nullopt,
             .service_id = kService,
             .type = static_cast<hca::QpType>(input_.one_of(5)),
             .qpn = Qpn{16u + input_.one_of(4)},
             .extensions = static_cast<std::uint16_t>(how >> 4 & 1)},
            now_);
    }
    if (id) host.ids.push_back(*id);
  }

  void act(Host& host, CmId id) {
    ConnectionManager& cm = host.manager;
    const Bytes data = input_.rarely() ? input_.some() : Bytes{};
    switch (input_.one_of(14)) {
      case 0:
      case 1:
        (void)cm.accept(id,
                        {.qpn = Qpn{16u + input_.one_of(4)},
                         .private_data = data,
                         .extensions = input_.one_of(2)},
                        now_);
        break;
      case 2:
      case 3:
        (void)cm.ready(id, data, now_);
        break;
      case 4:
        (void)cm.reject(id, {.additional_info = data, .private_data = data}, now_);
        break;
      case 5:
        (void)cm.mra(id, input_.one_of(33), data, now_);
        break;
      case 6:
        (void)cm.notify_established(id);
        break;
      case 7:
        (void)cm.disconnect(id, data, now_);
        break;
      case 8:
        (void)cm.load_alternate_path(
            id, {.path = {.sgid = host.gid, .dgid = hosts_[0].gid}, .private_data = data}, now_);
        break;
      case 9:
        (void)cm.reply_alternate_path(
            id,
            {.status = static_cast<AlternatePathStatus>(input_.one_of(3)), .private_data = data},
            now_);
        break;
      case 10:
        (void)cm.notify_migrated(id);
        break;
      case 11:
        (void)cm.sidr_reply(id, {.qpn = Qpn{5}, .private_data = data}, now_);
        break;
      case 12:
        (void)cm.set_user(id, 1);
        (void)cm.agreed_extensions(id);
        (void)cm.qp_attributes(id, static_cast<hca::QpState>(input_.one_of(7)));
        break;
      default:
        cm.destroy(id, now_);
        require(!cm.state(id));
        break;
    }
  }

  Input& input_;
  Time now_{1s};
  std::vector<InFlight> network_;
  std::array<Host, kHosts> hosts_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  while (!input.empty())
    fuzzer.step();
  fuzzer.finish();
  return 0;
}
