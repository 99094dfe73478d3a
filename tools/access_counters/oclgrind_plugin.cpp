/* SPDX-License-Identifier: Apache-2.0 */
/* oclgrind_plugin.cpp - what the warps of a kernel ask of memory, counted on a simulator.
 *
 * A plugin of Oclgrind 21.10, whose interface is C++, hence this file is. Oclgrind runs a
 * block's threads one after the other and tells every access; here 32 neighbours are put
 * together again as a GPU runs them. What they do at one place of the program, in the same
 * turn of the loops around it, is one request, and of each request is counted what the
 * hardware would have to do for it:
 *
 *   global memory   distinct sectors of 32 bytes and lines of 128, beside the fewest sectors
 *                   that the bytes asked for would fit into
 *   shared memory   wavefronts. 32 banks of 4 bytes; the lanes of one pass (all 32 with up to
 *                   4 bytes each, 16 with 8, 8 with 16) wait for the bank of which most
 *                   different words are wanted; lanes that want the same word share it. The
 *                   fewest are as many as there are passes with a lane in them. Hardware may
 *                   merge passes whose lanes want the same words (a broadcast of 8 or 16
 *                   bytes); that is not counted on, so the truth may be less, never more.
 *
 * Requests are those that the source asks for. NVIDIA's compilers may merge neighbours of an
 * unrolled loop into one of 8 or 16 bytes: then there are fewer, of the same bytes.
 *
 * An access of more than 16 bytes a lane is several of 16, as it is on a GPU. What is not the
 * kernel's but comes from running in software what a GPU has instructions for is seen through:
 * the words of async.h, mma.h and wmma.h are known by their names (kernel_ir.cpp) and counted
 * as the instructions they stand for. Lines are those of the kernel's own file: what a header
 * does counts where it was called.
 *
 * Everything goes to the file that RUNG_MICROSCOPE_OUTPUT names, as lines of tab-separated
 * fields: lab/explain/access_counter_list.h lists them and lab/explain/access_counters.c reads them. RUNG_MICROSCOPE_PUTS lists the
 * lines "273:2,296:4" whose stores are parts, two or four, of one: the macros put_two and
 * put_four leave no trace of themselves. If RUNG_MICROSCOPE_ADDRESSES names a file, it gets the
 * first load of global memory of each thread of the first warp at each place, a line each:
 * place, line, array, thread, where in the array, bytes; tools/draw_reads.c draws them.
 */
#include "oclgrind/Context.h"
#include "oclgrind/Kernel.h"
#include "oclgrind/KernelInvocation.h"
#include "oclgrind/Memory.h"
#include "oclgrind/Plugin.h"
#include "oclgrind/WorkGroup.h"
#include "oclgrind/WorkItem.h"

#include "kernel_ir.h"
#include "explain/access_counter_list.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

using namespace microscope;

namespace
{

constexpr unsigned WARP = 32, BANKS = 32, SECTOR = 32, LINE = 128, ACCESS_MAX = 16;

/* ---- What is counted --------------------------------------------------------------------------- */

enum Kind {
#define X(name, word) name,
    LAB_ACCESS_KIND_LIST(X)
#undef X
};
const char *const kinds[] = {
#define X(name, word) word,
    LAB_ACCESS_KIND_LIST(X)
#undef X
};

struct Access {
    uint64_t address;
    unsigned size, pass;
};

struct Request {
    const Site *site;
    Kind kind;
    unsigned width; /* bytes a lane */
    uint32_t lanes = 0;
    std::vector<Access> accesses;
};

struct Branch {
    const Site *site;
    std::set<const llvm::BasicBlock *> ways;
};

#define X(name) uint64_t name = 0;
struct Counts {
    LAB_ACCESS_LINE_LIST(X)
};

struct Totals {
    LAB_ACCESS_TOTAL_LIST(X)
};

struct Touched {
    LAB_ACCESS_BUFFER_LIST(X)
};
#undef X

using Places = std::unordered_set<uint64_t>;

struct Buffer {
    std::string name;
    Places read, read_lines, written; /* of this block, in sectors and lines */
    Places all_read, all_written;     /* of all blocks, in sectors */
    Touched touched;
};

/* Parts of one access that a lane has not finished. */
struct Pending {
    uint64_t key = 0;
    unsigned count = 0;
    uint64_t from = 0, from_bytes = 0, to = 0, to_bytes = 0; /* of a copy */
};

struct Lane {
    std::vector<const llvm::BasicBlock *> block;                  /* the last of each function */
    std::vector<uint64_t> called;                                 /* the key of each function's call */
    std::unordered_map<const llvm::BasicBlock *, uint64_t> turns; /* of the loop with that header */
    std::map<std::pair<const void *, int>, Pending> pending;
    uint64_t multiplied = 0; /* multiply-adds so far */
    uint64_t loaded = ~0ull; /* how many those were at the last load from global memory */
};

uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    return hash * 0xff51afd7ed558ccdu;
}

/* ---- The plugin ----------------------------------------------------------------------------------- */

class AccessCounters : public oclgrind::Plugin
{
  public:
    explicit AccessCounters(const oclgrind::Context *context);

    /* One block at a time, and one thread of it. */
    bool isThreadSafe() const override
    {
        return false;
    }
    void kernelBegin(const oclgrind::KernelInvocation *invocation) override;
    void kernelEnd(const oclgrind::KernelInvocation *) override
    {
        write_all();
    }
    void workGroupBegin(const oclgrind::WorkGroup *group) override;
    void workGroupBarrier(const oclgrind::WorkGroup *group, uint32_t flags) override;
    void workGroupComplete(const oclgrind::WorkGroup *group) override;
    void instructionExecuted(const oclgrind::WorkItem *item, const llvm::Instruction *instruction,
                             const oclgrind::TypedValue &result) override;
    void memoryLoad(const oclgrind::Memory *memory, const oclgrind::WorkItem *item, size_t address,
                    size_t size) override
    {
        touch(memory, item, address, size, false);
    }
    void memoryStore(const oclgrind::Memory *memory, const oclgrind::WorkItem *item, size_t address, size_t size,
                     const uint8_t *) override
    {
        touch(memory, item, address, size, true);
    }

  private:
    void name_buffer(const std::string &name, const llvm::Argument *argument, const oclgrind::TypedValue &value);
    size_t number_of(const oclgrind::WorkItem *item) const;
    void enter_block(Lane &lane, size_t number, const Site &site, const llvm::BasicBlock *block);
    uint64_t key_of(Lane &lane, const Site &site);

    void touch(const oclgrind::Memory *memory, const oclgrind::WorkItem *item, uint64_t address, uint64_t size,
               bool stores);
    void record_address(const void *place, const Site &site, Kind kind, size_t number, uint64_t address, unsigned size);
    void watch(Lane &lane, size_t number, const Site &site, Kind kind, uint64_t address);
    void copy(Lane &lane, size_t number, const Site &site, Kind kind, uint64_t address, unsigned size);
    void gather(Lane &lane, size_t number, const Site &site, Kind kind, uint64_t address, unsigned size);
    Request &request_of(const Site &site, const void *place, Kind kind, unsigned width, size_t number, uint64_t &key,
                        bool begins);
    void add(const Site &site, const void *place, Kind kind, unsigned width, size_t number, uint64_t key,
             Access access);

    void flush();
    void count(const Request &request);
    void count_global(const Request &request, Counts &counts);
    const std::string &name_of(const Request &request);
    void write_records(FILE *out);
    void write_all();

    Program program;
    std::string kernel;

    oclgrind::Size3 size; /* of the block */
    std::vector<Lane> lanes;
    std::unordered_map<uint64_t, Request> requests; /* of this block, since its last barrier */
    std::unordered_map<uint64_t, Branch> branches;
    std::unordered_map<uint64_t, uint64_t> copied; /* places in shared memory, and when */
    bool waits = false;                            /* the first thread has waited since the last barrier */

    Totals totals;
    /* By line, from, kind, width and what is touched. */
    std::map<std::tuple<unsigned, unsigned, Kind, unsigned, std::string>, Counts> records;
    std::map<std::pair<unsigned, unsigned>, std::pair<uint64_t, uint64_t>> branch_records; /* all, divergent */
    std::map<unsigned, uint64_t> barrier_records;
    std::map<uint64_t, Buffer> buffers;
    std::vector<const llvm::GlobalVariable *> shared_arrays; /* of the kernel */
    std::map<uint64_t, std::string> shared_names;            /* by where they are in this block */
    const oclgrind::Memory *shared = nullptr;
    FILE *addresses = nullptr;               /* of the first warp's first loads, if they were asked for */
    std::map<const void *, unsigned> places; /* numbered in the order they were come to */
    std::set<std::pair<const void *, size_t>> noted;
};

AccessCounters::AccessCounters(const oclgrind::Context *context) : Plugin(context)
{
    disable_vector_combine();
    const char *path = getenv("RUNG_MICROSCOPE_ADDRESSES");
    addresses = path && *path ? fopen(path, "we") : nullptr;
}

/* ---- Lanes on their way ---- */

size_t AccessCounters::number_of(const oclgrind::WorkItem *item) const
{
    oclgrind::Size3 id = item->getLocalID();
    return id.x + size.x * (id.y + size.y * id.z);
}

/* The turn of every loop around a place, and where its function was called from: lanes that agree
 * in this do it together. */
uint64_t AccessCounters::key_of(Lane &lane, const Site &site)
{
    uint64_t key = site.function->number < lane.called.size() ? lane.called[site.function->number] : 0;
    for (auto *header : site.headers)
        key = mix(key, lane.turns[header]);
    return key;
}

void AccessCounters::enter_block(Lane &lane, size_t number, const Site &site, const llvm::BasicBlock *block)
{
    unsigned function = site.function->number;
    if (lane.block.size() <= function)
        lane.block.resize(function + 1);
    const llvm::BasicBlock *before = lane.block[function];
    if (before) {
        const llvm::Instruction *branch = before->getTerminator();
        const Site &left = program.site_of(branch);
        if (branch->getNumSuccessors() > 1 && left.word == NO_INTRINSIC) {
            uint64_t key = mix(mix(mix(key_of(lane, left), (uint64_t)branch), number / WARP), 1);
            Branch &taken = branches[key];
            taken.site = &left;
            taken.ways.insert(block);
        }
    }
    auto *loop = site.function->loops.getLoopFor(block);
    if (loop && loop->getHeader() == block)
        lane.turns[block] = before && loop->contains(before) ? lane.turns[block] + 1 : 0;
    lane.block[function] = block;
}

void AccessCounters::instructionExecuted(const oclgrind::WorkItem *item, const llvm::Instruction *instruction,
                                         const oclgrind::TypedValue &)
{
    const Site &site = program.site_of(instruction);
    size_t number = number_of(item);
    Lane &lane = lanes[number];
    if (site.enters)
        enter_block(lane, number, site, instruction->getParent());
    totals.instructions += site.word == NO_INTRINSIC || site.word == COPY;
    totals.multiply_adds += site.fmas;
    totals.engine_products += site.products;
    lane.multiplied += site.fmas + site.products;
    auto *call = llvm::dyn_cast<llvm::CallInst>(instruction);
    auto *called = call ? call->getCalledFunction() : nullptr;
    if (called && !called->isDeclaration()) {
        unsigned function = program.function_of(called)->number;
        lane.called.resize(std::max<size_t>(lane.called.size(), function + 1));
        lane.called[function] = mix(key_of(lane, site), (uint64_t)instruction);
        if (lane.block.size() > function)
            lane.block[function] = nullptr;
    }
}

/* ---- Accesses become requests ---- */

/* The request that a lane's access belongs to. One that begins may find the lane there already,
 * where a loop was unrolled: then it is the next. */
Request &AccessCounters::request_of(const Site &site, const void *place, Kind kind, unsigned width, size_t number,
                                    uint64_t &key, bool begins)
{
    uint64_t base = mix(mix((uint64_t)place, kind), number / WARP);
    for (;; key = mix(key, 7)) {
        Request &request = requests[mix(base, key)];
        if (begins && request.lanes & 1u << number % WARP)
            continue;
        request.site = &site;
        request.kind = kind;
        request.width = width;
        request.lanes |= 1u << number % WARP;
        return request;
    }
}

void AccessCounters::add(const Site &site, const void *place, Kind kind, unsigned width, size_t number, uint64_t key,
                         Access access)
{
    request_of(site, place, kind, width, number, key, true).accesses.push_back(access);
}

/* The pass in which a lane of an ordinary access is served. */
unsigned pass_of(size_t number, unsigned width)
{
    return width <= 4 ? 0 : (unsigned)(number % WARP) / (128 / width);
}

/* A copy of 16 bytes may be done by elements, of which some are zeros that are not read: it is
 * over when 16 bytes are written. */
void AccessCounters::copy(Lane &lane, size_t number, const Site &site, Kind kind, uint64_t address, unsigned size)
{
    Pending &pending = lane.pending[{site.call, 0}];
    if (kind == GLOBAL_LOAD) {
        pending.from = pending.from_bytes ? std::min(pending.from, address) : address;
        pending.from_bytes += size;
        return;
    }
    pending.to = pending.to_bytes ? std::min(pending.to, address) : address;
    pending.to_bytes += size;
    if (pending.to_bytes < ACCESS_MAX)
        return;
    uint64_t key = key_of(lane, site);
    if (pending.from_bytes)
        record_address(site.call, site, GLOBAL_LOAD, number, pending.from, (unsigned)pending.from_bytes);
    if (pending.from_bytes)
        add(site, site.call, GLOBAL_LOAD, ACCESS_MAX, number, key, {pending.from, (unsigned)pending.from_bytes, 0});
    add(site, site.call, SHARED_STORE, ACCESS_MAX, number, key, {pending.to, ACCESS_MAX, pass_of(number, ACCESS_MAX)});
    pending = Pending();
}

/* How many accesses of a lane are one, by the word or the macro they belong to. */
unsigned parts_of(const Site &site, unsigned size)
{
    switch (site.word) {
    case LDMATRIX: return 16 / size;
    case WMMA_LOAD: return size == 4 ? 4 : 8;
    case WMMA_STORE: return 8;
    default: return site.parts;
    }
}

/* When the i-th part is served. In bytes the engine's fragments are the same for every type,
 * eight rows of 16 a register; wmma's software counts elements, those of a row, of k or of C,
 * side by side. */
unsigned pass_of_access(const Site &site, size_t number, unsigned i, unsigned size, unsigned width)
{
    unsigned element = (unsigned)(number % WARP) + WARP * i, row = size == 4 ? 8 : 16;
    switch (site.word) {
    case LDMATRIX: return i * size / 4;
    case WMMA_LOAD: return element / row / 8 + 2 * (element % row * size / 16);
    case WMMA_STORE: return element / 16 / 4 + 4 * (element % 16 / 8);
    default: return pass_of(number, width);
    }
}

void AccessCounters::gather(Lane &lane, size_t number, const Site &site, Kind kind, uint64_t address, unsigned size)
{
    const void *place = site.word == NO_INTRINSIC ? (const void *)(uintptr_t)(site.line * 65536u + site.from)
                                                  : site.call;
    Pending &pending = lane.pending[{place, kind + 1}];
    unsigned parts = parts_of(site, size), width = parts * size;
    bool begins = pending.count == 0;
    if (begins)
        pending.key = key_of(lane, site);
    Request &request = request_of(site, place, kind, width, number, pending.key, begins);
    request.accesses.push_back({address, size, pass_of_access(site, number, pending.count, size, width)});
    if (++pending.count == parts)
        pending = Pending();
}

/* Whether the block's first thread comes to need what is still on its way. A copy's own two
 * accesses are its beginning; it is needed where somebody reads its place. */
void AccessCounters::watch(Lane &lane, size_t number, const Site &site, Kind kind, uint64_t address)
{
    bool copies = site.word == COPY16 || site.word == COPY;
    if (copies && kind == SHARED_STORE)
        copied[address / ACCESS_MAX] = lane.multiplied;
    if (number != 0 || copies)
        return;
    if (kind == GLOBAL_LOAD)
        lane.loaded = lane.multiplied;
    if (kind == SHARED_STORE && lane.loaded != ~0ull) {
        waits = waits || lane.loaded == lane.multiplied;
        lane.loaded = ~0ull;
    }
    auto place = kind == SHARED_LOAD ? copied.find(address / ACCESS_MAX) : copied.end();
    if (place != copied.end()) {
        waits = waits || place->second == lane.multiplied;
        copied.erase(place);
    }
}

void AccessCounters::record_address(const void *place, const Site &site, Kind kind, size_t number, uint64_t address,
                                    unsigned size)
{
    if (!addresses || kind != GLOBAL_LOAD || number >= WARP || totals.blocks != 1 ||
        !noted.insert({place, number}).second)
        return;
    const oclgrind::Memory *memory = m_context->getGlobalMemory();
    unsigned known = (unsigned)places.size();
    fprintf(addresses, "%u\t%u\t%s\t%zu\t%zu\t%u\n", places.insert({place, known}).first->second, site.line,
            buffers[memory->extractBuffer(address)].name.c_str(), number, memory->extractOffset(address), size);
    fflush(addresses);
}

void AccessCounters::touch(const oclgrind::Memory *memory, const oclgrind::WorkItem *item, uint64_t address,
                           uint64_t size, bool stores)
{
    unsigned space = memory->getAddressSpace();
    const llvm::Instruction *instruction = item->getCurrentInstruction();
    if (space != oclgrind::AddrSpaceGlobal && space != oclgrind::AddrSpaceLocal)
        return;
    const Site &site = program.site_of(instruction);
    Kind kind = space == oclgrind::AddrSpaceGlobal ? (stores ? GLOBAL_STORE : GLOBAL_LOAD)
                                                   : (stores ? SHARED_STORE : SHARED_LOAD);
    size_t number = number_of(item);
    Lane &lane = lanes[number];
    if (site.word == MMA)
        return;
    watch(lane, number, site, kind, address);
    if (site.word == COPY16)
        return copy(lane, number, site, kind, address, (unsigned)size);
    if (parts_of(site, (unsigned)size) > 1)
        return gather(lane, number, site, kind, address, (unsigned)size);
    record_address(instruction, site, kind, number, address, (unsigned)size);
    uint64_t key = key_of(lane, site);
    for (uint64_t done = 0; done < size; done += ACCESS_MAX) {
        unsigned width = (unsigned)std::min<uint64_t>(size - done, ACCESS_MAX);
        add(site, instruction, kind, width, number, mix(key, done), {address + done, width, pass_of(number, width)});
    }
}

/* ---- Requests are counted ---- */

uint64_t count_wavefronts(const std::vector<Access> &accesses, uint64_t &ideal, uint64_t &distinct_bytes)
{
    std::map<unsigned, Places> passes; /* words of each */
    Places words;
    uint64_t sum = 0;
    for (auto &access : accesses)
        for (uint64_t word = access.address / 4; word <= (access.address + access.size - 1) / 4; word++)
            passes[access.pass].insert(word);
    for (auto &pass : passes) {
        unsigned banks[BANKS] = {0};
        words.insert(pass.second.begin(), pass.second.end());
        for (uint64_t word : pass.second)
            banks[word % BANKS]++;
        sum += *std::max_element(banks, banks + BANKS);
    }
    ideal += passes.size();
    distinct_bytes += words.size() * 4;
    return sum;
}

/* The argument or the shared array that a request goes to. */
const std::string &AccessCounters::name_of(const Request &request)
{
    uint64_t address = request.accesses[0].address;
    if (request.kind == GLOBAL_LOAD || request.kind == GLOBAL_STORE)
        return buffers[m_context->getGlobalMemory()->extractBuffer(address)].name;
    return shared_names[shared->extractBuffer(address)];
}

void AccessCounters::count_global(const Request &request, Counts &counts)
{
    Places bytes, sectors, lines;
    for (auto &access : request.accesses)
        for (uint64_t byte = access.address; byte < access.address + access.size; byte++)
            bytes.insert(byte);
    for (uint64_t byte : bytes) {
        sectors.insert(byte / SECTOR);
        lines.insert(byte / LINE);
    }
    counts.sectors += sectors.size();
    counts.lines += lines.size();
    counts.sectors_ideal += (bytes.size() + SECTOR - 1) / SECTOR;
    counts.distinct_bytes += bytes.size();
    uint64_t memory = m_context->getGlobalMemory()->extractBuffer(request.accesses[0].address);
    Buffer &buffer = buffers[memory];
    if (request.kind == GLOBAL_STORE) {
        buffer.written.insert(sectors.begin(), sectors.end());
        return;
    }
    buffer.read.insert(sectors.begin(), sectors.end());
    buffer.read_lines.insert(lines.begin(), lines.end());
}

void AccessCounters::count(const Request &request)
{
    const Site &site = *request.site;
    Counts &counts = records[std::make_tuple(site.line, site.from, request.kind, request.width, name_of(request))];
    unsigned active = (unsigned)__builtin_popcount(request.lanes);
    counts.requests++;
    counts.lanes += active;
    counts.partial += active < WARP;
    for (auto &access : request.accesses)
        counts.bytes += access.size;
    if (request.kind == GLOBAL_LOAD || request.kind == GLOBAL_STORE)
        count_global(request, counts);
    else
        counts.wavefronts += count_wavefronts(request.accesses, counts.wavefronts_ideal, counts.distinct_bytes);
}

/* What all lanes of a block have come past. */
void AccessCounters::flush()
{
    for (auto &entry : requests)
        count(entry.second);
    for (auto &entry : branches) {
        auto &record = branch_records[{entry.second.site->line, entry.second.site->from}];
        bool diverges = entry.second.ways.size() > 1;
        record.first++;
        record.second += diverges;
        totals.branches++;
        totals.divergent += diverges;
    }
    requests.clear();
    branches.clear();
}

/* ---- Kernels and blocks ---- */

void AccessCounters::kernelBegin(const oclgrind::KernelInvocation *invocation)
{
    const oclgrind::Kernel *running = invocation->getKernel();
    kernel = running->getName();
    program.begin(running->getFunction());
    shared_arrays.clear();
    for (auto value = running->values_begin(); value != running->values_end(); ++value) {
        auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(value->first);
        auto *argument = llvm::dyn_cast<llvm::Argument>(value->first);
        if (variable && variable->getAddressSpace() == oclgrind::AddrSpaceLocal)
            shared_arrays.push_back(variable);
        if (argument)
            name_buffer(running->getArgumentName(argument->getArgNo()).str(), argument, value->second);
    }
}

/* A workspace is given several times, for several things. */
void AccessCounters::name_buffer(const std::string &name, const llvm::Argument *argument,
                                 const oclgrind::TypedValue &value)
{
    auto *type = llvm::dyn_cast<llvm::PointerType>(argument->getType());
    if (!type || type->getAddressSpace() != oclgrind::AddrSpaceGlobal || !value.getPointer())
        return;
    Buffer &buffer = buffers[m_context->getGlobalMemory()->extractBuffer(value.getPointer())];
    if (("+" + buffer.name + "+").find("+" + name + "+") == std::string::npos)
        buffer.name += (buffer.name.empty() ? "" : "+") + name;
}

void AccessCounters::workGroupBegin(const oclgrind::WorkGroup *group)
{
    size = group->getGroupSize();
    size_t threads = size.x * size.y * size.z, warps = (threads + WARP - 1) / WARP;
    lanes.assign(threads, Lane());
    copied.clear();
    waits = false;
    shared = group->getLocalMemory();
    shared_names.clear();
    for (auto *array : shared_arrays) {
        llvm::StringRef name = array->getName(); /* rung_04_shared.a_tile */
        shared_names[shared->extractBuffer(group->getLocalMemoryAddress(array))] =
            name.substr(name.rfind('.') + 1).str();
    }
    totals.blocks++;
    totals.threads += threads;
    totals.warps += warps;
    totals.idle_lanes += warps * WARP - threads;
}

/* The barriers of software that exchanges order global memory alone. */
void AccessCounters::workGroupBarrier(const oclgrind::WorkGroup *group, uint32_t flags)
{
    flush();
    if (!(flags & CLK_LOCAL_MEM_FENCE))
        return;
    totals.waits += waits;
    waits = false;
    totals.barriers++;
    const llvm::Instruction *barrier = group->getCurrentBarrier();
    barrier_records[barrier ? program.site_of(barrier).line : 0]++;
}

void AccessCounters::workGroupComplete(const oclgrind::WorkGroup *)
{
    flush();
    totals.waits += waits;
    for (auto &entry : buffers) {
        Buffer &buffer = entry.second;
        buffer.touched.block_sectors_read += buffer.read.size();
        buffer.touched.block_lines_read += buffer.read_lines.size();
        buffer.touched.block_sectors_written += buffer.written.size();
        buffer.all_read.insert(buffer.read.begin(), buffer.read.end());
        buffer.all_written.insert(buffer.written.begin(), buffer.written.end());
        buffer.touched.sectors_read = buffer.all_read.size();
        buffer.touched.sectors_written = buffer.all_written.size();
        buffer.read.clear();
        buffer.read_lines.clear();
        buffer.written.clear();
    }
}

/* ---- What it comes to ---- */

void write_number(FILE *out, uint64_t value)
{
    fprintf(out, "\t%llu", (unsigned long long)value);
}

#define X(name) write_number(out, from.name);
void write(FILE *out, const Totals &from)
{
    LAB_ACCESS_TOTAL_LIST(X)
}

void write(FILE *out, const Counts &from)
{
    LAB_ACCESS_LINE_LIST(X)
}

void write(FILE *out, const Touched &from)
{
    LAB_ACCESS_BUFFER_LIST(X)
}
#undef X

void AccessCounters::write_records(FILE *out)
{
    fprintf(out, LAB_ACCESS_COUNTERS_FORMAT "\nkernel\t%s\t%s\ntotals", kernel.c_str(), program.file().c_str());
    write(out, totals);
    for (auto &entry : records) {
        fprintf(out, "\nline\t%u\t%u\t%s\t%u\t%s", std::get<0>(entry.first), std::get<1>(entry.first),
                kinds[std::get<2>(entry.first)], std::get<3>(entry.first), std::get<4>(entry.first).c_str());
        write(out, entry.second);
    }
    for (auto &entry : branch_records) {
        fprintf(out, "\nbranch\t%u\t%u", entry.first.first, entry.first.second);
        write_number(out, entry.second.first);
        write_number(out, entry.second.second);
    }
    for (auto &entry : barrier_records) {
        fprintf(out, "\nbarrier\t%u", entry.first);
        write_number(out, entry.second);
    }
    for (auto &entry : buffers)
        if (entry.second.touched.sectors_read + entry.second.touched.sectors_written > 0) {
            fprintf(out, "\nbuffer\t%s", entry.second.name.c_str());
            write(out, entry.second.touched);
        }
    fprintf(out, "\n");
}

/* After each kernel anew, over all so far. */
void AccessCounters::write_all()
{
    const char *path = getenv("RUNG_MICROSCOPE_OUTPUT");
    FILE *out = path ? fopen(path, "we") : nullptr;
    if (!out) {
        fprintf(stderr, "microscope: RUNG_MICROSCOPE_OUTPUT must name a file that can be written\n");
        return;
    }
    write_records(out);
    fclose(out);
}

AccessCounters *plugin;

} // namespace

extern "C" __attribute__((visibility("default"))) void initializePlugins(oclgrind::Context *context)
{
    plugin = new AccessCounters(context);
    context->registerPlugin(plugin);
}

extern "C" __attribute__((visibility("default"))) void releasePlugins(oclgrind::Context *context)
{
    context->unregisterPlugin(plugin);
    delete plugin;
    plugin = nullptr;
}
