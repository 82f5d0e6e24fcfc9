//===- Schedules.cpp - tables of coefficients, and their cost -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Schedules/Schedules.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace steep;
using namespace steep::schedules;

/// K. Jordan et al., Muon: An optimizer for hidden layers, 2024.
static constexpr Triple jordan = {3.4445, -4.7750, 2.0315};

/// Found by J. You; five triples, each for its own step.
static constexpr Triple you[] = {
    {4.0848, -6.8946, 2.9270}, {3.9505, -6.3029, 2.6377},
    {3.7418, -5.5913, 2.3037}, {2.8769, -3.1427, 1.2046},
    {2.8366, -3.0525, 1.2012},
};

/// Z. Wu et al., SAMuon, arXiv:2608.25990, table 4; four triples. Within 0.007
/// of 1 from 0.02 on.
static constexpr Triple samuon[] = {
    {5.30697775, -9.73226547, 4.52926445},
    {3.99123669, -4.20899105, 1.18235242},
    {2.66316843, -2.16650701, 0.56325209},
    {1.93040931, -1.31219244, 0.38289258},
};

/// N. Amsel, D. Persson, C. Musco, R. Gower: The Polar Express,
/// arXiv:2505.16932. After these, `cubic` for ever.
static constexpr Triple polarExpress[] = {
    {8.28721201814563, -23.595886519098837, 17.300387312530933},
    {4.107059111542203, -2.9478499167379106, 0.5448431082926601},
    {3.9486908534822946, -2.908902115962949, 0.5518191394370137},
    {3.3184196573706015, -2.488488024314874, 0.51004894012372},
    {2.300652019954817, -1.6689039845747493, 0.4188073119525673},
    {1.891301407787398, -1.2679958271945868, 0.37680408948524835},
    {1.8750014808534479, -1.2500016453999487, 0.3750001645474248},
};

/// The odd quintic with p(1) = 1, p'(1) = p''(1) = 0: converges to 1 cubically.
static constexpr Triple cubic = {15.0 / 8, -10.0 / 8, 3.0 / 8};

/// "3", "1.05": the shortest form with up to nine digits.
static std::string str(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

static std::string describeSteps(int64_t steps, std::string_view name,
                                 int64_t most = maxSteps) {
  return "expected steps of schedule " + std::string(name) + " in 1.." +
         std::to_string(most) + ", but got " + std::to_string(steps);
}

static Schedule makePolarExpress(int64_t steps, double safety) {
  Schedule schedule;
  for (const Triple &t : polarExpress)
    schedule.push_back(
        {t.a / safety, t.b / std::pow(safety, 3), t.c / std::pow(safety, 5)});
  schedule.resize(steps, cubic);
  return schedule;
}

std::optional<Schedule> schedules::makeSchedule(std::string_view name,
                                                int64_t steps,
                                                std::optional<double> safety,
                                                std::string &error) {
  bool isYou = name == "you", isPolarExpress = name == "polar_express",
       isSamuon = name == "samuon";
  if (!isYou && !isPolarExpress && !isSamuon && name != "jordan" &&
      name != "cubic") {
    error = "expected schedule to be jordan, you, polar_express, samuon or "
            "cubic, but got \"" +
            std::string(name) + "\"";
    return std::nullopt;
  }
  int64_t most = isSamuon ? std::size(samuon) : maxSteps;
  if (steps < 1 || steps > most) {
    error = describeSteps(steps, name, most);
    return std::nullopt;
  }
  if (safety && !isPolarExpress) {
    error = "expected safety only with schedule polar_express, but got it "
            "with " +
            std::string(name);
    return std::nullopt;
  }
  // A large one takes all of the step: a factor of 1.01 to 1.05 is usual.
  if (safety && !(*safety >= 1 && *safety <= 2)) {
    error = "expected safety in [1, 2], but got " + str(*safety);
    return std::nullopt;
  }
  if (isSamuon)
    return Schedule(samuon, samuon + steps);
  if (isPolarExpress)
    return makePolarExpress(steps, safety.value_or(1));
  if (!isYou)
    return Schedule(steps, name == "jordan" ? jordan : cubic);
  Schedule schedule(std::begin(you), std::end(you));
  schedule.resize(steps, schedule.back());
  return schedule;
}

/// What is wrong with a coefficient of triple `index`, or nothing.
static std::string checkCoefficient(double value, size_t index,
                                    double largest) {
  double size = std::fabs(value);
  if (value == 0 || (size >= minCoefficient && size <= largest))
    return "";
  return "expected coefficients of schedule to be 0 or of a size in [" +
         str(minCoefficient) + ", " + str(largest) + "], outside of which " +
         (largest < maxCoefficientF32 ? "BF16 products" : "FP32 steps") +
         " lose or magnify them, but got " + str(value) + " in triple " +
         std::to_string(index + 1);
}

std::optional<Schedule> schedules::makeCustomSchedule(const Schedule &table,
                                                      int64_t steps,
                                                      std::string_view then,
                                                      double largest,
                                                      std::string &error) {
  auto refuse = [&](std::string text) {
    error = std::move(text);
    return std::nullopt;
  };
  if (table.empty())
    return refuse("expected schedule to hold at least one triple [a, b, c]");
  for (size_t i = 0; i < table.size(); ++i)
    for (double value : {table[i].a, table[i].b, table[i].c})
      if (std::string fault = checkCoefficient(value, i, largest);
          !fault.empty())
        return refuse(fault);
  if (steps < 1 || steps > maxSteps)
    return refuse(describeSteps(steps, "[[a, b, c], ...]"));
  if (!then.empty() && then != "repeat" && then != "cubic")
    return refuse("expected then to be \"repeat\" or \"cubic\", but got \"" +
                  std::string(then) + "\"");
  int64_t given = static_cast<int64_t>(table.size());
  if (steps > given && then.empty())
    return refuse("expected then = \"repeat\" or \"cubic\" to say what "
                  "follows the last of " +
                  std::to_string(given) + " triples in " +
                  std::to_string(steps) + " steps");
  if (steps < given)
    return refuse("expected steps to be at least the number of triples, " +
                  std::to_string(given) + ", but got " + std::to_string(steps) +
                  ", which leaves the last " + std::to_string(given - steps) +
                  " unused");
  if (steps == given && !then.empty())
    return refuse("expected then only with more steps than triples, but got "
                  "then = \"" +
                  std::string(then) + "\" with " + std::to_string(steps) +
                  " steps and " + std::to_string(given) + " triples");
  Schedule schedule = table;
  schedule.resize(steps, then == "cubic" ? cubic : table.back());
  return schedule;
}
