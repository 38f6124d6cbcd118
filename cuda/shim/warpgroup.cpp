#include "cuda/shim/warpgroup.h"

#include <deque>
#include <map>
#include <vector>

namespace {

/* In percent, how often what is under way happens where a warp waits. */
enum { HURRY = 30 };
enum { GROUP = 128, GROUP_ROWS = 64, STEP = 16, MOST_COLUMNS = 128, NAMES = 16 };

/* f16 1.06, bf16 and f32 0.0115. */
enum { GARBAGE = 0x3c };

/* ---- the state of a block ------------------------------------------------------------------- */

struct mbarrier {
    int arrivals, left;
    int64_t bytes; /* announced and not landed */
    uint32_t phase;

    void turn()
    {
        if (left < 0)
            shim_fail("more threads arrive at a barrier than it was set up for");
        if (left > 0 || bytes != 0)
            return;
        phase++;
        left = arrivals;
    }
};

struct named_barrier {
    int arrived;
    unsigned turn;
};

/* What the copy engine was asked for: rows of 128 bytes, or one row of any number. */
struct box {
    uint32_t to;
    const char *from;
    int64_t stride;
    int rows, rows_there, row_bytes;
    mbarrier *counts;
};

struct group_product {
    shim_product first; /* that of the thread that came first */
    int threads;
    float *c[GROUP];
    const uint32_t *left[GROUP];
};

struct warpgroup {
    std::deque<group_product> products;
    size_t done;
};

struct late_store {
    uint32_t to;
    uint16_t row[8];
};

struct member {
    size_t products;
    std::vector<size_t> groups; /* products issued when each was committed */
    std::vector<late_store> stores;
};

struct hopper_block : shim_engine {
    char *shared;
    size_t shared_bytes;
    std::map<uint32_t, mbarrier> barriers;
    named_barrier names[NAMES] = {};
    std::vector<box> boxes;
    std::vector<warpgroup> groups;
    std::vector<member> members;

    hopper_block(unsigned threads, void *memory, size_t bytes)
        : shared(static_cast<char *>(memory)), shared_bytes(bytes), groups(threads / GROUP),
          members(threads)
    {
        std::memset(shared, GARBAGE, shared_bytes);
    }
    bool step(bool must) override;
    const char *left() const override;
    mbarrier &barrier_at(uint32_t address);
    bool land_one();
    bool multiply_one(warpgroup &group);
};

hopper_block &block()
{
    return static_cast<hopper_block &>(
        *shim_engine_of_block([](unsigned threads, void *shared, size_t bytes) -> shim_engine * {
            return new hopper_block(threads, shared, bytes);
        }));
}

member &self()
{
    return block().members[threadIdx.x];
}

mbarrier &hopper_block::barrier_at(uint32_t address)
{
    auto found = barriers.find(address);
    if (found == barriers.end())
        shim_fail("a barrier that was not set up");
    return found->second;
}

bool hopper_block::step(bool must)
{
    bool moved = false;
    if (must || shim_chance(100) < HURRY)
        moved = land_one();
    const size_t count = groups.size(), first = count > 0 ? shim_chance((unsigned)count) : 0;
    for (size_t i = 0; i < count && !(must && moved); i++)
        if (must || shim_chance(100) < HURRY)
            moved = multiply_one(groups[(first + i) % count]) || moved;
    return moved;
}

const char *hopper_block::left() const
{
    if (!boxes.empty())
        return "a copy is still under way at the end of the block";
    for (const warpgroup &group : groups)
        if (!group.products.empty())
            return "a product is still under way at the end of the block";
    return nullptr;
}

/* ---- copies --------------------------------------------------------------------------------- */

void ask_for(const box &wanted)
{
    const int bytes = wanted.rows * wanted.row_bytes;
    std::memset(shim_shared_at(wanted.to, bytes), GARBAGE, (size_t)bytes);
    block().boxes.push_back(wanted);
}

/* Rows of 128 bytes are swizzled; a box begins at a multiple of eight of them. */
void land(const box &b)
{
    char *to = static_cast<char *>(shim_shared_at(b.to, b.rows * b.row_bytes));
    if (b.rows == 1) {
        std::memcpy(to, b.from, (size_t)b.row_bytes);
        return;
    }
    for (int r = 0; r < b.rows; r++)
        for (int piece = 0; piece < 8; piece++) {
            char *place = to + 128 * r + 16 * (piece ^ r % 8);
            if (r < b.rows_there)
                std::memcpy(place, b.from + r * b.stride + 16 * piece, 16);
            else
                std::memset(place, 0, 16);
        }
}

bool hopper_block::land_one()
{
    if (boxes.empty())
        return false;
    std::swap(boxes[shim_chance((unsigned)boxes.size())], boxes.back());
    const box b = boxes.back();
    boxes.pop_back();
    land(b);
    b.counts->bytes -= b.rows * b.row_bytes;
    b.counts->turn();
    return true;
}

/* ---- products ------------------------------------------------------------------------------- */

float widened(uint16_t bits, bool half)
{
    return half ? fa_f32_from_f16(bits) : fa_f32_from_bf16(bits);
}

/* A described operand, `count` rows or columns by 16 that are summed over, into to[k][i]. What lies
 * side by side are 8 of k, or, turned, of i. */
template <int WIDTH>
void fetch(float (&to)[STEP][WIDTH], uint64_t described, int count, bool turned, bool half)
{
    const uint32_t start = (uint32_t)(described & 0x3fff) * 16;
    const uint32_t near = (uint32_t)(described >> 16 & 0x3fff) * 16;
    const uint32_t far = (uint32_t)(described >> 32 & 0x3fff) * 16;
    if (described >> 62 != 1 || (described >> 49 & 7) != 0)
        shim_fail("a descriptor without the swizzle of 128 bytes");
    for (int piece = 0; piece < count * STEP / 8; piece++) {
        const int k = turned ? piece % STEP : piece % 2 * 8;
        const int i = turned ? piece / STEP * 8 : piece / 2;
        uint32_t at = turned ? start + i / 64 * near + i % 64 * 2 + k / 8 * far + k % 8 * 128
                             : start + i / 8 * far + i % 8 * 128 + 2 * k;
        at ^= (at >> 7 & 7) << 4;
        uint16_t bits[8];
        std::memcpy(bits, shim_shared_at(at, sizeof bits), sizeof bits);
        for (int e = 0; e < 8; e++)
            to[turned ? k : k + e][turned ? i + e : i] = widened(bits[e], half);
    }
}

/* The words of a thread, as mma.sync has them. */
void fetch_words(float (&to)[STEP][GROUP_ROWS], const group_product &p)
{
    for (int t = 0; t < GROUP; t++)
        for (int e = 0; e < 4; e++) {
            const int row = t / 32 * 16 + t % 32 / 4 + e % 2 * 8, k = 2 * (t % 4) + e / 2 * 8;
            to[k][row] = widened((uint16_t)p.left[t][e], p.first.half);
            to[k + 1][row] = widened((uint16_t)(p.left[t][e] >> 16), p.first.half);
        }
}

/* The group's next product, once all of its threads have issued it. */
bool hopper_block::multiply_one(warpgroup &group)
{
    if (group.products.empty() || group.products.front().threads < GROUP)
        return false;
    const group_product &p = group.products.front();
    const int columns = p.first.columns;
    static float a[STEP][GROUP_ROWS], b[STEP][MOST_COLUMNS];
    if (p.first.left)
        fetch_words(a, p);
    else
        fetch(a, p.first.a, GROUP_ROWS, p.first.a_turned, p.first.half);
    fetch(b, p.first.b, columns, p.first.b_turned, p.first.half);
    for (int row = 0; row < GROUP_ROWS; row++) {
        float sums[MOST_COLUMNS] = {};
        for (int k = 0; k < STEP; k++)
            for (int n = 0; n < columns; n++)
                sums[n] += a[k][row] * b[k][n];
        for (int lane = 0; lane < 4; lane++) {
            float *c = p.c[row / 16 * 32 + row % 8 * 4 + lane] + row % 16 / 8 * 2;
            for (int n = 2 * lane; n < columns; n += 8, c += 4)
                for (int e = 0; e < 2; e++)
                    c[e] = p.first.add ? c[e] + sums[n + e] : sums[n + e];
        }
    }
    group.products.pop_front();
    group.done++;
    return true;
}

} // namespace

void *shim_shared_at(uint32_t address, int bytes)
{
    hopper_block &own = block();
    if (address > own.shared_bytes || own.shared_bytes - address < (size_t)bytes)
        shim_fail("an address outside of shared memory");
    return own.shared + address;
}

/* ---- barriers ------------------------------------------------------------------------------- */

void barrier_init(uint32_t at, int arrivals)
{
    shim_shared_at(at, 8);
    block().barriers[at] = {arrivals, arrivals, 0, 0};
}

void barrier_arrive(uint32_t at)
{
    barrier_expect(at, 0);
}

void barrier_expect(uint32_t at, int bytes)
{
    mbarrier &barrier = block().barrier_at(at);
    barrier.bytes += bytes;
    barrier.left--;
    barrier.turn();
}

void barrier_wait(uint32_t at, uint32_t parity)
{
    const mbarrier &barrier = block().barrier_at(at);
    shim_wait([&] { return barrier.phase % 2 != parity; });
}

void turn_give(int number, int threads)
{
    named_barrier &name = block().names[number];
    if (++name.arrived == threads) {
        name.arrived = 0;
        name.turn++;
    }
}

void turn_wait(int number, int threads)
{
    const named_barrier &name = block().names[number];
    const unsigned turn = name.turn;
    turn_give(number, threads);
    shim_wait([&] { return name.turn != turn; });
}

/* ---- copies --------------------------------------------------------------------------------- */

void box_load(uint32_t to, const CUtensorMap *map, uint32_t barrier, int column, int row, int head,
              int batch)
{
    if (to % 1024 != 0 || column % 64 != 0)
        shim_fail("a box to a place that is no multiple of 1024");
    const int64_t there = map->rows - row;
    ask_for({to,
             map->data + batch * map->stride[0] + head * map->stride[1] + row * map->stride[2] +
                 2 * column,
             map->stride[2], map->box_rows,
             (int)(there < 0               ? 0
                   : there < map->box_rows ? there
                                           : map->box_rows),
             128, &block().barrier_at(barrier)});
}

void bytes_load(uint32_t to, const void *from, int bytes, uint32_t barrier)
{
    if (to % 16 != 0 || (uintptr_t)from % 16 != 0 || bytes % 16 != 0)
        shim_fail("a copy of bytes that are no multiple of 16");
    ask_for({to, static_cast<const char *>(from), 0, 1, 1, bytes, &block().barrier_at(barrier)});
}

/* ---- stores --------------------------------------------------------------------------------- */

/* Row lane % 8 of matrix lane / 8, as it will lie, is a column of the fragment. */
void store_transposed(uint32_t row, const uint32_t (&x)[4])
{
    const unsigned lane = threadIdx.x % 32;
    const uint32_t(*words)[SHIM_WORDS] = shim_gather(x, 4);
    late_store store = {row, {}};
    if (row % 16 != 0)
        shim_fail("stmatrix to a place that is no multiple of 16");
    for (unsigned e = 0; e < 8; e++)
        store.row[e] = (uint16_t)(words[4 * e + lane % 8 / 2][lane / 8] >> 16 * (lane % 2));
    self().stores.push_back(store);
}

void stores_done()
{
    for (const late_store &store : self().stores)
        std::memcpy(shim_shared_at(store.to, sizeof store.row), store.row, sizeof store.row);
    self().stores.clear();
}

/* ---- products ------------------------------------------------------------------------------- */

void shim_multiply(const shim_product &own)
{
    const unsigned thread = threadIdx.x % GROUP;
    warpgroup &group = block().groups[threadIdx.x / GROUP];
    const size_t number = self().products++ - group.done;
    if (number == group.products.size())
        group.products.push_back({own, 0, {}, {}});
    group_product &product = group.products[number];
    const shim_product &first = product.first;
    if (own.columns != first.columns || own.a != first.a || own.b != first.b ||
        own.add != first.add || !own.left != !first.left || own.a_turned != first.a_turned)
        shim_fail("threads of a warpgroup issue different products");
    product.c[thread] = own.c;
    product.left[thread] = own.left;
    product.threads++;
}

void products_commit()
{
    self().groups.push_back(self().products);
}

void shim_products_wait(unsigned left)
{
    const member &own = self();
    if (own.groups.size() <= left)
        return;
    const size_t until = own.groups[own.groups.size() - 1 - left];
    const warpgroup &group = block().groups[threadIdx.x / GROUP];
    shim_wait([&] { return group.done >= until; });
}
