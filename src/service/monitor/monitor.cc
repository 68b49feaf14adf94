// SPDX-License-Identifier: Apache-2.0
#include "service/monitor/monitor.h"

#include <algorithm>

#include "service/qp_map.h"
#include "wire/aeth.h"

namespace weft::service {
namespace {

using enum MonitorCounter;
using wire::Operation;

bool is_reliable(const Fields& fields) {
  return fields.form == Form::kTransport &&
         (fields.transport == wire::Transport::rc || fields.transport == wire::Transport::xrc);
}

// IBA 9.7.5.1.2: an ACK of this PSN says that all up to it have been executed.
bool is_acknowledgement(const Fields& fields) {
  return fields.operation == Operation::acknowledge && fields.syndrome >> 5 == 0;
}

}  // namespace

Monitor::Monitor(const Options& options)
    : options_(options),
      flows_(options.flows),
      talkers_(options.talkers),
      requests_(options.connections),
      directions_(options.connections),
      by_answers_(options.connections) {
}

Verdict Monitor::handle(Packet& packet, Time now) {
  const Fields& fields = packet.fields();
  if (!next_) {
    began_ = now;
    next_ = now + options_.interval;
  }
  ++packets_;
  bytes_ += fields.size;
  const FlowName flow{fields.global ? fields.sgid : end_of(fields.slid),
                      fields.global ? fields.dgid : end_of(fields.dlid), fields.dest_qp};
  flows_.add(flow, fields.size);
  talkers_.add(flow.from, fields.size);
  if (fields.cm.present) {
    note_message(fields, flow);
  } else if (is_reliable(fields)) {
    if (fields.response) {
      note_answer(fields, flow, now);
    } else {
      note_request(fields, flow, now);
    }
  }
  return Verdict::forward();
}

void Monitor::note_message(const Fields& fields, const FlowName& flow) {
  const CmFields& cm = fields.cm;
  if (cm.message == wire::CmMessage::kReq) {
    const Request request{flow.from, flow.to, cm.local_comm_id};
    if (Qpn* const known = requests_.touch(request)) {
      *known = cm.local_qp;
    } else {
      requests_.insert(request, cm.local_qp);
    }
    return;
  }
  if (cm.message != wire::CmMessage::kRep) return;
  const Qpn* const requester = requests_.find({flow.to, flow.from, cm.remote_comm_id});
  if (requester == nullptr) return;
  const FlowName there{flow.to, flow.from, cm.local_qp};
  const FlowName back{flow.from, flow.to, *requester};
  if (directions_.find(there) == nullptr) counters_.add_in_turn(kConnections);
  pair(there, back);
  pair(back, there);
}

void Monitor::pair(const FlowName& requests, const FlowName& answers) {
  if (Direction* const known = directions_.touch(requests)) {
    if (known->answers == answers) return;
    *known = {};
    known->answers = answers;
  } else {
    Direction fresh;
    fresh.answers = answers;
    directions_.insert(requests, std::move(fresh));
  }
  if (FlowName* const known = by_answers_.touch(answers)) {
    *known = requests;
  } else {
    by_answers_.insert(answers, requests);
  }
}

void Monitor::note_request(const Fields& fields, const FlowName& flow, Time now) {
  Direction* const direction = directions_.touch(flow);
  if (direction == nullptr) return;
  std::vector<Outstanding>& waiting = direction->outstanding;
  // What is not newer than all that was seen was sent again, or overtaken: an acknowledgement would
  // not tell which one it is of (Karn and Partridge, 1987).
  if (direction->newest && Psn::diff(fields.psn, *direction->newest) <= 0) {
    counters_.add_in_turn(kRepeated);
    for (Outstanding& one : waiting) {
      if (Psn::diff(one.psn, fields.psn) >= 0) one.repeated = true;
    }
    return;
  }
  direction->newest = fields.psn;
  if (!fields.ack_request) return;
  if (waiting.size() >= options_.outstanding) waiting.erase(waiting.begin());
  waiting.push_back({fields.psn, now});
}

void Monitor::note_answer(const Fields& fields, const FlowName& flow, Time now) {
  if (!is_acknowledgement(fields)) return;
  const FlowName* const requests = by_answers_.find(flow);
  Direction* const direction = requests == nullptr ? nullptr : directions_.find(*requests);
  if (direction == nullptr) {
    counters_.add_in_turn(kUnpaired);
    return;
  }
  std::vector<Outstanding>& waiting = direction->outstanding;
  for (const Outstanding& one : waiting) {
    if (one.psn != fields.psn || one.repeated) continue;
    Latency& latency = direction->latency;
    latency.last = now - one.at;
    latency.least = latency.samples == 0 ? latency.last : std::min(latency.least, latency.last);
    latency.most = std::max(latency.most, latency.last);
    latency.sum += latency.last;
    ++latency.samples;
    counters_.add_in_turn(kSamples);
  }
  std::erase_if(waiting,
                [&fields](const Outstanding& one) { return Psn::diff(one.psn, fields.psn) <= 0; });
}

std::optional<Monitor::Latency> Monitor::latency(const FlowName& requests) const {
  for (const auto& [flow, direction] : directions_) {
    if (flow == requests && direction.latency.samples != 0) return direction.latency;
  }
  return std::nullopt;
}

void Monitor::run(Time now) {
  if (!next_ || now < *next_) return;
  const std::int64_t elapsed = std::max<std::int64_t>((now - began_).count(), 1);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto per_second = [elapsed](std::uint64_t count) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(count) * kSecond /
                                      static_cast<std::uint64_t>(elapsed));
  };
  rate_ = {per_second(packets_), per_second(bytes_)};
  packets_ = 0;
  bytes_ = 0;
  began_ = now;
  next_ = now + options_.interval;
}

}  // namespace weft::service
