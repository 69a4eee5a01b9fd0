/* SPDX-License-Identifier: MIT */
/* Unwind tables (.eh_frame), as far as a walk that follows pc, sp and fp needs them.
 *
 * A module has a sorted index of its functions; each points to a description, an FDE, which shares a head, a CIE, with
 * others. Both hold a small program that says, instruction by instruction of the function, where its frame begins and
 * where in it registers are saved. It is run up to the place in question. What we do not follow, such as expressions
 * and frames that begin at other registers, ends it, and the place is not known.
 *
 * All is read by the kernel, since a library may be unloaded meanwhile. The last few hundred answers are kept: stacks
 * of many fibers go through the same places. One may be of a library that was unloaded and another loaded there: its
 * walk goes wrong, and no more than that.
 *
 * Prev: fiber/backtrace.c  Next: step/sched.c */
#include "../plat/module.h"
#include "../plat/peek.h"
#include "backtrace.h"

#include <string.h>

/* What these registers are called in the tables. */
#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7, REG_PC = 16 };
#elif defined(__aarch64__)
enum { REG_FP = 29, REG_SP = 31, REG_PC = 30 };
#elif defined(__riscv)
enum { REG_FP = 8, REG_SP = 2, REG_PC = 1 };
#else
enum { REG_FP = -1, REG_SP = -1, REG_PC = -1 };
#endif

/* How a pointer is written: its form, and what it is counted from. */
enum { PTR_ABS = 0, PTR_U2 = 2, PTR_U4 = 3, PTR_U8 = 4, PTR_S2 = 10, PTR_S4 = 11, PTR_S8 = 12 };
enum { PTR_FORM = 0x0f, PTR_FROM = 0x70, PTR_FROM_HERE = 0x10, PTR_OMIT = 0xff };

/* The steps of a program; the first three have an operand in their lower bits. */
enum {
    STEP_ADVANCE = 0x40,
    STEP_OFFSET = 0x80,
    STEP_RESTORE = 0xc0,
    STEP_NOP = 0x00,
    STEP_ADVANCE1 = 0x02,
    STEP_ADVANCE2,
    STEP_ADVANCE4,
    STEP_OFFSET_EXTENDED,
    STEP_RESTORE_EXTENDED,
    STEP_UNDEFINED,
    STEP_SAME,
    STEP_REGISTER,
    STEP_REMEMBER,
    STEP_RECALL,
    STEP_DEF,
    STEP_DEF_REGISTER,
    STEP_DEF_OFFSET,
    STEP_DEF_EXPRESSION,
    STEP_EXPRESSION,
    STEP_OFFSET_SF,
    STEP_DEF_SF,
    STEP_DEF_OFFSET_SF,
    STEP_SIGNED_PC = 0x2d, /* aarch64: the saved pc is signed, or no longer */
    STEP_ARGUMENTS = 0x2e,
};

/* A piece of a table that was copied, and what is read next. */
struct reader {
    const unsigned char *at, *end;
    uintptr_t from; /* the address `at` has in the module */
    bool bad;       /* read past its end, or not understood */
};

static uint64_t take(struct reader *r, size_t bytes) {
    uint64_t n = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++) n |= (uint64_t)r->at[i] << (8 * i);
    r->at += bytes;
    r->from += bytes;
    return n;
}

static int64_t take_signed(struct reader *r, size_t bytes) {
    unsigned unused = 64 - 8 * (unsigned)bytes;
    return (int64_t)(take(r, bytes) << unused) >> unused;
}

/* A number in groups of seven bits. */
static uint64_t take_packed(struct reader *r, bool sign) {
    uint64_t n = 0, byte;
    unsigned shift = 0;
    do {
        byte = take(r, 1);
        if (shift < 64) n |= (byte & 127) << shift;
        shift += 7;
    } while ((byte & 128) != 0 && !r->bad);
    if (sign && (byte & 64) != 0 && shift < 64) n |= UINT64_MAX << shift;
    return n;
}
static int64_t take_packed_signed(struct reader *r) {
    return (int64_t)take_packed(r, true);
}

static uintptr_t take_pointer(struct reader *r, unsigned form) {
    uintptr_t here = r->from, n = 0;
    switch (form & PTR_FORM) {
    case PTR_ABS:
    case PTR_U8:
    case PTR_S8: n = (uintptr_t)take(r, 8); break;
    case PTR_U2: n = (uintptr_t)take(r, 2); break;
    case PTR_U4: n = (uintptr_t)take(r, 4); break;
    case PTR_S2: n = (uintptr_t)take_signed(r, 2); break;
    case PTR_S4: n = (uintptr_t)take_signed(r, 4); break;
    default: r->bad = true;
    }
    if ((form & PTR_FROM) == PTR_FROM_HERE) return n + here;
    if ((form & PTR_FROM) != 0) r->bad = true;
    return n;
}

/* Copy one description: its length comes first. */
static struct reader open_at(uintptr_t at, unsigned char *buf, size_t size) {
    uint32_t length = 0;
    struct reader r = {.at = buf, .end = buf, .from = at + sizeof length};
    r.bad = !cc__peek(&length, (const void *)at, sizeof length) || length < 4 || length > size ||
            !cc__peek(buf, (const void *)r.from, length);
    if (!r.bad) r.end = buf + length;
    return r;
}

/* ---- the index ---- */

/* The description of the function that pc may be in; 0: there is none. */
static uintptr_t find_fde(const struct cc__module *m, uintptr_t pc) {
    struct {
        unsigned char version, begin_form, count_form, table_form;
        int32_t begin;
        uint32_t count;
    } head;
    struct {
        int32_t pc, fde;
    } entry;
    const char *base = m->unwind;
    if (base == NULL || !cc__peek(&head, base, sizeof head)) return 0;
    if (head.version != 1 || head.begin_form != (PTR_FROM_HERE | PTR_S4) || head.count_form != PTR_U4 ||
        head.table_form != (0x30 | PTR_S4)) /* from the index itself */
        return 0;
    size_t lo = 0, hi = head.count;
    int64_t wanted = (int64_t)(pc - (uintptr_t)base);
    while (lo < hi) { /* the last that begins at or before pc */
        size_t mid = lo + (hi - lo) / 2;
        if (!cc__peek(&entry, base + sizeof head + mid * sizeof entry, sizeof entry)) return 0;
        if (entry.pc <= wanted)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0 || !cc__peek(&entry, base + sizeof head + (lo - 1) * sizeof entry, sizeof entry)) return 0;
    return (uintptr_t)base + (uintptr_t)(intptr_t)entry.fde;
}

/* ---- the programs ---- */

struct saved {
    enum cc__saved how;
    int64_t at;
};
struct row {
    bool begin_known;
    uint64_t begin_reg;
    int64_t begin;
    struct saved pc, fp;
};

struct machine {
    uint64_t code_unit;
    int64_t data_unit;
    unsigned form;  /* of the FDE's pointers */
    bool augmented; /* the FDE has words for others before its program */
    uintptr_t loc, pc;
    struct row row, initial, kept[4];
    unsigned kept_count;
};

static void set(struct machine *m, uint64_t reg, struct saved how) {
    if (reg == (uint64_t)REG_PC) m->row.pc = how;
    if (reg == (uint64_t)REG_FP) m->row.fp = how;
}
static void set_at(struct machine *m, uint64_t reg, int64_t units) {
    set(m, reg, (struct saved){CC__SAVED_AT, units * m->data_unit});
}
static void restore(struct machine *m, uint64_t reg) {
    if (reg == (uint64_t)REG_PC) m->row.pc = m->initial.pc;
    if (reg == (uint64_t)REG_FP) m->row.fp = m->initial.fp;
}

/* Steps about where the frame begins. False: it is none of them. */
static bool step_begin(struct machine *m, struct reader *r, unsigned op) {
    struct row *row = &m->row;
    switch (op) {
    case STEP_DEF:
        row->begin_reg = take_packed(r, false);
        row->begin = (int64_t)take_packed(r, false);
        row->begin_known = true;
        return true;
    case STEP_DEF_SF:
        row->begin_reg = take_packed(r, false);
        row->begin = take_packed_signed(r) * m->data_unit;
        row->begin_known = true;
        return true;
    case STEP_DEF_REGISTER: row->begin_reg = take_packed(r, false); return true;
    case STEP_DEF_OFFSET: row->begin = (int64_t)take_packed(r, false); return true;
    case STEP_DEF_OFFSET_SF: row->begin = take_packed_signed(r) * m->data_unit; return true;
    case STEP_DEF_EXPRESSION: {
        uint64_t bytes = take_packed(r, false);
        if (bytes > (uint64_t)(r->end - r->at)) r->bad = true;
        if (!r->bad) r->at += bytes;
        row->begin_known = false;
        return true;
    }
    default: return false;
    }
}

static void step_keep(struct machine *m, struct reader *r, bool recall) {
    if (recall ? m->kept_count == 0 : m->kept_count == CC__COUNT_OF(m->kept)) {
        r->bad = true;
    } else if (recall) {
        m->row = m->kept[--m->kept_count];
    } else {
        m->kept[m->kept_count++] = m->row;
    }
}

/* Steps that say where a register is, and the rest. */
static void step_other(struct machine *m, struct reader *r, unsigned op) {
    uint64_t reg;
    switch (op) {
    case STEP_NOP:
    case STEP_SIGNED_PC: break;
    case STEP_ADVANCE1: m->loc += take(r, 1) * m->code_unit; break;
    case STEP_ADVANCE2: m->loc += take(r, 2) * m->code_unit; break;
    case STEP_ADVANCE4: m->loc += take(r, 4) * m->code_unit; break;
    case STEP_OFFSET_EXTENDED:
        reg = take_packed(r, false);
        set_at(m, reg, (int64_t)take_packed(r, false));
        break;
    case STEP_OFFSET_SF:
        reg = take_packed(r, false);
        set_at(m, reg, take_packed_signed(r));
        break;
    case STEP_RESTORE_EXTENDED: restore(m, take_packed(r, false)); break;
    case STEP_UNDEFINED: set(m, take_packed(r, false), (struct saved){CC__SAVED_NOWHERE, 0}); break;
    case STEP_SAME: set(m, take_packed(r, false), (struct saved){CC__SAVED_NOT, 0}); break;
    case STEP_REGISTER: /* of a function that begins: a caller is never there */
        set(m, take_packed(r, false), (struct saved){CC__SAVED_NOWHERE, 0});
        take_packed(r, false);
        break;
    case STEP_EXPRESSION: {
        reg = take_packed(r, false);
        uint64_t bytes = take_packed(r, false);
        if (bytes > (uint64_t)(r->end - r->at) || reg == (uint64_t)REG_PC || reg == (uint64_t)REG_FP) r->bad = true;
        if (!r->bad) r->at += bytes;
        break;
    }
    case STEP_REMEMBER:
    case STEP_RECALL: step_keep(m, r, op == STEP_RECALL); break;
    case STEP_ARGUMENTS: take_packed(r, false); break;
    default: r->bad = true;
    }
}

/* Up to the place in question. */
static void run(struct machine *m, struct reader *r) {
    while (r->at < r->end && !r->bad && m->loc <= m->pc) {
        unsigned op = (unsigned)take(r, 1), low = op & 63;
        switch (op & 0xc0) {
        case STEP_ADVANCE: m->loc += low * m->code_unit; break;
        case STEP_OFFSET: set_at(m, low, (int64_t)take_packed(r, false)); break;
        case STEP_RESTORE: restore(m, low); break;
        default:
            if (!step_begin(m, r, op)) step_other(m, r, op);
        }
    }
}

/* A CIE up to its program. */
static void read_cie(struct machine *m, struct reader *r) {
    char text[8] = {0};
    size_t n = 0;
    if (take(r, 4) != 0) r->bad = true;
    uint64_t version = take(r, 1);
    while (n < sizeof text && !r->bad && (text[n] = (char)take(r, 1)) != 0) n++;
    if (n == sizeof text || (version != 1 && version != 3)) {
        r->bad = true;
        n = 0;
    }
    m->code_unit = take_packed(r, false);
    m->data_unit = take_packed_signed(r);
    uint64_t pc_reg = version == 1 ? take(r, 1) : take_packed(r, false);
    if (pc_reg != (uint64_t)REG_PC) r->bad = true;
    m->form = PTR_ABS;
    m->augmented = !r->bad && text[0] == 'z';
    if (!m->augmented) {
        if (n != 0) r->bad = true;
        return;
    }
    uint64_t bytes = take_packed(r, false);
    if (bytes > (uint64_t)(r->end - r->at)) r->bad = true;
    const unsigned char *program = r->bad ? r->end : r->at + bytes;
    for (size_t i = 1; i < n && !r->bad; i++) {
        if (text[i] == 'R') m->form = (unsigned)take(r, 1);
        if (text[i] == 'L') take(r, 1);
        if (text[i] == 'P') take_pointer(r, (unsigned)take(r, 1) & PTR_FORM);
    }
    r->at = program;
}

static bool run_tables(struct machine *m, uintptr_t fde) {
    static unsigned char fde_copy[4096], cie_copy[1024];
    struct reader f = open_at(fde, fde_copy, sizeof fde_copy);
    uintptr_t back_from = f.from, back = (uintptr_t)take(&f, 4);
    if (f.bad || back == 0) return false;
    struct reader c = open_at(back_from - back, cie_copy, sizeof cie_copy);
    read_cie(m, &c);
    if (c.bad || m->form == PTR_OMIT) return false;
    uintptr_t begin = take_pointer(&f, m->form), bytes = take_pointer(&f, m->form & PTR_FORM);
    if (m->augmented) {
        uint64_t skip = take_packed(&f, false);
        if (skip > (uint64_t)(f.end - f.at)) return false;
        f.at += skip;
    }
    if (f.bad || m->pc - begin >= bytes) return false; /* between two functions */
    m->loc = begin;
    run(m, &c);
    m->initial = m->row;
    run(m, &f);
    return !c.bad && !f.bad;
}

struct cc__unwind cc__unwind_at(uintptr_t pc) {
    enum { KEPT = 512 };
    static struct cc__unwind kept[KEPT];
    struct cc__unwind *u = &kept[pc / 2 % KEPT];
    if (u->pc == pc) return *u;
    *u = (struct cc__unwind){.pc = pc};
    struct machine m = {.pc = pc - 1}; /* in the call that pc is behind */
    struct cc__module module;
    uintptr_t fde = REG_PC >= 0 && cc__module_of(pc - 1, &module) ? find_fde(&module, pc - 1) : 0;
    if (fde == 0 || !run_tables(&m, fde)) return *u;
    bool by_fp = m.row.begin_reg == (uint64_t)REG_FP;
    u->known = m.row.begin_known && (by_fp || m.row.begin_reg == (uint64_t)REG_SP);
    u->by_fp = by_fp;
    u->begin = (int32_t)m.row.begin;
    u->pc_saved = m.row.pc.how;
    u->fp_saved = m.row.fp.how;
    u->pc_at = (int32_t)m.row.pc.at;
    u->fp_at = (int32_t)m.row.fp.at;
    return *u;
}
