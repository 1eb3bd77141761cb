#include "runtime/cpu/cache_size.h"

#include <fstream>

namespace weft::runtime {

int64_t cache_bytes() {
    static const int64_t bytes = [] {
        // sysconf() adds up what is not shared by the threads of this process. "32768K".
        int64_t kilobytes = 0;
        std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kilobytes;
        return (kilobytes > 0 ? kilobytes : int64_t{32} << 10) << 10;
    }();
    return bytes;
}

}  // namespace weft::runtime
