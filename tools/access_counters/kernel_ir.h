/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_ir.h - what the microscope knows of a kernel's instructions before they run: which line
 * of the kernel's file they belong to, which loops stand around them, and whether they are part
 * of a word that a GPU has one instruction for. From LLVM's code, as Oclgrind has it. */
#ifndef ACCESS_COUNTERS_KERNEL_IR_H
#define ACCESS_COUNTERS_KERNEL_IR_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace microscope
{

/* What a GPU has an instruction for, and software does in many. */
enum Intrinsic {
    NO_INTRINSIC,
    COPY16,     /* one load and one store of 16 bytes, however it is put together */
    COPY,       /* counted as it is, but for its branches */
    LDMATRIX,   /* four times eight rows of 16 bytes, for 16 bytes a lane */
    WMMA_LOAD,  /* the same, whoever has which element; or half of it */
    WMMA_STORE, /* pairs of sums: 4 rows of 32 bytes a pass */
    MMA,        /* no traffic at all: what lanes exchange is the engine's */
    ARITHMETIC, /* a conversion: no branch */
};

/* A function that Oclgrind runs: mostly the kernel alone, into which all else is inlined. */
struct Function {
    llvm::DominatorTree tree;
    llvm::LoopInfo loops;
    unsigned number;
    explicit Function(llvm::Function &function, unsigned number) : tree(function), loops(tree), number(number)
    {
    }
};

/* What is known of an instruction before it runs. */
struct Site {
    unsigned line, from; /* in the kernel's file; and the kernel's own line that led there */
    Intrinsic word;
    const void *call;        /* of that word, the same for all its instructions */
    unsigned parts;          /* stores that are one, by put_two or put_four; else 1 */
    unsigned fmas, products; /* multiply-adds; multiplications for a matrix engine */
    bool enters;             /* the first of its block */
    Function *function;
    std::vector<const llvm::BasicBlock *> headers; /* of the loops around it */
};

/* One kernel, and what it calls. */
class Program
{
  public:
    /* Discards cached lines: an address may now be another instruction. */
    void begin(const llvm::Function *kernel);
    const Site &site_of(const llvm::Instruction *instruction);
    Function *function_of(const llvm::Function *function);
    const std::string &file() const
    {
        return own_file;
    }

  private:
    void read_store_groups();
    void locate(const llvm::Instruction *instruction, Site &site);

    std::string own_file; /* the kernel's own */
    std::map<unsigned, unsigned> puts;
    std::unordered_map<const llvm::Instruction *, Site> sites;
    std::unordered_map<const llvm::Function *, std::unique_ptr<Function>> functions;
};

/* To be called before anything is compiled. LLVM takes loads of a vector apart where its elements
 * are used one by one. NVIDIA's compilers do not, so it is told not to. */
void disable_vector_combine();

} // namespace microscope

#endif /* ACCESS_COUNTERS_KERNEL_IR_H */
