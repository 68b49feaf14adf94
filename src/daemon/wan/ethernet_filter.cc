// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/ethernet_filter.h"

#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include "wan/encapsulation/mpls_layer.h"
#include "wan/encapsulation/out_packet.h"

namespace weft::daemon {
namespace {

constexpr std::uint32_t kAtEtherType = 12;
constexpr std::uint32_t kAtIp = 14;
constexpr std::uint32_t kEverything = 0xFFFF'FFFF;

// Instructions, of which jumps lead forwards over some, or to one of the two ends.
class Program {
 public:
  static constexpr std::uint8_t kNext = 0;
  static constexpr std::uint8_t kAccept = 0xFE;  // until finish()
  static constexpr std::uint8_t kDrop = 0xFF;

  void load(std::uint16_t size, std::uint32_t at) {
    code_.push_back(BPF_STMT(static_cast<std::uint16_t>(BPF_LD | size | BPF_ABS), at));
  }
  void load_known(int what) { load(BPF_W, static_cast<std::uint32_t>(SKF_AD_OFF + what)); }
  void if_equal(std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no));
  }
  void add(const sock_filter& instruction) { code_.push_back(instruction); }

  [[nodiscard]] std::vector<sock_filter> finish() {
    const std::size_t drop = code_.size();
    for (std::size_t i = 0; i < drop; ++i) {
      for (std::uint8_t* const to : {&code_[i].jt, &code_[i].jf}) {
        if (*to < kAccept) continue;
        *to = static_cast<std::uint8_t>(drop + (*to == kAccept ? 1 : 0) - i - 1);
      }
    }
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, kEverything));
    return std::move(code_);
  }

 private:
  std::vector<sock_filter> code_;
};

void add_ipv4(Program& program, std::uint32_t own, std::uint16_t port, bool dccp) {
  program.load(BPF_H, kAtEtherType);
  program.if_equal(ETH_P_ARP, Program::kAccept, Program::kNext);
  program.if_equal(ETH_P_IP, Program::kNext, Program::kDrop);
  program.load(BPF_W, kAtIp + 16);
  program.if_equal(own, Program::kNext, Program::kDrop);
  program.load(BPF_B, kAtIp + 9);
  program.if_equal(*wan::kFrame.ip_protocol, Program::kAccept, Program::kNext);
  if (dccp) program.if_equal(IPPROTO_DCCP, Program::kAccept, Program::kNext);
  program.if_equal(IPPROTO_UDP, Program::kNext, Program::kDrop);
  // Behind a header of any length.
  program.add(BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, kAtIp));
  program.add(BPF_STMT(BPF_LD | BPF_H | BPF_IND, kAtIp + 2));
  program.if_equal(port, Program::kAccept, Program::kDrop);
}

void add_ipv6(Program& program, const Gid& own, std::uint16_t port, bool dccp) {
  constexpr std::uint32_t kAtNextHeader = kAtIp + 6;
  constexpr std::uint32_t kBehind = kAtIp + 40;
  program.load(BPF_H, kAtEtherType);
  program.if_equal(ETH_P_IPV6, Program::kNext, Program::kDrop);
  program.load(BPF_B, kAtNextHeader);
  program.if_equal(IPPROTO_ICMPV6, Program::kNext, 3);  // over the three that follow
  program.load(BPF_B, kBehind);
  program.if_equal(ND_NEIGHBOR_SOLICIT, Program::kAccept, Program::kNext);
  program.if_equal(ND_NEIGHBOR_ADVERT, Program::kAccept, Program::kDrop);
  const auto& bytes = own.bytes();
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    const std::uint32_t word = std::uint32_t{bytes[i]} << 24 | std::uint32_t{bytes[i + 1]} << 16 |
                               std::uint32_t{bytes[i + 2]} << 8 | bytes[i + 3];
    program.load(BPF_W, kAtIp + 24 + static_cast<std::uint32_t>(i));
    program.if_equal(word, Program::kNext, Program::kDrop);
  }
  program.load(BPF_B, kAtNextHeader);
  program.if_equal(*wan::kFrame.ip_protocol, Program::kAccept, Program::kNext);
  program.if_equal(IPPROTO_DSTOPTS, Program::kAccept, Program::kNext);
  if (dccp) program.if_equal(IPPROTO_DCCP, Program::kAccept, Program::kNext);
  program.if_equal(IPPROTO_UDP, Program::kNext, Program::kDrop);
  program.load(BPF_H, kBehind + 2);
  program.if_equal(port, Program::kAccept, Program::kDrop);
}

}  // namespace

std::vector<sock_filter> ethernet_filter(const Gid& own, std::uint16_t port,
                                         EthernetCarries carries) {
  Program program;
  // The kernel has taken the tag off, and what is behind it would look like ours.
  program.load_known(SKF_AD_VLAN_TAG_PRESENT);
  program.if_equal(0, Program::kNext, Program::kDrop);
  program.load(BPF_H, kAtEtherType);
  program.if_equal(*wan::kFrame.ether_type, Program::kAccept, Program::kNext);
  if (carries.mpls) {
    program.if_equal(wan::MplsLayer::kEtherType, Program::kAccept, Program::kNext);
  }
  if (own.is_ipv4_mapped()) {
    add_ipv4(program, own.ipv4(), port, carries.dccp);
  } else {
    add_ipv6(program, own, port, carries.dccp);
  }
  return program.finish();
}

}  // namespace weft::daemon
