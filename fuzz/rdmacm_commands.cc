// SPDX-License-Identifier: Apache-2.0
// Two hosts' rdma_cm under whatever programs may write to its file: commands that make sense, ones
// that were changed, and any bytes at all, on a network that loses and spoils what it carries. It
// may refuse; it may not crash, answer with more than was asked for, promise events that are not
// there, tell of what a program has given up, count events differently from the program that has to
// acknowledge them, or keep anything when all files are closed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "input.h"
#include "network.h"
#include "rdmacm/command_core.h"
#include "rdmacm_stage.h"
#include "steps.h"

namespace {

using namespace weft;
using namespace weft::rdmacm;
using namespace weft::fuzz::rdmacm_stage;
using fuzz::address;
using fuzz::InFlight;
using fuzz::Input;
using fuzz::Network;
using fuzz::require;

// One command under construction.
class Command {
 public:
  explicit Command(std::uint32_t number) { header_.cmd = number; }

  template <class Body>
  void set(const Body& body, std::size_t response) {
    header_.in = sizeof body;
    header_.out = static_cast<std::uint16_t>(response);
    bytes_.resize(sizeof header_ + sizeof body);
    std::memcpy(bytes_.data() + sizeof header_, &body, sizeof body);
    std::memcpy(bytes_.data(), &header_, sizeof header_);
  }
  void change(Input& input) {
    for (unsigned i = input.one_of(4); i > 0 && !bytes_.empty(); --i)
      bytes_[input.word() % bytes_.size()] ^= static_cast<std::byte>(input.byte());
    if (input.rarely()) bytes_.resize(input.word() % (bytes_.size() + 1));
  }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  rdma_ucm_cmd_hdr header_{};
  std::vector<std::byte> bytes_;
};

class Fuzzer {
 public:
  explicit Fuzzer(Input& input) : input_(input), hosts_{Host(1, network_), Host(2, network_)} {}

  void step() {
    Host& host = hosts_[input_.one_of(2)];
    const std::size_t file = input_.one_of(4) % kFiles;
    switch (input_.one_of(16)) {
      case 0:
      case 1:
        return deliver();
      case 2:
        return pass_time();
      case 3:
        // What ends most of what has been built up is rare.
        if (!input_.rarely()) return deliver();
        return input_.one_of(2) == 0 ? any_bytes(host, file) : disturb(host, file);
      case 4:
      case 5:
      case 6:
        return run(host, file, RDMA_USER_CM_CMD_GET_EVENT);
      case 7:
        return listen(host, file);
      case 8:
        return dial(host, file);
      case 9:
        return answer(host, file);
      default:
        return run(host, file, input_.one_of(RDMA_USER_CM_CMD_JOIN_MCAST + 2));
    }
  }

  void finish() {
    for (Host& host : hosts_) {
      for (const ChannelId file : host.files)
        host.core.close_channel(file, now_);
      require(host.core.identities() == 0 && host.core.channels() == 0);
    }
    network_.clear();
    fuzz::run_off(hosts_, now_,
                  [](Host& host) -> mgmt::ConnectionManager& { return host.manager; });
    for (Host& host : hosts_)
      require(host.manager.ids() == 0);
  }

 private:
  void deliver() {
    if (network_.empty()) return;
    const std::uint8_t fate = input_.byte();
    InFlight one = network_.take(0, (fate & 7) == 0);
    if ((fate & 0x78) == 8) return;  // lost
    if ((fate & 0x78) == 16) one.mad[input_.byte()] ^= static_cast<std::byte>(input_.byte());
    for (Host& host : hosts_) {
      if (one.to.dgid == host.gid) host.manager.receive(one.mad, one.back(), kDefaultPKey, now_);
    }
  }

  void pass_time() {
    now_ += std::chrono::milliseconds{std::int64_t{1} << input_.one_of(16)};
    for (Host& host : hosts_)
      host.manager.expire(now_);
  }

  void any_bytes(Host& host, std::size_t file) {
    const Bytes command = input_.some();
    const Bytes extra = input_.some();
    host.execute(file, command, extra, input_.one_of(4), now_);
  }

  // What a program does to have something that the rest can spoil: chance alone rarely gets there.
  struct Life {
    std::uint16_t space;
    std::uint8_t type;
    bool ib;  // addresses of InfiniBand
  };
  Life choose_life() {
    constexpr std::array<Life, 5> kLives{{{RDMA_PS_TCP, 2, false},
                                          {RDMA_PS_UDP, 4, false},
                                          {RDMA_PS_IB, 3, false},
                                          {RDMA_PS_IB, 2, true},
                                          {RDMA_PS_IPOIB, 4, false}}};
    return kLives[input_.one_of(kLives.size())];
  }
  template <class Body>
  void execute(Host& host, std::size_t file, std::uint32_t number, const Body& body,
               std::size_t response = 0) {
    Command command(number);
    command.set(body, response);
    host.execute(file, command.bytes(), {}, 0, now_);
  }
  std::uint32_t create(Host& host, std::size_t file, const Life& life) {
    rdma_ucm_create_id body{};
    body.uid = ++uid_;
    body.ps = life.space;
    body.qp_type = life.type;
    execute(host, file, RDMA_USER_CM_CMD_CREATE_ID, body, sizeof(rdma_ucm_create_id_resp));
    return host.handles.empty() ? 0 : host.handles.back();
  }
  template <class Storage>
  static std::uint16_t put(const Life& life, const Gid& gid, Storage& out) {
    Address chosen = Address::ip(gid, kFirstPort, 0);
    if (life.ib) chosen = as_ib(gid, chosen, PKey{0xFFFF}, wire::PortSpace::kIb);
    std::array<std::byte, Address::kStorage> raw{};
    const std::size_t size = chosen.write(raw);
    std::memcpy(&out, raw.data(), raw.size());
    return static_cast<std::uint16_t>(size);
  }
  void listen(Host& host, std::size_t file) {
    const Life life = choose_life();
    rdma_ucm_bind body{};
    body.id = create(host, file, life);
    body.addr_size = put(life, host.gid, body.addr);
    execute(host, file, RDMA_USER_CM_CMD_BIND, body);
    execute(host, file, RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{body.id, 0});
  }
  void dial(Host& host, std::size_t file) {
    const Life life = choose_life();
    rdma_ucm_resolve_addr body{};
    body.id = create(host, file, life);
    body.dst_size = put(life, address(1 + input_.one_of(2)), body.dst_addr);
    execute(host, file, RDMA_USER_CM_CMD_RESOLVE_ADDR, body);
    if (input_.one_of(4) == 0) return;
    execute(host, file, RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{body.id, 0});
    if (input_.one_of(4) == 0) return;
    rdma_ucm_connect wanted{};
    wanted.id = body.id;
    wanted.conn_param = parameters();
    execute(host, file, RDMA_USER_CM_CMD_CONNECT, wanted);
  }
  // Takes an event, and accepts what it brought, if anything.
  void answer(Host& host, std::size_t file) {
    execute(host, file, RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{},
            sizeof(rdma_ucm_event_resp));
    rdma_ucm_accept body{};
    body.uid = ++uid_;
    body.id = host.last_event_id;
    body.conn_param = parameters();
    if (input_.one_of(2) == 0) body.conn_param = {};
    execute(host, file, RDMA_USER_CM_CMD_ACCEPT, body);
  }

  // Interfaces come and go, files are closed and opened.
  void disturb(Host& host, std::size_t file) {
    if (input_.one_of(4) == 0) {
      host.close(file, now_);
      host.files[file] = host.core.open_channel();
      return;
    }
    host.has_address = input_.one_of(3) != 0;
    host.core.interfaces_changed();
  }

  std::uint32_t pick(const Host& host) {
    const std::uint8_t which = input_.byte();
    if (host.handles.empty() || which == 0) return which;
    return host
        .handles[host.handles.size() - 1 - which % std::min<std::size_t>(host.handles.size(), 16)];
  }

  // An address that somebody could have meant; its size.
  template <class Storage>
  std::uint16_t put_address(Storage& out) {
    Address chosen;
    const auto port = static_cast<std::uint16_t>(input_.one_of(3));
    chosen = Address::ip(address(1 + input_.one_of(3)), port == 0 ? 0 : kFirstPort + port, 0);
    switch (input_.one_of(8)) {
      case 0:
        chosen.address = {};
        break;
      case 1:
        chosen = Address::ip(Gid({0xFD, 1}), chosen.port, 0);
        break;
      case 2:
        chosen = Address::ip(Gid::from_ipv4(0xEF00'0001U + input_.one_of(6)), chosen.port, 0);
        break;
      case 3:
        chosen = as_ib(chosen.address, chosen, PKey{0xFFFF}, wire::PortSpace::kIb);
        break;
      default:
        break;
    }
    std::array<std::byte, Address::kStorage> raw{};
    const std::size_t size = chosen.write(raw);
    std::memcpy(&out, raw.data(), std::min(sizeof out, raw.size()));
    return static_cast<std::uint16_t>(size);
  }

  rdma_ucm_conn_param parameters() {
    rdma_ucm_conn_param out{};
    out.valid = input_.one_of(8) != 0;
    out.qp_num = 16U + input_.one_of(8);
    out.responder_resources = input_.byte();
    out.retry_count = input_.byte();
    out.private_data_len = input_.rarely() ? input_.byte() : input_.one_of(32);
    return out;
  }

  void run(Host& host, std::size_t file, std::uint32_t number) {
    Command command(number);
    Bytes extra;
    ChannelId other = 0;
    build(command, host, number, extra, other);
    if (input_.one_of(6) == 0) command.change(input_);
    host.execute(file, command.bytes(), extra, other, now_);
  }

  void build(Command& command, Host& host, std::uint32_t number, Bytes& extra, ChannelId& other) {
    switch (number) {
      case RDMA_USER_CM_CMD_CREATE_ID: {
        constexpr std::array kSpaces{RDMA_PS_TCP, RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB,
                                     RDMA_PS_IB};
        rdma_ucm_create_id body{};
        body.uid = ++uid_;
        body.ps = static_cast<std::uint16_t>(kSpaces[input_.one_of(kSpaces.size())]);
        body.qp_type = static_cast<std::uint8_t>(2 + input_.one_of(9));
        return command.set(body, sizeof(rdma_ucm_create_id_resp));
      }
      case RDMA_USER_CM_CMD_BIND_IP: {
        rdma_ucm_bind_ip body{};
        put_address(body.addr);
        body.id = pick(host);
        return command.set(body, 0);
      }
      case RDMA_USER_CM_CMD_BIND: {
        rdma_ucm_bind body{};
        body.id = pick(host);
        body.addr_size = put_address(body.addr);
        return command.set(body, 0);
      }
      case RDMA_USER_CM_CMD_RESOLVE_IP: {
        rdma_ucm_resolve_ip body{};
        if (input_.one_of(4) == 0) put_address(body.src_addr);
        put_address(body.dst_addr);
        body.id = pick(host);
        return command.set(body, 0);
      }
      case RDMA_USER_CM_CMD_RESOLVE_ADDR: {
        rdma_ucm_resolve_addr body{};
        body.id = pick(host);
        if (input_.one_of(4) == 0) body.src_size = put_address(body.src_addr);
        body.dst_size = put_address(body.dst_addr);
        return command.set(body, 0);
      }
      case RDMA_USER_CM_CMD_CONNECT: {
        rdma_ucm_connect body{};
        body.id = pick(host);
        body.conn_param = parameters();
        return command.set(body, 0);
      }
      case RDMA_USER_CM_CMD_ACCEPT: {
        rdma_ucm_accept body{};
        body.uid = ++uid_;
        body.id = pick(host);
        body.conn_param = parameters();
        return command.set(body, 0);
      }
      case RDMA_USER_CM_CMD_SET_OPTION: {
        rdma_ucm_set_option body{};
        body.id = pick(host);
        body.level = input_.one_of(3);
        body.optname = body.level == RDMA_OPTION_IB ? 1 : input_.one_of(5);
        make_option(extra, body.level == RDMA_OPTION_IB);
        body.optlen = static_cast<std::uint32_t>(extra.size());
        return command.set(body, 0);
      }
      case RDMA_USER_CM_CMD_JOIN_IP_MCAST: {
        rdma_ucm_join_ip_mcast body{};
        body.uid = ++uid_;
        put_address(body.addr);
        body.id = pick(host);
        return command.set(body, sizeof(rdma_ucm_create_id_resp));
      }
      case RDMA_USER_CM_CMD_JOIN_MCAST: {
        rdma_ucm_join_mcast body{};
        body.uid = ++uid_;
        body.id = pick(host);
        body.addr_size = put_address(body.addr);
        body.join_flags = input_.one_of(3);
        return command.set(body, sizeof(rdma_ucm_create_id_resp));
      }
      default:
        return build_small(command, host, number, other);
    }
  }

  // An option value; for a path, one between the two hosts.
  void make_option(Bytes& extra, bool path) {
    if (!path) {
      option_ = {static_cast<std::byte>(input_.one_of(33))};
      option_.resize(input_.one_of(2) == 0 ? 1 : 4);
    } else {
      ib_path_rec_data data{};
      data.flags = input_.one_of(4) == 0 ? 0 : IB_PATH_GMP | IB_PATH_PRIMARY;
      auto* record = reinterpret_cast<std::byte*>(data.path_rec);
      for (const unsigned at : {0U, 1U}) {  // DGID, then SGID, after eight reserved bytes
        const Gid gid = address(1 + input_.one_of(2));
        std::memcpy(record + 8 + 16 * at, gid.bytes().data(), gid.bytes().size());
      }
      option_.assign(sizeof data, std::byte{});
      std::memcpy(option_.data(), &data, sizeof data);
      if (input_.rarely()) option_.pop_back();
    }
    extra = option_;
  }

  void build_small(Command& command, Host& host, std::uint32_t number, ChannelId& other) {
    switch (number) {
      case RDMA_USER_CM_CMD_DESTROY_ID:
      case RDMA_USER_CM_CMD_LEAVE_MCAST: {
        rdma_ucm_destroy_id body{};
        body.id = pick(host);
        return command.set(body, sizeof(rdma_ucm_destroy_id_resp));
      }
      case RDMA_USER_CM_CMD_LISTEN:
        return command.set(rdma_ucm_listen{pick(host), input_.one_of(3)}, 0);
      case RDMA_USER_CM_CMD_REJECT: {
        rdma_ucm_reject body{};
        body.id = pick(host);
        body.private_data_len = input_.byte();
        body.reason = input_.one_of(32);
        return command.set(body, 0);
      }
      case RDMA_USER_CM_CMD_NOTIFY:
        return command.set(rdma_ucm_notify{pick(host), input_.one_of(8)}, 0);
      case RDMA_USER_CM_CMD_INIT_QP_ATTR: {
        rdma_ucm_init_qp_attr body{};
        body.id = pick(host);
        body.qp_state = input_.one_of(8);
        return command.set(body, sizeof(ib_uverbs_qp_attr));
      }
      case RDMA_USER_CM_CMD_QUERY_ROUTE:
      case RDMA_USER_CM_CMD_QUERY: {
        rdma_ucm_query body{};
        body.id = pick(host);
        body.option = input_.one_of(4);
        return command.set(body, input_.rarely() ? input_.byte() : abi::kLongestResponse);
      }
      case RDMA_USER_CM_CMD_GET_EVENT:
        return command.set(rdma_ucm_get_event{}, sizeof(rdma_ucm_event_resp));
      case RDMA_USER_CM_CMD_MIGRATE_ID: {
        rdma_ucm_migrate_id body{};
        body.id = pick(host);
        other = host.files[input_.one_of(kFiles)];
        return command.set(body, sizeof(rdma_ucm_migrate_resp));
      }
      default:  // RESOLVE_ROUTE, DISCONNECT, and what does not exist
        return command.set(rdma_ucm_resolve_route{pick(host), 0}, 0);
    }
  }

  Input& input_;
  Time now_{1s};
  std::uint64_t uid_ = 0;
  std::vector<std::byte> option_;
  Network network_;
  std::array<Host, 2> hosts_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
