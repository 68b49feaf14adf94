// SPDX-License-Identifier: Apache-2.0
#include "cli/negotiation_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/report_view.h"
#include "cli/style.h"
#include "cli/table.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

constexpr int kCell = 40;    // pixels
constexpr int kMargin = 90;  // for titles and labels

bool counts(const Json& eye) {
  return eye.is_object() && eye.value("matched", false) && eye.value("symbol_errors", 1) == 0;
}

// "123 mV", "7 errors", "no match"; "-" where nothing was measured.
std::string eye_text(const Json& eye) {
  if (!eye.is_object()) return "-";
  if (!eye.value("matched", false)) return "no match";
  const auto errors = eye.value("symbol_errors", std::uint64_t{0});
  if (errors != 0) return fmt::format("{} errors", errors);
  return fmt::format("{:.0f} mV", eye.value("eye_mv", 0.0));
}

bool is_chosen(const Json& end, std::size_t iteration, std::size_t receive) {
  if (end.value("iteration", Json()) != Json(iteration)) return false;
  const Json& lanes = list_of(end, "receive");
  return std::any_of(lanes.begin(), lanes.end(),
                     [&](const Json& lane) { return lane == Json(receive); });
}

void print_sweep(const Json& end, const Style& style) {
  const Json& sweep = list_of(end, "sweep");
  if (sweep.empty()) return;
  std::vector<std::string> head{"iteration"};
  for (std::size_t i = 0; i < sweep.front().size(); ++i)
    head.push_back(fmt::format("rx {}", i));
  Table table(head);
  for (std::size_t iteration = 0; iteration < sweep.size(); ++iteration) {
    std::vector<std::string> row{fmt::to_string(iteration)};
    for (std::size_t receive = 0; receive < sweep[iteration].size(); ++receive) {
      row.push_back((is_chosen(end, iteration, receive) ? "*" : "") +
                    eye_text(sweep[iteration][receive]));
    }
    table.add(row);
  }
  fmt::print("  what {} saw of its peer's settings (* chosen by a lane)\n{}",
             printable(text_of(end, "at")), table.to_string(style));
}

// Text of a report, in SVG.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

double largest_eye(const Json& negotiation) {
  double most = 1;
  for (const Json& end : list_of(negotiation, "ends")) {
    for (const Json& row : list_of(end, "sweep")) {
      for (const Json& eye : row) {
        if (counts(eye)) most = std::max(most, eye.value("eye_mv", 0.0));
      }
    }
  }
  return most;
}

// One end's field, its upper left corner at (x, 0). Returns its width and height.
std::pair<int, int> draw_field(std::string& out, const Json& end, int x, double most) {
  const Json& sweep = list_of(end, "sweep");
  const auto put = std::back_inserter(out);
  fmt::format_to(put, "<text x=\"{}\" y=\"24\">{} receives</text>\n", x + kMargin,
                 escaped(text_of(end, "at")));
  std::size_t columns = 0;
  for (std::size_t row = 0; row < sweep.size(); ++row) {
    const int y = kMargin + static_cast<int>(row) * kCell;
    columns = std::max(columns, sweep[row].size());
    fmt::format_to(put, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">iteration {}</text>\n",
                   x + kMargin - 6, y + kCell / 2 + 4, row);
    for (std::size_t column = 0; column < sweep[row].size(); ++column) {
      const Json& eye = sweep[row][column];
      const double open = counts(eye) ? std::max(0.0, eye.value("eye_mv", 0.0)) / most : 0;
      const auto shade = static_cast<int>(235 - 190 * open);
      fmt::format_to(put,
                     "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" "
                     "stroke=\"{}\"><title>{}</title></rect>\n",
                     x + kMargin + static_cast<int>(column) * kCell, y, kCell - 2, kCell - 2,
                     counts(eye) ? fmt::format("rgb({0},{0},245)", shade) : "rgb(245,225,220)",
                     is_chosen(end, row, column) ? "black" : "none", escaped(eye_text(eye)));
    }
  }
  for (std::size_t column = 0; column < columns; ++column) {
    fmt::format_to(put, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">rx {}</text>\n",
                   x + kMargin + static_cast<int>(column) * kCell + kCell / 2, kMargin - 8, column);
  }
  return {kMargin + static_cast<int>(columns) * kCell + kCell,
          kMargin + static_cast<int>(sweep.size()) * kCell + kCell};
}

}  // namespace

void print_negotiation(const Json& negotiation) {
  const Style style = Style::for_stream(stdout);
  for (const Json& end : list_of(negotiation, "ends")) {
    const std::string reason = printable(text_of(end, "reason"));
    fmt::print("  {} negotiates: {}{}\n", printable(text_of(end, "at")),
               printable(text_of(end, "state")), reason.empty() ? "" : " (" + reason + ")");
    print_counters(object_of(end, "counters"));
    if (!end.contains("bit_error_rate")) continue;
    fmt::print("    bits arrive wrong with probability {:.1e}, and {} symbols have\n",
               end.value("bit_error_rate", 0.0), end.value("symbol_errors", std::uint64_t{0}));
  }
  for (const Json& step : list_of(negotiation, "timeline"))
    fmt::print("{}\n", printable(text_of(step, "text")));
  for (const Json& end : list_of(negotiation, "ends"))
    print_sweep(end, style);
}

std::string sweep_svg(const Json& negotiation, const std::string& link) {
  std::string fields;
  const double most = largest_eye(negotiation);
  int x = 0;
  int height = kMargin;
  for (const Json& end : list_of(negotiation, "ends")) {
    const auto [wide, high] = draw_field(fields, end, x, most);
    x += wide;
    height = std::max(height, high);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<title>Sweep of {}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
      x, height, escaped(link), fields);
}

}  // namespace weft::cli
