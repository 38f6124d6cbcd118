#include "cuda/shim/shim.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <vector>

#ifdef SHIM_THREADS
#include <pthread.h>
#else
#include <ucontext.h>
#endif

thread_local shim_place threadIdx, blockIdx, gridDim;

namespace {

enum { WARP = 32, STACK_BYTES = 128 * 1024 };

/* Where `size` threads wait for each other. */
#ifdef SHIM_THREADS
struct barrier {
    pthread_barrier_t all;
    explicit barrier(unsigned size)
    {
        if (pthread_barrier_init(&all, nullptr, size) != 0)
            throw std::bad_alloc();
    }
    ~barrier()
    {
        pthread_barrier_destroy(&all);
    }
    barrier(const barrier &) = delete;
    void wait()
    {
        pthread_barrier_wait(&all);
    }
};
#else
struct barrier {
    unsigned size, arrived = 0, turn = 0;
    explicit barrier(unsigned n) : size(n)
    {
    }
    void wait()
    {
        unsigned mine = turn;
        if (++arrived == size) {
            arrived = 0;
            turn++;
        }
        shim_wait([=, this] { return turn != mine; });
    }
};
#endif

/* A warp's barrier, and two sets of slots: one is read while the next exchange writes the other. */
struct warp {
    barrier lanes;
    uint32_t slots[2][WARP][SHIM_WORDS] = {};
    explicit warp(unsigned size) : lanes(size)
    {
    }
};

struct launch;

struct copy {
    uint32_t to;
    const void *from; /* NULL: zeros */
};

struct cuda_thread {
    launch *of;
    unsigned index, exchanges, votes_cast;
    unsigned waits; /* 1 + the last block in which it has waited for the launch before */
    std::vector<copy> copies;
#ifdef SHIM_THREADS
    pthread_t handle;
#else
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool done;
    bool (*over)(const void *); /* what it waits for; NULL: it can go on */
    const void *what;
#endif
};

struct launch {
    unsigned blocks, threads;
    size_t shared_bytes;
    const std::function<void()> *body;
    std::unique_ptr<unsigned char[], void (*)(void *)> shared{nullptr, std::free};
    std::unique_ptr<barrier> block;
    std::vector<std::unique_ptr<warp>> warps;
    std::vector<cuda_thread> all;
    std::atomic<int> votes[3] = {};
#ifndef SHIM_THREADS
    ucontext_t caller;
    std::unique_ptr<shim_engine> engine;
    std::vector<bool> slow; /* warps */
#endif
};

thread_local cuda_thread *current;

/* Thread 0, when all threads have left the block. */
void end_block([[maybe_unused]] launch *l)
{
#ifndef SHIM_THREADS
    if (l->engine && l->engine->left())
        shim_fail(l->engine->left());
    l->engine.reset();
#endif
}

void run_blocks(cuda_thread *self)
{
    launch *l = self->of;
    for (unsigned b = 0; b < l->blocks; b++) {
        threadIdx = {self->index, 0, 0};
        blockIdx = {b, 0, 0};
        gridDim = {l->blocks, 1, 1};
        if (self->index == 0 && l->shared_bytes > 0)
            std::memset(l->shared.get(), 0xff, l->shared_bytes);
        l->block->wait();
        (*l->body)();
        l->block->wait();
        if (self->index == 0)
            end_block(l);
    }
}

#ifdef SHIM_THREADS

void *run_thread(void *argument)
{
    current = static_cast<cuda_thread *>(argument);
    run_blocks(current);
    return nullptr;
}

bool run_all(launch *l)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 2 * STACK_BYTES);
    for (cuda_thread &thread : l->all)
        /* Those that started already wait for this one: there is no way back. */
        if (pthread_create(&thread.handle, &attributes, run_thread, &thread) != 0) {
            if (thread.index == 0)
                return false;
            std::abort();
        }
    pthread_attr_destroy(&attributes);
    for (cuda_thread &thread : l->all)
        pthread_join(thread.handle, nullptr);
    return true;
}

#else

bool can_go_on(const cuda_thread &thread)
{
    return !thread.done && (!thread.over || thread.over(thread.what));
}

/* In turn; NULL if nobody can go on. */
cuda_thread *next_in_turn(launch *l, unsigned after)
{
    for (unsigned step = 1; step <= l->threads; step++)
        if (can_go_on(l->all[(after + step) % l->threads]))
            return &l->all[(after + step) % l->threads];
    return nullptr;
}

/* With an engine the warps go on in any order, some of them seldom. */
cuda_thread *next_by_chance(launch *l, unsigned after)
{
    const unsigned warps = (l->threads + WARP - 1) / WARP;
    for (unsigned t = after + 1; t < l->threads && t % WARP != 0; t++)
        if (can_go_on(l->all[t]))
            return &l->all[t];
    l->engine->step(false);
    const unsigned first = shim_chance(warps);
    for (int patience = 0; patience < 2; patience++)
        for (unsigned i = 0; i < warps; i++) {
            const unsigned w = (first + i) % warps;
            if (patience == 0 && l->slow[w] && shim_chance(20) > 0)
                continue;
            for (unsigned t = w * WARP; t < l->threads && t < (w + 1) * WARP; t++)
                if (can_go_on(l->all[t]))
                    return &l->all[t];
        }
    return nullptr;
}

/* To a thread that can go on; to the caller when all are done. */
void let_others_run()
{
    cuda_thread *from = current, *next;
    launch *l = from->of;
    do
        next = l->engine ? next_by_chance(l, from->index) : next_in_turn(l, from->index);
    while (!next && l->engine && l->engine->step(true));
    if (!next) {
        for (const cuda_thread &thread : l->all)
            if (!thread.done)
                shim_fail("nobody can go on, and nothing is under way");
        swapcontext(&from->context, &l->caller);
        return;
    }
    current = next;
    threadIdx = {next->index, 0, 0};
    if (next != from)
        swapcontext(&from->context, &next->context);
}

void run_fiber()
{
    run_blocks(current);
    current->done = true;
    let_others_run();
}

bool run_all(launch *l)
{
    for (cuda_thread &thread : l->all) {
        thread.stack.reset(new char[STACK_BYTES]);
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.get();
        thread.context.uc_stack.ss_size = STACK_BYTES;
        thread.context.uc_link = nullptr;
        makecontext(&thread.context, run_fiber, 0);
    }
    current = &l->all[0];
    swapcontext(&l->caller, &current->context);
    return true;
}

#endif

} // namespace

void shim_fail(const char *why)
{
    std::fprintf(stderr, "shim: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, why);
    std::abort();
}

#ifndef SHIM_THREADS

void shim_wait_until(bool (*over)(const void *), const void *what)
{
    if (over(what))
        return;
    current->over = over;
    current->what = what;
    let_others_run();
    current->over = nullptr;
}

unsigned shim_chance(unsigned among)
{
    static const char *seed = std::getenv("FLASHLAB_SHIM_SEED");
    static thread_local std::mt19937 dice(seed ? (unsigned)std::strtoul(seed, nullptr, 10) : 1);
    return (unsigned)(dice() % among);
}

shim_engine *shim_engine_of_block(shim_engine *(*make)(unsigned, void *, size_t))
{
    launch *l = current->of;
    if (!l->engine) {
        l->engine.reset(make(l->threads, l->shared.get(), l->shared_bytes));
        l->slow.resize(l->warps.size());
        for (size_t w = 0; w < l->slow.size(); w++)
            l->slow[w] = shim_chance(3) == 0;
    }
    return l->engine.get();
}

#endif

bool shim_launch(unsigned blocks, unsigned threads, size_t shared_bytes,
                 const std::function<void()> &body)
try {
    launch l;
    l.blocks = blocks;
    l.threads = threads;
    l.shared_bytes = shared_bytes;
    l.body = &body;
    if (shared_bytes > 0) {
        size_t whole = (shared_bytes + 63) / 64 * 64;
        l.shared.reset(static_cast<unsigned char *>(std::aligned_alloc(64, whole)));
        if (!l.shared)
            return false;
    }
    l.block = std::make_unique<barrier>(threads);
    for (unsigned first = 0; first < threads; first += WARP)
        l.warps.push_back(
            std::make_unique<warp>(threads - first < WARP ? threads - first : unsigned(WARP)));
    l.all = std::vector<cuda_thread>(threads);
    for (unsigned t = 0; t < threads; t++) {
        l.all[t].of = &l;
        l.all[t].index = t;
    }
    return run_all(&l);
} catch (const std::bad_alloc &) {
    return false;
}

void launch_wait()
{
    current->waits = blockIdx.x + 1;
}

bool shim_launch_waited()
{
    return current->waits == blockIdx.x + 1;
}

void *shim_shared()
{
    return current->of->shared.get();
}

void __syncthreads()
{
    current->of->block->wait();
}

/* Three votes in turn: one is read, the next is cast, and the one after it is cleared. */
int __syncthreads_or(int vote)
{
    cuda_thread *self = current;
    launch *l = self->of;
    unsigned turn = self->votes_cast++ % 3;
    if (vote)
        l->votes[turn] = 1;
    l->block->wait();
    int result = l->votes[turn];
    if (self->index == 0)
        l->votes[(turn + 2) % 3] = 0;
    return result;
}

void __syncwarp()
{
    current->of->warps[current->index / WARP]->lanes.wait();
}

uint32_t shim_shuffle(uint32_t bits, unsigned lane)
{
    return shim_gather(&bits, 1)[lane][0];
}

const uint32_t (*shim_gather(const uint32_t *words, unsigned n))[SHIM_WORDS]
{
    cuda_thread *self = current;
    warp *own = self->of->warps[self->index / WARP].get();
    unsigned set = self->exchanges++ % 2;
    std::memcpy(own->slots[set][self->index % WARP], words, n * sizeof *words);
    own->lanes.wait();
    return own->slots[set];
}

uint32_t shim_shuffle_xor(uint32_t bits, unsigned lane)
{
    unsigned own = threadIdx.x % WARP;
    return shim_gather(&bits, 1)[own ^ lane][0];
}

void shim_copy_later(uint32_t to, const void *from, bool here)
{
    current->copies.push_back({to, here ? from : nullptr});
}

void shim_copies_done()
{
    unsigned char *shared = current->of->shared.get();
    for (const copy &c : current->copies)
        if (c.from)
            std::memcpy(shared + c.to, c.from, 16);
        else
            std::memset(shared + c.to, 0, 16);
    current->copies.clear();
}
