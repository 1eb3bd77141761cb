#include "codegen/llvm/debug_lines.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/TargetParser/Triple.h>

namespace weft::codegen::llvm_backend {
namespace {

const Location& first_place(const ir::Function& function) {
    static const Location nowhere;
    if (function.location) return function.location;
    for (const ir::Op* op : function.body.ops) {
        if (op->location) return op->location;
    }
    return nowhere;
}

}  // namespace

DebugLines::DebugLines(llvm::Module& module) : module_(module), builder_(module) {
    const bool ptx = llvm::Triple(module.getTargetTriple()).isNVPTX();
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", ptx ? 2 : 4);
}

llvm::DIFile* DebugLines::file(const SourceFile& source) {
    llvm::DIFile*& out = files_[source.path];
    if (out != nullptr) return out;
    const auto slash = source.path.rfind('/');
    const bool has_folder = slash != std::string::npos;
    out = builder_.createFile(has_folder ? source.path.substr(slash + 1) : source.path,
                              has_folder ? source.path.substr(0, slash) : std::string());
    return out;
}

llvm::DebugLoc DebugLines::begin(const ir::Function& source, llvm::Function& target) {
    const Location& place = first_place(source);
    if (place && place.file != nullptr && target.getSubprogram() == nullptr) {
        llvm::DIFile* in = file(*place.file);
        if (unit_ == nullptr) {
            // GPUs take lines as directives of PTX; their tables are made by ptxas.
            const bool ptx = llvm::Triple(module_.getTargetTriple()).isNVPTX();
            const auto kind = ptx ? llvm::DICompileUnit::DebugDirectivesOnly : llvm::DICompileUnit::LineTablesOnly;
            unit_ = builder_.createCompileUnit(llvm::dwarf::DW_LANG_Python, in, "Weft", true, "", 0, "", kind);
        }
        auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
        const auto line = static_cast<unsigned>(place.line);
        target.setSubprogram(builder_.createFunction(in, source.name, target.getName(), in, line, type, line,
                                                     llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition));
    }
    return at(place, target);
}

llvm::DebugLoc DebugLines::at(const Location& location, const llvm::Function& target) {
    llvm::DISubprogram* function = target.getSubprogram();
    if (function == nullptr) return {};
    auto& context = module_.getContext();
    if (!location || location.file == nullptr) return llvm::DILocation::get(context, function->getLine(), 0, function);
    llvm::DIScope* scope = function;
    // What was inlined from another file.
    if (llvm::DIFile* in = file(*location.file); in != function->getFile()) {
        scope = builder_.createLexicalBlockFile(function, in);
    }
    return llvm::DILocation::get(context, static_cast<unsigned>(location.line),
                                 static_cast<unsigned>(location.column) + 1, scope);
}

}  // namespace weft::codegen::llvm_backend
