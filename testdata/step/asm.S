# Functions of assembly as they are met: most have no tables.
	.text
# no table, no frame pointer, saves two registers, a local
	.globl	asm_bare
	.type	asm_bare,@function
asm_bare:
	push	%rbx
	push	%r12
	sub	$40, %rsp
	mov	%rdi, %rbx
	mov	%rdi, 8(%rsp)
	call	asm_leaf
	mov	%rbx, %rdi
	call	callee
	add	$40, %rsp
	pop	%r12
	pop	%rbx
	ret
	.size	asm_bare,.-asm_bare

# no table, frame pointer
	.globl	asm_framed
	.type	asm_framed,@function
asm_framed:
	push	%rbp
	mov	%rsp, %rbp
	sub	$64, %rsp
	and	$-32, %rsp
	call	callee
	leave
	ret
	.size	asm_framed,.-asm_framed

# a leaf with a loop and an early return
	.globl	asm_leaf
	.type	asm_leaf,@function
asm_leaf:
	mov	$4, %ecx
	test	%rdi, %rdi
	jz	2f
1:	dec	%ecx
	jnz	1b
	push	%rdi
	pop	%rax
	ret
2:	xor	%eax, %eax
	ret
	.size	asm_leaf,.-asm_leaf

# a table that is right
	.globl	asm_tabled
	.type	asm_tabled,@function
asm_tabled:
	.cfi_startproc
	push	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	sub	$16, %rsp
	.cfi_adjust_cfa_offset 16
	call	callee
	add	$16, %rsp
	.cfi_adjust_cfa_offset -16
	pop	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	ret
	.cfi_endproc
	.size	asm_tabled,.-asm_tabled

# the stack pointer kept in a register while the stack is realigned, as codecs do
	.globl	asm_realigned
	.type	asm_realigned,@function
asm_realigned:
	mov	%rsp, %rax
	sub	$200, %rsp
	and	$-64, %rsp
	mov	%rax, 192(%rsp)
	call	callee
	mov	192(%rsp), %rsp
	ret
	.size	asm_realigned,.-asm_realigned

# a jump through a table, each case with its own way out
	.globl	asm_switch
	.type	asm_switch,@function
asm_switch:
	push	%rbx
	and	$3, %edi
	lea	table(%rip), %rax
	movslq	(%rax,%rdi,4), %rdx
	add	%rax, %rdx
	jmp	*%rdx
c0:	pop	%rbx
	ret
c1:	call	callee
	pop	%rbx
	ret
c2:	push	%rbp
	push	%rbp
	call	callee
	add	$16, %rsp
	pop	%rbx
	ret
c3:	pop	%rbx
	jmp	asm_leaf
	.size	asm_switch,.-asm_switch
	.section .rodata
	.align 4
table:	.long	c0-table, c1-table, c2-table, c3-table
	.section .note.GNU-stack,"",@progbits
