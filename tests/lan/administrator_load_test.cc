// SPDX-License-Identifier: Apache-2.0
// What the questions of many LAN ports cost the administrator of a subnet, in virtual time: every
// so many of them are there, and stand for the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <vector>

#include "lan/directory.h"
#include "sim/scheduler.h"

namespace weft::lan {
namespace {

using Kind = Question::Kind;

// IBA 13.6.2.1 and 15.2.5: of an answer of several datagrams, each has so many bytes of records.
constexpr std::size_t kRecordsInDatagram = 200;
constexpr std::size_t kServiceRecord = 176;
constexpr std::size_t kNodeRecord = 112;

class Subnet;

class Port final : public DirectoryUser {
 public:
  Port(Subnet& subnet, std::size_t number);
  bool ask(std::uint64_t number, const Question& question, Time now) override;
  void came(PeerId, Time) override {}
  void moved(PeerId, Time) override {}
  void went(PeerId, Time) override {}
  void wake();

  Directory directory;

 private:
  Subnet& subnet_;
  std::optional<Time> alarm_;
};

// Ports with the GUIDs from 1 on, whose LIDs are the same numbers.
class Subnet {
 public:
  Subnet(std::size_t members, std::size_t each) : each_(each) {
    for (std::size_t i = 1; i <= members; ++i)
      guids.emplace_back(i);
    for (std::size_t i = 0; i < members; i += each)
      ports_.push_back(std::make_unique<Port>(*this, i + 1));
    for (const auto& port : ports_)
      port->wake();
  }

  void run_for(Duration time) { scheduler.run_until(end_ += time); }
  // To each, at once.
  void tell(const std::function<void(Directory&, Time)>& what) {
    scheduler.at(end_, [this, what] {
      for (const auto& port : ports_) {
        what(port->directory, scheduler.now());
        port->wake();
      }
    });
  }
  // Of the administrator, from the last call on: what it was asked, and the datagrams of its
  // answers, in all, on an average second and in the worst one.
  struct Load {
    std::size_t questions = 0;
    std::size_t datagrams = 0;
    std::size_t a_second = 0;
    std::size_t worst = 0;
  };
  Load load() {
    Load out{.questions = questions_ * each_};
    for (const std::size_t count : by_second_) {
      out.datagrams += count * each_;
      out.worst = std::max(out.worst, count * each_);
    }
    out.a_second = out.datagrams / static_cast<std::size_t>((end_ - since_) / Duration(1s));
    by_second_.clear();
    questions_ = 0;
    since_ = end_;
    return out;
  }
  void asked(std::size_t datagrams) {
    const auto second = static_cast<std::size_t>((scheduler.now() - since_) / Duration(1s));
    by_second_.resize(std::max(by_second_.size(), second + 1));
    by_second_[second] += datagrams;
    ++questions_;
  }

  sim::Scheduler scheduler;
  std::vector<Guid> guids;

 private:
  const std::size_t each_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::size_t questions_ = 0;
  std::vector<std::size_t> by_second_;
  Time since_{};
  Time end_{};
};

Port::Port(Subnet& subnet, std::size_t number)
    : directory({.own = Guid{number}}, *this), subnet_(subnet) {
}

void Port::wake() {
  const auto due = directory.deadline();
  if (!due || (alarm_ && *alarm_ <= *due)) return;
  const Time at = std::max(*due, subnet_.scheduler.now());
  alarm_ = at;
  subnet_.scheduler.at(at, [this, at] {
    if (alarm_ != at) return;
    alarm_.reset();
    directory.run(at);
    wake();
  });
}

bool Port::ask(std::uint64_t number, const Question& question, Time) {
  const bool one = question.of != Guid{};
  const auto table = [&](std::size_t record) {
    return one ? 1 : subnet_.guids.size() * record / kRecordsInDatagram + 1;
  };
  switch (question.kind) {
    case Kind::kMembers:
      subnet_.asked(table(kServiceRecord));
      break;
    case Kind::kPorts:
      subnet_.asked(table(kNodeRecord));
      break;
    case Kind::kPortAt:
      subnet_.asked(1);
      break;
    case Kind::kPaths:  // PathRecords and a PortInfoRecord
      subnet_.asked(1);
      subnet_.asked(1);
      break;
    case Kind::kEnd:  // of the port itself
      break;
  }
  subnet_.scheduler.after(200us, [this, number, question] {
    const Time now = subnet_.scheduler.now();
    const Guid at{question.path.dlid.value()};
    const Lid lid{static_cast<std::uint16_t>(question.of.value())};
    const PeerPath path{.slid = Lid{1}, .dlid = lid, .mtu = 4096};
    if (question.kind == Kind::kPaths) {
      directory.answer(number, PortPaths{.lids = {.base = lid}, .paths = {&path, 1}}, now);
    } else if (question.kind == Kind::kEnd) {
      directory.answer(number, DatagramEnd{.qpn = Qpn{7}}, now);
    } else if (question.kind == Kind::kPortAt) {
      directory.answer(number, std::span<const Guid>(&at, 1), now);
    } else if (question.of != Guid{}) {
      directory.answer(number, std::span<const Guid>(&question.of, 1), now);
    } else {
      directory.answer(number, std::span<const Guid>(subnet_.guids), now);
    }
    wake();
  });
  return true;
}

void print(const char* when, std::size_t members, const Subnet::Load& load) {
  std::cout << members << " ports, " << when << ": " << load.questions << " questions, "
            << load.datagrams << " datagrams of answers, " << load.a_second << " a second, "
            << load.worst << " in the worst one\n";
}

// A port in eight is there; the administrator of this project answers 100,000 questions a second
// and more.
TEST(AdministratorLoad, GrowsWithTheNumberOfPortsAndNotWithItsSquare) {
  std::vector<std::size_t> rates;
  for (const std::size_t members : {std::size_t{250}, std::size_t{1000}}) {
    Subnet subnet(members, 8);
    subnet.run_for(60s);
    print("in their first minute", members, subnet.load());
    subnet.run_for(4h);
    const auto steady = subnet.load();
    print("then", members, steady);
    rates.push_back(steady.a_second);
    // A list of all is the longest answer. In one second few ask for it.
    const std::size_t all_at_once = members * members * kServiceRecord / kRecordsInDatagram;
    EXPECT_LT(steady.worst, all_at_once / 4);
  }
  EXPECT_LT(rates[1], 4 * rates[0]);
  EXPECT_LT(rates[1], 2000u);
}

TEST(AdministratorLoad, OfAPortThatComesIsThatOfOneEach) {
  constexpr std::size_t kMembers = 1000;
  Subnet subnet(kMembers, 8);
  subnet.run_for(100s);
  for (const bool notice : {true, false}) {
    subnet.load();
    subnet.tell([notice](Directory& directory, Time now) {
      notice ? directory.in_service(Guid{500}, now)
             : directory.stranger_heard({.lid = Lid{500}}, now);
    });
    subnet.run_for(10s);
    const auto load = subnet.load();
    print(notice ? "when one comes" : "when a stranger is heard", kMembers, load);
    EXPECT_GE(load.questions, 3 * kMembers) << "each asks after it";
    EXPECT_LE(load.questions, 20 * kMembers);
    EXPECT_LE(load.worst, 8 * kMembers);
  }
}

}  // namespace
}  // namespace weft::lan
