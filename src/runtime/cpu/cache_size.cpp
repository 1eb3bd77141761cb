#include "runtime/cpu/cache_size.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace weft::runtime {

namespace {

// No processor has more for each of its cores.
constexpr int64_t kMostOfACore = int64_t{12} << 20;

}  // namespace

int64_t cache_bytes() {
    static const int64_t bytes = [] {
        // sysconf() adds up what is not shared by the threads of this process. "32768K".
        int64_t kilobytes = 0;
        std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kilobytes;
        const int64_t all = (kilobytes > 0 ? kilobytes : int64_t{32} << 10) << 10;
        // A virtual machine of few cores sees the whole cache of its host, which others fill.
        return std::min(all, std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN)) * kMostOfACore);
    }();
    return bytes;
}

}  // namespace weft::runtime
