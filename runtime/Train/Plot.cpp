//===- Plot.cpp - line plots as SVG ---------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Plot.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace steep;

namespace {

constexpr double width = 760, height = 440;
constexpr double left = 86, right = 24, top = 44, bottom = 56;

/// Okabe and Ito's colours, which colour-blind readers can tell apart.
const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                              "#e69f00", "#56b4e9", "#555555"};

std::string escape(const std::string &text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      // Control characters are not allowed in XML.
      escaped += static_cast<unsigned char>(c) < 32 ? ' ' : c;
    }
  return escaped;
}

/// The drawn range of one axis and its map to the canvas.
struct Axis {
  double low = 0, high = 1;
  double begin = 0, end = 1; // on the canvas
  bool logarithmic = false;

  double value(double x) const { return logarithmic ? std::log10(x) : x; }
  double place(double x) const {
    return begin +
           (value(x) - value(low)) / (value(high) - value(low)) * (end - begin);
  }
  /// Far smaller than a double's range, so that no margin leaves it.
  bool shows(double x) const {
    return std::fabs(x) < 1e250 && (!logarithmic || x > 1e-250);
  }
  std::vector<double> ticks() const {
    return logarithmic ? logarithmicTicks(low, high)
                       : linearTicks(low, high, 6);
  }
};

/// The range of the values, widened a little; something sensible for none.
void fit(Axis &axis, const std::vector<double> &values, double margin) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (double x : values)
    if (axis.shows(x)) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  if (low > high) {
    low = axis.logarithmic ? 1 : 0;
    high = axis.logarithmic ? 10 : 1;
  }
  if (axis.logarithmic) {
    const double factor = std::max(
        std::pow(10, margin * (std::log10(high) - std::log10(low))), 1.05);
    axis.low = low / factor;
    axis.high = high * factor;
    return;
  }
  const double size = std::max(std::fabs(low), std::fabs(high));
  const double extra =
      high > low ? (high - low) * margin : (size > 0 ? size * 0.1 : 1);
  axis.low = low - extra;
  axis.high = high + extra;
}

std::string polyline(const Series &series, const Axis &x, const Axis &y) {
  const char *color =
      colors[series.color % static_cast<int>(std::size(colors))];
  const std::string dash = series.dashed ? R"( stroke-dasharray="6 4")" : "";
  const bool markers = series.points.size() <= 40;
  std::string svg, line;
  std::size_t count = 0;
  auto flush = [&] {
    if (count > 1)
      svg += fmt::format(R"(<polyline fill="none" stroke="{}" )"
                         R"(stroke-width="1.8"{} points="{}"/>)"
                         "\n",
                         color, dash, line);
    line.clear();
    count = 0;
  };
  for (const auto &[px, py] : series.points) {
    if (!x.shows(px) || !y.shows(py)) {
      flush();
      continue;
    }
    line += fmt::format("{}{:.2f},{:.2f}", count ? " " : "", x.place(px),
                        y.place(py));
    ++count;
    if (markers)
      svg +=
          fmt::format(R"(<circle cx="{:.2f}" cy="{:.2f}" r="2.6" fill="{}"/>)"
                      "\n",
                      x.place(px), y.place(py), color);
  }
  flush();
  return svg;
}

std::string axes(const Plot &plot, const Axis &x, const Axis &y) {
  std::string svg;
  for (double tick : x.ticks())
    svg += fmt::format(
        R"(<line x1="{0:.2f}" y1="{1}" x2="{0:.2f}" y2="{2}" stroke="#e4e4e4"/>)"
        R"(<text x="{0:.2f}" y="{3}" text-anchor="middle">{4:g}</text>)"
        "\n",
        x.place(tick), y.end, y.begin, y.begin + 18, tick);
  for (double tick : y.ticks())
    svg += fmt::format(
        R"(<line x1="{0}" y1="{2:.2f}" x2="{1}" y2="{2:.2f}" stroke="#e4e4e4"/>)"
        R"(<text x="{3}" y="{4:.2f}" text-anchor="end">{5:g}</text>)"
        "\n",
        x.begin, x.end, y.place(tick), x.begin - 8, y.place(tick) + 4, tick);
  svg += fmt::format(R"(<path d="M{0} {1}V{2}H{3}" fill="none" )"
                     R"(stroke="#333333"/>)"
                     "\n",
                     x.begin, y.end, y.begin, x.end);
  svg += fmt::format(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)"
                     "\n",
                     (x.begin + x.end) / 2, height - 14, escape(plot.xLabel));
  svg += fmt::format("<text transform=\"translate(18 {}) rotate(-90)\" "
                     R"(text-anchor="middle">{}</text>)"
                     "\n",
                     (y.begin + y.end) / 2, escape(plot.yLabel));
  svg += fmt::format(R"(<text x="{}" y="26" text-anchor="middle" )"
                     R"(font-size="16">{}</text>)"
                     "\n",
                     (x.begin + x.end) / 2, escape(plot.title));
  return svg;
}

std::string legend(const Plot &plot) {
  std::size_t longest = 0;
  for (const Series &series : plot.series)
    longest = std::max(longest, series.name.size());
  // The upper right corner; 7.2 is a generous width of a character.
  const double from = width - right - 52 - 7.2 * static_cast<double>(longest);
  std::string svg = fmt::format(
      R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="#ffffff" )"
      R"(fill-opacity="0.85" stroke="#cccccc"/>)"
      "\n",
      from, top + 4, width - right - 4 - from, 20 * plot.series.size() + 8);
  double y = top + 18;
  for (const Series &series : plot.series) {
    svg += fmt::format(
        R"(<line x1="{:.1f}" y1="{}" x2="{:.1f}" y2="{}" stroke="{}" )"
        R"(stroke-width="2.2"{}/><text x="{:.1f}" y="{}">{}</text>)"
        "\n",
        from + 8, y, from + 34, y,
        colors[series.color % static_cast<int>(std::size(colors))],
        series.dashed ? R"( stroke-dasharray="6 4")" : "", from + 40, y + 4,
        escape(series.name));
    y += 20;
  }
  return svg;
}

} // namespace

std::vector<double> steep::linearTicks(double low, double high, int count) {
  const double raw = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double ratio = raw / power;
  const double step = power * (ratio <= 1   ? 1
                               : ratio <= 2 ? 2
                               : ratio <= 5 ? 5
                                            : 10);
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= 2 * count + 1; ++i) {
    const double tick = (first + i) * step;
    if (tick > high + 1e-9 * step)
      break;
    // No "-0" and no 1e-17 where 0 is meant.
    ticks.push_back(std::fabs(tick) < 1e-9 * step ? 0.0 : tick);
  }
  return ticks;
}

std::vector<double> steep::logarithmicTicks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const double decades = std::log10(high) - std::log10(low);
  const int stride = std::max(1, static_cast<int>(decades / 8));
  std::vector<double> ticks;
  for (int exponent = first; exponent <= last; exponent += stride)
    for (int digit : {1, 2, 5}) {
      const double tick = digit * std::pow(10.0, exponent);
      if ((digit == 1 || decades < 3) && tick >= low && tick <= high)
        ticks.push_back(tick);
    }
  // A narrow range between two such values.
  return ticks.size() >= 2 ? ticks : linearTicks(low, high, 4);
}

std::string steep::renderSvg(const Plot &plot) {
  Axis x, y;
  x.begin = left;
  x.end = width - right;
  y.begin = height - bottom;
  y.end = top;
  y.logarithmic = plot.logarithmic;
  std::vector<double> xs, ys;
  for (const Series &series : plot.series)
    for (const auto &[px, py] : series.points) {
      xs.push_back(px);
      ys.push_back(py);
    }
  fit(x, xs, 0.02);
  fit(y, ys, 0.06);

  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" )"
      R"(width="{0}" height="{1}" font-family="sans-serif" font-size="12" )"
      R"(fill="#222222">)"
      "\n"
      R"(<rect width="{0}" height="{1}" fill="#ffffff"/>)"
      "\n",
      width, height);
  svg += axes(plot, x, y);
  for (const Series &series : plot.series)
    svg += polyline(series, x, y);
  if (!plot.series.empty())
    svg += legend(plot);
  return svg + "</svg>\n";
}
