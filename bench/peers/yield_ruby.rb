# SPDX-License-Identifier: MIT
# yield: two fibers, resumed in turn a million times each.
TIMES = 3
YIELDS = 1_000_000

def run(yields)
  a = Fiber.new { yields.times { Fiber.yield } }
  b = Fiber.new { yields.times { Fiber.yield } }
  yields.times do
    a.resume
    b.resume
  end
end

def time_ns
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  yield
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - start
end

run(YIELDS / 10) # warm-up
quickest = Array.new(TIMES) { time_ns { run(YIELDS) } }.min
puts format('yield %.6g ns', quickest / (2.0 * YIELDS))
