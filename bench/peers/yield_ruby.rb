# SPDX-License-Identifier: MIT
# yield: two fibers, resumed in turn a million times each.
WARM_UP = 100_000
YIELDS = 1_000_000

def run(yields)
  a = Fiber.new { yields.times { Fiber.yield } }
  b = Fiber.new { yields.times { Fiber.yield } }
  yields.times do
    a.resume
    b.resume
  end
end

def now_ns
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

run(WARM_UP)
start = now_ns
run(YIELDS)
puts format('yield %.6g ns', (now_ns - start) / (2.0 * YIELDS))
