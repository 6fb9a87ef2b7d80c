/* A plug-in for host.c. With FRAME it has a frame pointer; without it the register has another value, and the code the
 * same length.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
__asm__(
    ".globl run\n.type run,@function\nrun:\n.cfi_startproc\n"
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp,-16\n"
#ifdef FRAME
    "mov %rsp,%rbp\n.byte 0x0f,0x1f,0x40,0\n.cfi_def_cfa_register %rbp\n"
#else
    "mov $-64,%rbp\n"
#endif
    "mov $24,%edi\ncall malloc@plt\nmov %rax,%rdi\ncall free@plt\nmov $1,%eax\n"
    "pop %rbp\n.cfi_def_cfa %rsp,8\nret\n.cfi_endproc\n.size run,.-run\n");
