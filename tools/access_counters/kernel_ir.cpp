/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_ir.cpp - see kernel_ir.h. */
#include "kernel_ir.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Support/CommandLine.h"

namespace microscope
{

namespace
{

const struct {
    const char *function, *file;
    Intrinsic word;
} words[] = {
    {"copy16_async", "async.h", COPY16},
    {"copy_async", "async.h", COPY},
    {"copy4_async", "async.h", COPY},
    {"copies_wait", "async.h", COPY},
    {"ldmatrix", "mma.h", LDMATRIX},
    {"mma_all", "mma.h", MMA},
    {"wmma_load", "wmma.h", WMMA_LOAD},
    {"wmma_store", "wmma.h", WMMA_STORE},
    {"wmma_mma", "wmma.h", MMA},
    {"tf32_of", "engine.h", ARITHMETIC},
    {"float_of_f16", "dialect.h", ARITHMETIC},
    {"f16_of_float", "dialect.h", ARITHMETIC},
    {"float_of_bf16", "dialect.h", ARITHMETIC},
    {"bf16_of_float", "dialect.h", ARITHMETIC},
};

std::string base_name(llvm::StringRef path)
{
    return path.substr(path.rfind('/') + 1).str();
}

unsigned lanes_of(const llvm::Type *type)
{
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector ? vector->getNumElements() : 1;
}

bool is_product(const llvm::Value *value, unsigned opcode)
{
    auto *product = llvm::dyn_cast<llvm::BinaryOperator>(value);
    return product && product->getOpcode() == opcode && !llvm::isa<llvm::Constant>(product->getOperand(0)) &&
           !llvm::isa<llvm::Constant>(product->getOperand(1)) &&
           (opcode == llvm::Instruction::FMul || product->getType()->getScalarSizeInBits() == 32);
}

bool calls_fma(const llvm::Instruction *instruction)
{
    auto *call = llvm::dyn_cast<llvm::CallInst>(instruction);
    auto *called = call ? call->getCalledFunction() : nullptr;
    if (!called)
        return false;
    for (const char *name : {"llvm.fmuladd.", "llvm.fma.", "_Z3fma", "_Z3mad"})
        if (called->getName().find(name) == 0)
            return true;
    return false;
}

/* Multiply-adds: of whole numbers those of 32 bits, since addresses have 64. */
unsigned count_fmas(const llvm::Instruction *instruction)
{
    unsigned opcode = instruction->getOpcode(), factor = 0;
    if (opcode == llvm::Instruction::FAdd || opcode == llvm::Instruction::FSub)
        factor = llvm::Instruction::FMul;
    else if (opcode == llvm::Instruction::Add)
        factor = llvm::Instruction::Mul;
    bool adds = factor &&
                (is_product(instruction->getOperand(0), factor) || is_product(instruction->getOperand(1), factor));
    return adds || calls_fma(instruction) ? lanes_of(instruction->getType()) : 0;
}

unsigned count_products(const llvm::Instruction *instruction)
{
    bool multiplies = is_product(instruction, llvm::Instruction::FMul) ||
                      is_product(instruction, llvm::Instruction::Mul) || calls_fma(instruction);
    return multiplies ? lanes_of(instruction->getType()) : 0;
}

/* Returns the line of an instruction. An instruction without a line belongs to its neighbour. */
const llvm::DILocation *location_of(const llvm::Instruction *instruction)
{
    for (auto *at = instruction; at; at = at->getPrevNode())
        if (at->getDebugLoc())
            return at->getDebugLoc().get();
    for (auto *at = instruction; at; at = at->getNextNode())
        if (at->getDebugLoc())
            return at->getDebugLoc().get();
    return nullptr;
}

Intrinsic word_of(llvm::StringRef function, const std::string &file)
{
    for (auto &known : words)
        if (function == known.function && file == known.file)
            return known.word;
    return NO_INTRINSIC;
}

} // namespace

void disable_vector_combine()
{
    auto &options = llvm::cl::getRegisteredOptions();
    auto option = options.find("disable-vector-combine");
    if (option != options.end())
        option->second->addOccurrence(0, "disable-vector-combine", "true");
}

void Program::read_store_groups()
{
    const char *text = getenv("RUNG_MICROSCOPE_PUTS");
    unsigned line, parts;
    int length;
    puts.clear();
    while (text && sscanf(text, "%u:%u%n", &line, &parts, &length) == 2) {
        puts[line] = parts;
        text += length;
        text += *text == ',';
    }
}

Function *Program::function_of(const llvm::Function *function)
{
    auto &known = functions[function];
    if (!known)
        known.reset(new Function(*const_cast<llvm::Function *>(function), (unsigned)functions.size() - 1));
    return known.get();
}

/* From the innermost inlined function outwards: the first line in the kernel's file counts, and
 * the outermost word. */
void Program::locate(const llvm::Instruction *instruction, Site &site)
{
    const llvm::DILocation *location = location_of(instruction);
    if (location && count_products(instruction)) {
        auto *inside = location->getScope()->getSubprogram();
        bool multiplies = inside->getName() == "dot" || inside->getName() == "wmma_mma";
        site.products = multiplies ? count_products(instruction) : 0;
    }
    for (; location; location = location->getInlinedAt()) {
        auto *inside = location->getScope()->getSubprogram();
        std::string name = base_name(inside->getFilename());
        if (Intrinsic word = word_of(inside->getName(), name)) {
            site.word = word;
            site.call = location->getInlinedAt();
        }
        if (name == own_file && location->getLine() > 0) {
            if (site.line == 0)
                site.line = location->getLine();
            site.from = location->getLine();
        }
    }
}

const Site &Program::site_of(const llvm::Instruction *instruction)
{
    auto known = sites.find(instruction);
    if (known != sites.end())
        return known->second;
    const llvm::BasicBlock *block = instruction->getParent();
    Site site = {};
    site.function = function_of(block->getParent());
    site.enters = instruction == block->getFirstNonPHI();
    locate(instruction, site);
    bool is_engine = site.word == MMA;
    site.fmas = site.word == NO_INTRINSIC ? count_fmas(instruction) : 0;
    site.products = is_engine ? site.products : 0;
    auto put = puts.find(site.line);
    site.parts = put != puts.end() && llvm::isa<llvm::StoreInst>(instruction) ? put->second : 1;
    for (auto *loop = site.function->loops.getLoopFor(block); loop; loop = loop->getParentLoop()) {
        Site head = {};
        locate(loop->getHeader()->getTerminator(), head);
        if (!site.call || head.call != site.call) /* a word's own loops are no turns of the kernel's */
            site.headers.push_back(loop->getHeader());
    }
    return sites[instruction] = std::move(site);
}

void Program::begin(const llvm::Function *kernel)
{
    sites.clear();
    functions.clear();
    read_store_groups();
    own_file = kernel->getSubprogram() ? base_name(kernel->getSubprogram()->getFilename()) : "";
}

} // namespace microscope
