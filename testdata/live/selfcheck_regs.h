/* spin_with_registers fills the registers with words made from seed, turns in a
 * loop that touches none of them, and compares. It returns the number of registers
 * that differ. A tracer that restores a wrong register cannot pass unseen.
 *
 * Elsewhere than amd64 it only spins, and REGISTERS_CHECKED is 0. */
#ifndef SELFCHECK_REGS_H
#define SELFCHECK_REGS_H

#include "live.h"

#if defined(__x86_64__)
#define REGISTERS_CHECKED 1

/* Order of the words: rax rbx rdx rsi rdi r8-r15 (13), then xmm0-xmm7 (16). */
#define GENERAL_WORDS 13
#define ALL_WORDS (GENERAL_WORDS + 16)

static int spin_with_registers(unsigned long seed, unsigned long turns) {
	unsigned long in[ALL_WORDS], out[ALL_WORDS];
	unsigned long *table[3] = {in, out, (unsigned long *)turns};
	for (int i = 0; i < ALL_WORDS; i++)
		in[i] = (seed + (unsigned long)i) * 0x9e3779b97f4a7c15UL;
	/* rcx counts, rsp and rbp belong to the frame. The red zone is left alone
	 * because the pushes below come after a step of 128 bytes. */
	__asm__ volatile(
		"lea -128(%%rsp), %%rsp\n\t"
		"push %%rbx\n\tpush %%rbp\n\t"
		"push %%rcx\n\t"
		"mov 16(%%rcx), %%rbp\n\t"
		"mov (%%rcx), %%rcx\n\t"
		"movdqu 104(%%rcx), %%xmm0\n\tmovdqu 120(%%rcx), %%xmm1\n\t"
		"movdqu 136(%%rcx), %%xmm2\n\tmovdqu 152(%%rcx), %%xmm3\n\t"
		"movdqu 168(%%rcx), %%xmm4\n\tmovdqu 184(%%rcx), %%xmm5\n\t"
		"movdqu 200(%%rcx), %%xmm6\n\tmovdqu 216(%%rcx), %%xmm7\n\t"
		"mov (%%rcx), %%rax\n\tmov 8(%%rcx), %%rbx\n\tmov 16(%%rcx), %%rdx\n\t"
		"mov 24(%%rcx), %%rsi\n\tmov 32(%%rcx), %%rdi\n\tmov 40(%%rcx), %%r8\n\t"
		"mov 48(%%rcx), %%r9\n\tmov 56(%%rcx), %%r10\n\tmov 64(%%rcx), %%r11\n\t"
		"mov 72(%%rcx), %%r12\n\tmov 80(%%rcx), %%r13\n\tmov 88(%%rcx), %%r14\n\t"
		"mov 96(%%rcx), %%r15\n\t"
		"mov %%rbp, %%rcx\n"
		"1:\tdec %%rcx\n\tjnz 1b\n\t"
		"mov (%%rsp), %%rcx\n\t"
		"mov 8(%%rcx), %%rcx\n\t"
		"mov %%rax, (%%rcx)\n\tmov %%rbx, 8(%%rcx)\n\tmov %%rdx, 16(%%rcx)\n\t"
		"mov %%rsi, 24(%%rcx)\n\tmov %%rdi, 32(%%rcx)\n\tmov %%r8, 40(%%rcx)\n\t"
		"mov %%r9, 48(%%rcx)\n\tmov %%r10, 56(%%rcx)\n\tmov %%r11, 64(%%rcx)\n\t"
		"mov %%r12, 72(%%rcx)\n\tmov %%r13, 80(%%rcx)\n\tmov %%r14, 88(%%rcx)\n\t"
		"mov %%r15, 96(%%rcx)\n\t"
		"movdqu %%xmm0, 104(%%rcx)\n\tmovdqu %%xmm1, 120(%%rcx)\n\t"
		"movdqu %%xmm2, 136(%%rcx)\n\tmovdqu %%xmm3, 152(%%rcx)\n\t"
		"movdqu %%xmm4, 168(%%rcx)\n\tmovdqu %%xmm5, 184(%%rcx)\n\t"
		"movdqu %%xmm6, 200(%%rcx)\n\tmovdqu %%xmm7, 216(%%rcx)\n\t"
		"pop %%rcx\n\tpop %%rbp\n\tpop %%rbx\n\t"
		"lea 128(%%rsp), %%rsp\n\t"
		: : "c"(table)
		: "rax", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
		  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory", "cc");
	int wrong = 0;
	for (int i = 0; i < ALL_WORDS; i++)
		wrong += in[i] != out[i];
	return wrong;
}
#else
#define REGISTERS_CHECKED 0
static int spin_with_registers(unsigned long seed, unsigned long turns) {
	for (volatile unsigned long i = seed - seed; i < turns; i++)
		;
	return 0;
}
#endif
#endif
