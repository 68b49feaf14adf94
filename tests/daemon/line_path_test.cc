// SPDX-License-Identifier: Apache-2.0
// Two ends of a line over real sockets, with an emulated WAN between them in which a switch of
// cells stands: they set their connection up through it, and release it.
#include "daemon/wan/line_path.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/entropy.h"
#include "base/random.h"
#include "daemon/wan/wan_emulator.h"
#include "in_a_directory.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

class LinePaths : public InADirectory {
 protected:
  struct End {
    std::unique_ptr<LinePath> path;
    std::vector<std::vector<std::byte>> came;
  };

  LinePaths() : reactor_(std::move(io::Reactor::create(0us).value())) {}
  ~LinePaths() override { stop_emulator(); }

  // Listens where it did before.
  void start_emulator(const std::string& equipment) {
    WanEmulatorConfig config;
    config.carries = WanEmulatorConfig::Carries::kStream;
    config.listen = emulator_at_;
    config.target = "unix:" + directory_ + "/west";
    config.equipment = equipment;
    emulator_ = std::move(WanEmulator::open(config).value());
    emulator_at_ = emulator_->listens();
    runs_ = std::thread([this] {
      (void)emulator_->run(
          0ns, [] {}, [] {});
    });
  }
  void stop_emulator() {
    if (!emulator_) return;
    emulator_->stop();
    runs_.join();
    last_report_ = emulator_->report();
    emulator_.reset();
  }
  [[nodiscard]] std::uint64_t counted(const char* counter) const {
    return last_report_["equipment"]["counters"][counter].get<std::uint64_t>();
  }

  void open(std::size_t end, const std::string& line) {
    const auto address = [](std::size_t of) {
      AtmAddress out{std::byte{0x47}};
      out.back() = static_cast<std::byte>(of);
      return out;
    };
    fabric::LabRemote remote;
    remote.name = "other";
    remote.line = line;
    remote.encapsulation = "ipv6/aal5/stm1";
    remote.line_octets_per_s = 5'000'000;
    remote.svc = fabric::LabSvc{.own = address(end), .other = address(1 - end)};
    const auto ip = [](std::size_t of) {
      std::array<std::uint8_t, 16> out{0x20, 0x01};
      out.back() = static_cast<std::uint8_t>(of + 1);
      return Gid{out};
    };
    auto path =
        LinePath::open(remote, {.local = ip(end), .remote = ip(1 - end)}, entropy_, *reactor_);
    ASSERT_TRUE(path) << path.error().message;
    ends_[end].path = std::move(*path);
    ends_[end].path->set_user(
        {.received = [this, end](Bytes frame, const RemotePath::Beside&, Time) {
          ends_[end].came.emplace_back(frame.begin(), frame.end());
          return true;
        }});
  }
  void send(std::size_t end, std::byte what) {
    const std::vector<std::byte> frame(1000, what);
    const Bytes whole(frame);
    const wan::OutFrame out{.parts = {&whole, 1}, .size = whole.size()};
    ends_[end].path->send({&out, 1}, io::now());
  }
  [[nodiscard]] bool up(std::size_t end) const { return ends_[end].path->established(); }
  // Until then; false: it took too long.
  [[nodiscard]] bool await(const std::function<bool()>& done) {
    for (const Time until = io::now() + 30s; !done();) {
      if (io::now() > until) return false;
      for (End& end : ends_) {
        if (end.path) end.path->run(io::now());
      }
      (void)reactor_->run_once(200us);
    }
    return true;
  }

  std::unique_ptr<io::Reactor> reactor_;
  SeededEntropy entropy_{Random(1)};
  std::array<End, 2> ends_;
  std::string emulator_at_ = "127.0.0.1:0";
  std::unique_ptr<WanEmulator> emulator_;
  std::thread runs_;
  nlohmann::json last_report_;
};

TEST_F(LinePaths, SetTheirConnectionUpThroughASwitchAndReleaseIt) {
  open(0, "unix:" + directory_ + "/west");
  start_emulator("cell-switch:stm1");
  open(1, "tcp-to:" + emulator_at_);
  ASSERT_TRUE(await([this] { return up(0) && up(1); }));
  send(0, std::byte{1});
  send(1, std::byte{2});
  ASSERT_TRUE(await([this] { return !ends_[0].came.empty() && !ends_[1].came.empty(); }));
  EXPECT_EQ(ends_[1].came.front(), std::vector(1000, std::byte{1}));
  EXPECT_EQ(ends_[0].came.front(), std::vector(1000, std::byte{2}));

  // The switch is gone, and one is there again that knows nothing.
  stop_emulator();
  ASSERT_TRUE(await([this] { return !up(0) && !up(1); }));
  start_emulator("cell-switch:stm1");
  ASSERT_TRUE(await([this] { return up(0) && up(1); }));

  ends_[1].path->close();
  EXPECT_FALSE(up(1));
  ends_[1].path.reset();
  ASSERT_TRUE(await([this] { return !up(0); }));
  stop_emulator();
  EXPECT_EQ(counted("calls_connected"), 2U);  // at both of its ports
  EXPECT_EQ(counted("calls_released"), counted("calls_placed") + counted("calls_came"));
}

TEST_F(LinePaths, RefuseAConnectionOfAtmWhereThereIsNone) {
  fabric::LabRemote remote;
  remote.line = "unix:" + directory_ + "/west";
  remote.encapsulation = "gfp/stm1";
  remote.svc = fabric::LabSvc{};
  const auto path = LinePath::open(remote, {}, entropy_, *reactor_);
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().message,
            "gfp/stm1: svc is of ATM: say aal5 in encapsulation, or leave svc out");
}

}  // namespace
}  // namespace weft::daemon
