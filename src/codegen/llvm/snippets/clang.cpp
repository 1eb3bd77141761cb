#include "codegen/llvm/snippets/clang.h"

#if WEFT_SNIPPETS

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/PrecompiledPreamble.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <map>
#include <mutex>

#include "base/error.h"
#include "codegen/llvm/target.h"
#include "embedded/snippet_headers.h"

namespace weft::codegen::llvm_backend {
namespace {

constexpr const char* kFolder = "/weft/";
constexpr const char* kMain = "/weft/snippets.cpp";
constexpr const char* kInclude = "#include \"threads.h\"\n";

class Collector : public clang::DiagnosticConsumer {
  public:
    explicit Collector(std::vector<CompilerMessage>& out) : out_(out) {}

    void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
        DiagnosticConsumer::HandleDiagnostic(level, info);
        if (level < clang::DiagnosticsEngine::Error && level != clang::DiagnosticsEngine::Note) return;
        CompilerMessage message;
        message.is_note = level == clang::DiagnosticsEngine::Note;
        llvm::SmallString<128> text;
        info.FormatDiagnostic(text);
        message.text = text.str().str();
        if (info.hasSourceManager() && info.getLocation().isValid()) {
            auto& sources = info.getSourceManager();
            const clang::PresumedLoc place = sources.getPresumedLoc(sources.getExpansionLoc(info.getLocation()));
            if (place.isValid()) {
                message.file = place.getFilename();
                message.line = static_cast<int>(place.getLine());
                message.column = static_cast<int>(place.getColumn());
            }
        }
        if (!message.is_note || !out_.empty()) out_.push_back(std::move(message));
    }

  private:
    std::vector<CompilerMessage>& out_;
};

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files(const std::string& source) {
    auto out = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
    for (const auto& [name, contents] : embedded::snippet_headers()) {
        out->addFile(kFolder + std::string(name), 0,
                     llvm::MemoryBuffer::getMemBuffer({contents.data(), contents.size()}, "", false));
    }
    out->addFile(kMain, 0, llvm::MemoryBuffer::getMemBuffer(source, "", false));
    return out;
}

std::vector<const char*> command(const std::string& triple, const Options& options) {
    std::vector<const char*> out = {"-triple",
                                    triple.c_str(),
                                    "-emit-llvm-only",
                                    "-O2",
                                    "-disable-llvm-passes",
                                    "-std=c++20",
                                    "-ffreestanding",
                                    "-fno-builtin",
                                    "-nostdsysteminc",
                                    "-nobuiltininc",
                                    "-fno-rtti",
                                    "-fno-threadsafe-statics",
                                    "-fwrapv",
                                    "-relaxed-aliasing",
                                    "-disable-lifetime-markers",
                                    "-Wno-everything",
                                    "-Werror=return-type",
                                    "-ferror-limit",
                                    "20",
                                    "-mrelocation-model",
                                    "pic",
                                    "-pic-level",
                                    "2"};
    const auto add = [&](std::initializer_list<const char*> words) { out.insert(out.end(), words); };
    if (options.fast_math) add({"-ffast-math", "-mreassociate", "-freciprocal-math", "-fapprox-func"});
    add({options.contract || options.fast_math ? "-ffp-contract=fast" : "-ffp-contract=off"});
    if (triple.starts_with("nvptx")) {
        add({"-aux-triple", HostTarget::triple(), "-fcuda-is-device", "-x", "cuda", "-fdeclspec", "-target-cpu",
             "sm_75", "-target-feature", "+ptx78"});
    } else {
        add({"-x", "c++", "-fdeclspec"});
    }
    if (options.line_info) {
        const bool ptx = triple.starts_with("nvptx");
        add({ptx ? "-debug-info-kind=line-directives-only" : "-debug-info-kind=line-tables-only",
             ptx ? "-dwarf-version=2" : "-dwarf-version=4"});
    }
    add({kMain});
    return out;
}

void set_up(clang::CompilerInvocation& invocation, const std::vector<const char*>& words, Collector& collector,
            const std::vector<CompilerMessage>& messages) {
    auto options = llvm::makeIntrusiveRefCnt<clang::DiagnosticOptions>();
    auto diagnostics = clang::CompilerInstance::createDiagnostics(options.get(), &collector, false);
    const bool understood = clang::CompilerInvocation::CreateFromArgs(invocation, words, *diagnostics);
    WEFT_CHECK(understood, messages.empty() ? "clang refuses its options" : messages.front().text);
}

// Makes LLVM's IR of a file, and nothing of that: clang's own action sets up a code generator to no end.
class Translation : public clang::ASTFrontendAction {
  public:
    explicit Translation(llvm::LLVMContext& context) : context_(context) {}

    // After the action: null if it failed. The generator lives as long as the compiler instance.
    std::unique_ptr<llvm::Module> take_module() { return std::move(module_); }

  protected:
    std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& instance,
                                                          llvm::StringRef file) override {
        auto made = std::unique_ptr<clang::CodeGenerator>(clang::CreateLLVMCodeGen(
            instance.getDiagnostics(), file, &instance.getVirtualFileSystem(), instance.getHeaderSearchOpts(),
            instance.getPreprocessorOpts(), instance.getCodeGenOpts(), context_));
        generator_ = made.get();
        return made;
    }

    void EndSourceFileAction() override {
        if (!getCompilerInstance().getDiagnostics().hasErrorOccurred()) module_.reset(generator_->ReleaseModule());
    }

  private:
    llvm::LLVMContext& context_;
    clang::CodeGenerator* generator_ = nullptr;
    std::unique_ptr<llvm::Module> module_;
};

// The headers, read once for each set of options.
class Preambles {
  public:
    const clang::PrecompiledPreamble& get(const std::vector<const char*>& words) {
        std::string key;
        for (const char* word : words) key += std::string(word) + " ";
        const std::lock_guard lock(mutex_);
        auto& made = made_[key];
        if (!made) made = make(words);
        return *made;
    }

  private:
    static std::unique_ptr<clang::PrecompiledPreamble> make(const std::vector<const char*>& words) {
        std::vector<CompilerMessage> messages;
        Collector collector(messages);
        clang::CompilerInvocation invocation;
        set_up(invocation, words, collector, messages);
        auto options = llvm::makeIntrusiveRefCnt<clang::DiagnosticOptions>();
        auto diagnostics = clang::CompilerInstance::createDiagnostics(options.get(), &collector, false);
        const auto main = llvm::MemoryBuffer::getMemBuffer(kInclude, kMain);
        const auto bounds = clang::ComputePreambleBounds(invocation.getLangOpts(), main->getMemBufferRef(), 0);
        clang::PreambleCallbacks nothing;
        auto built = clang::PrecompiledPreamble::Build(invocation, main.get(), bounds, *diagnostics, files(kInclude),
                                                       std::make_shared<clang::PCHContainerOperations>(),
                                                       /*StoreInMemory=*/true, "", nothing);
        WEFT_CHECK(bool(built), "the headers of native snippets do not compile" +
                                    (messages.empty() ? "" : ": " + messages.front().text));
        return std::make_unique<clang::PrecompiledPreamble>(std::move(*built));
    }

    std::mutex mutex_;
    std::map<std::string, std::unique_ptr<clang::PrecompiledPreamble>> made_;
};

}  // namespace

std::unique_ptr<llvm::Module> run_clang(llvm::LLVMContext& context, const std::string& triple,
                                        const std::string& source, const Options& options,
                                        std::vector<CompilerMessage>& messages) {
    static Preambles preambles;
    Collector collector(messages);
    const std::vector<const char*> words = command(triple, options);
    clang::CompilerInstance instance;
    set_up(instance.getInvocation(), words, collector, messages);
    instance.getDiagnosticOpts().ShowPresumedLoc = 1;
    const std::string text = kInclude + source;
    const auto main = llvm::MemoryBuffer::getMemBuffer(text, kMain);
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> system = files(text);
    preambles.get(words).OverridePreamble(instance.getInvocation(), system, main.get());
    instance.getPreprocessorOpts().RetainRemappedFileBuffers = true;
    instance.createDiagnostics(&collector, /*ShouldOwnClient=*/false);
    instance.setVerboseOutputStream(std::make_unique<llvm::raw_null_ostream>());
    instance.createFileManager(system);
    Translation action(context);
    if (!instance.ExecuteAction(action)) return nullptr;
    return action.take_module();
}

}  // namespace weft::codegen::llvm_backend

#endif
