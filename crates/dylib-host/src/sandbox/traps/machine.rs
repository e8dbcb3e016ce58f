//! System calls in registers: the one that was trapped, its answer, and those that the handler makes. By instructions of
//! our own: the functions of the C library would change `errno` under the library.

use libc::{c_long, ucontext_t};

use super::COOKIE;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the sandbox of libraries knows the registers of x86-64 and aarch64 only");

#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) number: c_long,
    pub(super) arguments: [u64; 6],
}

impl Call {
    /// A call with up to four arguments that no filter traps again.
    pub(super) fn own(number: c_long, [first, second, third, fourth]: [u64; 4]) -> Self {
        Self { number, arguments: [first, second, third, fourth, 0, COOKIE] }
    }

    pub(super) fn with_cookie(mut self) -> Self {
        self.arguments[5] = COOKIE;
        self
    }

    /// What the kernel answers: a negative `errno`, or the result. A pointer that is none is an EFAULT.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn make(&self) -> i64 {
        let [first, second, third, fourth, fifth, sixth] = self.arguments;
        let mut result = self.number;
        // SAFETY: the arguments are those of a call that the library makes, or point to memory of the handler. The kernel
        // checks pointers, and what it writes is where the library wants it or where the handler has room.
        unsafe {
            std::arch::asm!(
                "syscall",
                inlateout("rax") result,
                in("rdi") first,
                in("rsi") second,
                in("rdx") third,
                in("r10") fourth,
                in("r8") fifth,
                in("r9") sixth,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
        result
    }

    /// What the kernel answers: a negative `errno`, or the result. A pointer that is none is an EFAULT.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn make(&self) -> i64 {
        let [first, second, third, fourth, fifth, sixth] = self.arguments;
        let mut result = first.cast_signed();
        // SAFETY: the arguments are those of a call that the library makes, or point to memory of the handler. The kernel
        // checks pointers, and what it writes is where the library wants it or where the handler has room.
        unsafe {
            std::arch::asm!(
                "svc 0",
                in("x8") self.number,
                inlateout("x0") result,
                in("x1") second,
                in("x2") third,
                in("x3") fourth,
                in("x4") fifth,
                in("x5") sixth,
                options(nostack),
            );
        }
        result
    }
}

/// The call that a filter has trapped: the kernel has put the registers back as they were before it.
#[cfg(target_arch = "x86_64")]
pub(super) fn trapped_call(context: &ucontext_t) -> Call {
    let registers = &context.uc_mcontext.gregs;
    let argument = |register: i32| registers[register as usize].cast_unsigned();
    Call {
        number: registers[libc::REG_RAX as usize],
        arguments: [
            argument(libc::REG_RDI),
            argument(libc::REG_RSI),
            argument(libc::REG_RDX),
            argument(libc::REG_R10),
            argument(libc::REG_R8),
            argument(libc::REG_R9),
        ],
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) fn answer(context: &mut ucontext_t, result: i64) {
    context.uc_mcontext.gregs[libc::REG_RAX as usize] = result;
}

/// The call that a filter has trapped: the kernel has put the registers back as they were before it.
#[cfg(target_arch = "aarch64")]
pub(super) fn trapped_call(context: &ucontext_t) -> Call {
    let [first, second, third, fourth, fifth, sixth, _, _, number, ..] = context.uc_mcontext.regs;
    Call { number: number.cast_signed(), arguments: [first, second, third, fourth, fifth, sixth] }
}

#[cfg(target_arch = "aarch64")]
pub(super) fn answer(context: &mut ucontext_t, result: i64) {
    context.uc_mcontext.regs[0] = result.cast_unsigned();
}

/// The signals that the interrupted code blocks.
pub(super) fn blocked(context: &mut ucontext_t) -> &mut u64 {
    // SAFETY: the kernel's part of the set is its first 64 bits, and the set is aligned to them.
    unsafe { &mut *(&raw mut context.uc_sigmask).cast() }
}
