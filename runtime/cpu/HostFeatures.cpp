#include "runtime/cpu/HostFeatures.h"

namespace frit {

std::vector<std::string> hostLevels() {
  std::vector<std::string> levels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  if (v4) {
    levels.push_back("x86-64-v4");
  }
  if (v3) {
    levels.push_back("x86-64-v3");
  }
#endif
  return levels;
}

} // namespace frit
