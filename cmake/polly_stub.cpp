// Debian's clang is built with the Polly plug-in and calls this function to register it. Polly is not linked: the
// answer is a plug-in that registers nothing.
#include <llvm/Passes/PassPlugin.h>

llvm::PassPluginLibraryInfo getPollyPluginInfo();

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder&) {}};
}
