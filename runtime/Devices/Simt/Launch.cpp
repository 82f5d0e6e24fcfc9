//===- Launch.cpp - a grid on the emulated GPU ----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Launch.h"

#include "runtime/Devices/Simt/Block.h"
#include "runtime/Devices/Simt/Shadow.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>
#include <ucontext.h>

namespace steep::simt {

//===----------------------------------------------------------------------===//
// Memory faults
//===----------------------------------------------------------------------===//

/// The block that this host thread runs.
static thread_local Block *activeBlock = nullptr;
static thread_local const void *faultAddress = nullptr;

static void continueAfterFault() { activeBlock->faulted(faultAddress); }

/// A lane touched memory that is not there. The handler does nothing but make
/// the thread continue in continueAfterFault, on the scheduler's stack.
static struct sigaction previousAction;
static void onFault(int number, siginfo_t *info, void *opaque) {
  if (!activeBlock) {
    // Not ours: whoever was there before decides.
    if (previousAction.sa_flags & SA_SIGINFO)
      return previousAction.sa_sigaction(number, info, opaque);
    if (previousAction.sa_handler != SIG_DFL &&
        previousAction.sa_handler != SIG_IGN)
      return previousAction.sa_handler(number);
    std::signal(number, SIG_DFL);
    return;
  }
  faultAddress = info->si_addr;
  auto &registers = static_cast<ucontext_t *>(opaque)->uc_mcontext.gregs;
  auto stack = reinterpret_cast<std::uintptr_t>(activeBlock->faultStack());
  // As after a call: eight below a multiple of 16, and below the red zone.
  registers[REG_RSP] = ((stack - 256) & ~std::uintptr_t(15)) - 8;
  registers[REG_RIP] = reinterpret_cast<greg_t>(&continueAfterFault);
}

namespace {
/// Catches SIGSEGV and SIGBUS while launches run.
class FaultHandler {
public:
  FaultHandler() {
    std::lock_guard<std::mutex> lock(mutex());
    if (users()++)
      return;
    struct sigaction action = {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previousAction);
  }
  ~FaultHandler() {
    std::lock_guard<std::mutex> lock(mutex());
    if (--users() == 0)
      sigaction(SIGSEGV, &previousAction, nullptr);
  }

private:
  static std::mutex &mutex() {
    static std::mutex instance;
    return instance;
  }
  static unsigned &users() {
    static unsigned count = 0;
    return count;
  }
};

/// A stack for the handler: a lane's own may be the one that overflowed.
class SignalStack {
public:
  SignalStack() : memory(64 * 1024) {
    stack_t stack = {};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, &before);
  }
  ~SignalStack() { sigaltstack(&before, nullptr); }

private:
  std::vector<char> memory;
  stack_t before = {};
};
} // namespace

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

namespace {
/// What a host thread needs to run blocks; kept from launch to launch.
struct Machine {
  explicit Machine(unsigned threads) : stacks(threads), threads(threads) {}
  SharedWindow window;
  Stacks stacks;
  unsigned threads;
};

class MachinePool {
public:
  /// Null if the system has no memory for one.
  std::unique_ptr<Machine> take(unsigned threads) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      for (auto &machine : idle)
        if (machine->threads >= threads) {
          std::swap(machine, idle.back());
          auto taken = std::move(idle.back());
          idle.pop_back();
          return taken;
        }
    }
    auto made = std::make_unique<Machine>(std::max(threads, 256u));
    if (!made->window.begin() || !made->stacks)
      return nullptr;
    return made;
  }
  void put(std::unique_ptr<Machine> machine) {
    std::lock_guard<std::mutex> lock(mutex);
    if (idle.size() < 64)
      idle.push_back(std::move(machine));
  }
  static MachinePool &instance() {
    static MachinePool pool;
    return pool;
  }

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<Machine>> idle;
};

struct Progress {
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stopped{false};
  std::uint64_t total = 0;
  std::mutex mutex;
  LaunchStats stats;
};
} // namespace

static void runBlocks(const Launch &launch, Machine &machine,
                      Progress &progress) {
  SignalStack signalStack;
  Block block(launch, machine.window, machine.stacks);
  activeBlock = &block;
  std::uint64_t count = 0;
  while (!progress.stopped) {
    std::uint64_t i = progress.next++;
    if (i >= progress.total)
      break;
    std::uint64_t row = i / launch.grid[0];
    ++count;
    if (!block.run(i % launch.grid[0], row % launch.grid[1],
                   row / launch.grid[1]))
      progress.stopped = true;
  }
  activeBlock = nullptr;
  std::lock_guard<std::mutex> lock(progress.mutex);
  progress.stats.blocks += count;
  progress.stats.threads += count * block.threadCount();
  progress.stats.switches += block.stats.switches;
  progress.stats.collectives += block.stats.collectives;
  progress.stats.accesses += block.stats.accesses;
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

/// The limits of real devices, so that a launch that works here could work
/// there.
static std::string checkSizes(const Launch &launch) {
  const Kernel &kernel = *launch.kernel;
  std::uint64_t threads = 1;
  static const char axes[] = "xyz";
  static const std::uint32_t mostGrid[] = {0x7fffffff, 65535, 65535};
  static const std::uint32_t mostBlock[] = {1024, 1024, 64};
  for (int i = 0; i < 3; ++i) {
    std::string axis(1, axes[i]);
    if (launch.grid[i] == 0 || launch.grid[i] > mostGrid[i])
      return "grid." + axis + " is " + std::to_string(launch.grid[i]) +
             " (1 to " + std::to_string(mostGrid[i]) + ")";
    if (launch.block[i] == 0 || launch.block[i] > mostBlock[i])
      return "block." + axis + " is " + std::to_string(launch.block[i]) +
             " (1 to " + std::to_string(mostBlock[i]) + ")";
    if (kernel.required[i] && kernel.required[i] != launch.block[i])
      return "block." + axis + " is " + std::to_string(launch.block[i]) +
             " and the kernel requires " + std::to_string(kernel.required[i]);
    threads *= launch.block[i];
  }
  std::uint32_t most = kernel.maxThreads ? kernel.maxThreads : 1024;
  if (threads > most)
    return "the block has " + std::to_string(threads) +
           " threads; at most: " + std::to_string(most);
  std::uint64_t shared =
      std::uint64_t(launch.kernel->staticShared) + launch.dynamicShared;
  if (shared > 227 * 1024)
    return "the block needs " + std::to_string(shared) +
           " bytes of shared memory; at most: 232448";
  return "";
}

bool run(const Program &program, const Kernel &kernel,
         const std::uint32_t (&grid)[3], const std::uint32_t (&block)[3],
         std::uint32_t dynamicShared, void **parameters, Reports &reports,
         std::string &message, LaunchStats *stats) {
  Launch launch;
  launch.program = &program;
  launch.kernel = &kernel;
  launch.number = program.launches++;
  std::copy(grid, grid + 3, launch.grid);
  std::copy(block, block + 3, launch.block);
  launch.dynamicShared = dynamicShared;
  launch.parameters = parameters;
  launch.reports = &reports;
  launch.deadline = std::chrono::steady_clock::now() +
                    std::chrono::milliseconds(program.options.timeoutMs);
  message = checkSizes(launch);
  if (!message.empty()) {
    message = "kernel '" + kernel.name + "': " + message;
    return false;
  }
  launch.entry = program.entry(kernel, message);
  if (!launch.entry)
    return false;
  std::unique_ptr<GlobalShadow> global;
  if (program.options.check) {
    global = std::make_unique<GlobalShadow>(kernel.globalGranule);
    launch.global = global.get();
  }

  Progress progress;
  progress.total = std::uint64_t(grid[0]) * grid[1] * grid[2];
  std::uint64_t workers = program.options.threads;
  if (workers == 0)
    workers = std::max(1u, std::thread::hardware_concurrency());
  if (program.options.check)
    workers = 1;
  workers = std::min(workers, progress.total);

  std::vector<std::unique_ptr<Machine>> machines;
  for (std::uint64_t i = 0; i < workers; ++i) {
    auto machine = MachinePool::instance().take(block[0] * block[1] * block[2]);
    if (!machine)
      break;
    machines.push_back(std::move(machine));
  }
  if (machines.empty()) {
    message = "no memory for the stacks and the shared memory of a block";
    return false;
  }
  {
    FaultHandler handler;
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < machines.size(); ++i)
      others.emplace_back(
          [&, i] { runBlocks(launch, *machines[i], progress); });
    runBlocks(launch, *machines[0], progress);
    for (std::thread &other : others)
      other.join();
  }
  for (auto &machine : machines)
    MachinePool::instance().put(std::move(machine));
  if (stats)
    *stats = progress.stats;
  return reports.empty();
}

} // namespace steep::simt
