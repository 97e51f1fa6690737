"""Functions that tell by their name alone what they are for: a table, and a pass over it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kbsite.alarms.kinds import shown
from kbsite.alarms.native.tokens import Kind
from kbsite.alarms.native.unit import Unit
from kbsite.model.alarm import Alarm, Level

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM


class Rule(Struct, frozen=True):
    """What the use of a name is told as."""

    kind: str
    level: Level
    says: str
    """What the sentence says of it, behind its name."""
    mention: bool = False
    """Whether it is enough that it is named, without a call."""


def _rules(
    kind: str, level: Level, says: str, names: str, *, mention: bool = False
) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), Rule(kind, level, says, mention))


TABLE: Final[dict[str, Rule]] = {
    **_rules("memory-scan", ALARM, "opens memory of another process",
             """cudaIpcOpenMemHandle cuIpcOpenMemHandle cuIpcOpenMemHandle_v2 hipIpcOpenMemHandle
             cudaMemPoolImportFromShareableHandle cuMemImportFromShareableHandle
             process_vm_readv process_vm_writev ptrace cudaIpcOpenEventHandle"""),
    **_rules("memory-scan", ALARM, "asks where memory of others lies",
             """cuMemGetAddressRange cuMemGetAddressRange_v2 cudaMemGetAddressRange
             hipMemGetAddressRange mincore malloc_usable_size __libc_stack_end sbrk
             c10::cuda::CUDACachingAllocator::snapshot pthread_getattr_np malloc_info
             c10::cuda::CUDACachingAllocator::getBaseAllocation"""),
    **_rules("monkey-patch", ALARM, "makes code of others writable, or finds its place",
             """mprotect pkey_mprotect dl_iterate_phdr __register_frame
             dladdr dladdr1 dlinfo _dl_sym VirtualProtect plthook_open
             plthook_replace DetourAttach funchook_prepare subhook_new frida_gum_init"""),
    **_rules("monkey-patch", ALARM, "stands for a place in the tables of loaded code",
             "ElfW Elf64_Rela Elf64_Sym Elf64_Dyn R_X86_64_JUMP_SLOT DT_JMPREL", mention=True),
    **_rules("outside-world", ALARM, "starts a program or another process",
             """system popen fork vfork clone execl execlp execle execv execvp execve execvpe
             posix_spawn posix_spawnp std::system fexecve daemon"""),
    **_rules("outside-world", WARNING, "asks the operating system past its library", "syscall"),
    **_rules("outside-world", ALARM, "opens a connection",
             """socket connect getaddrinfo gethostbyname curl_easy_init curl_easy_perform
             socketpair sendto recvfrom inet_pton"""),
    **_rules("early-exit", ALARM, "ends the process with nothing checked",
             "_exit _Exit quick_exit std::quick_exit std::_Exit std::terminate __builtin_trap"),
    **_rules("early-exit", ALARM, "runs when the process ends",
             "atexit std::atexit on_exit at_quick_exit std::at_quick_exit __cxa_atexit"),
    **_rules("early-exit", WARNING, "sends a signal, or takes one", "kill tgkill raise sigqueue"),
    **_rules("environment-change", WARNING, "changes the environment",
             "setenv putenv unsetenv clearenv _putenv _putenv_s"),
    **_rules("environment-sniffing", ALARM, "looks at the stack of its callers",
             """backtrace backtrace_symbols unw_step unw_init_local _Unwind_Backtrace
             PyEval_GetFrame PyThreadState_GetFrame PyFrame_GetBack PyFrame_GetCode
             PyEval_GetLocals PyEval_GetGlobals PyEval_GetBuiltins
             __builtin_return_address std::stacktrace::current
             c10::get_backtrace"""),
    **_rules("environment-sniffing", WARNING, "looks at the process that it is in",
             """getppid getcmdline program_invocation_name __progname prctl
             cuptiSubscribe cuptiActivityEnable cudaProfilerStart
             torch::autograd::profiler::profilerEnabled at::hasCallbacks"""),
    **_rules("monkey-patch", ALARM, "puts code of its own before that of the framework",
             """torch::RegisterOperators c10::impl::IncludeDispatchKeyGuard
             at::addGlobalCallback at::addThreadLocalCallback PyEval_SetTrace PyEval_SetProfile
             PySys_SetObject PyModule_AddObjectRef PyObject_GenericSetAttr"""),
    **_rules("stream-trick", WARNING, "has work done later, by the host",
             """cudaLaunchHostFunc cuLaunchHostFunc cudaStreamAddCallback cuStreamAddCallback
             hipLaunchHostFunc hipStreamAddCallback"""),
    **_rules("stream-trick", WARNING, "starts a thread",
             "std::thread std::jthread pthread_create std::async thrd_create", mention=True),
    **_rules("seed-guess", WARNING, "sets the seed of the framework",
             """torch::manual_seed at::manual_seed torch::cuda::manual_seed
             torch::cuda::manual_seed_all at::cuda::manual_seed"""),
    **_rules("cache-policy", ALARM, "reserves a part of the cache that a flush does not reach",
             """cudaLimitPersistingL2CacheSize CU_LIMIT_PERSISTING_L2_CACHE_SIZE
             cudaAccessPropertyPersisting CU_ACCESS_PROPERTY_PERSISTING
             cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
             CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW cudaKernelNodeAttributeAccessPolicyWindow
             accessPolicyWindow hitRatio cuda::access_property::persisting""", mention=True),
    **_rules("cache-policy", WARNING, "asks for data to stay in the cache",
             """EVICT_LAST CacheHintSm90::EVICT_LAST TMA::CacheHintSm90::EVICT_LAST
             cute::TMA::CacheHintSm90::EVICT_LAST CacheHintSm100::EVICT_LAST
             cute::TMA::CacheHintSm100::EVICT_LAST kEvictLast evict_last
             CacheOperation::LastUse cuda::apply_access_property""", mention=True),
    **_rules("backend-flags", ALARM, "switches numerics of the whole process",
             """setAllowTF32CuBLAS setAllowTF32CuDNN setFloat32MatmulPrecision
             setAllowFP16ReductionCuBLAS setAllowBF16ReductionCuBLAS setBenchmarkCuDNN
             setDeterministicAlgorithms setFlushDenormal setAllowFP16AccumulationCuBLAS
             torch::set_default_dtype at::set_default_dtype c10::set_default_dtype
             setFloat32Precision"""),
    **_rules("environment-change", WARNING, "changes settings of the device for all",
             """cudaDeviceReset cudaDeviceSetLimit cudaDeviceSetCacheConfig
             cudaCtxResetPersistingL2Cache nvmlDeviceSetGpuLockedClocks
             nvmlDeviceSetPowerManagementLimit nvmlDeviceSetMemoryLockedClocks"""),
    **_rules("obfuscation", WARNING, "runs Python that is written in C++",
             """PyRun_SimpleString PyRun_String py::exec py::eval pybind11::exec pybind11::eval
             torch::jit::compile"""),
    **_rules("disk-replay", WARNING, "keeps tensors in a file, or takes them from one",
             """torch::save torch::load torch::pickle_save torch::pickle_load shm_open
             torch::jit::load torch::jit::pickle_save"""),
}  # fmt: skip

_UNTOLD: Final = frozenset(("cudaDeviceSetLimit",))
"""Told by what is given to them."""


def find(held: Unit) -> Iterator[Alarm]:
    """Every name of the table that a source uses, each where it first does."""
    told: set[tuple[str, str]] = set()
    for name, rule, at in sorted(_used(held), key=lambda one: one[2]):
        if (rule.kind, rule.says) in told:
            continue
        told.add((rule.kind, rule.says))
        yield held.alarm(rule.kind, rule.level, f"{shown(name)} {rule.says}.", at)


def _used(held: Unit) -> Iterator[tuple[str, Rule, int]]:
    for name, places in held.names.items():
        rule = TABLE.get(name) or TABLE.get(name.rpartition("::")[2] if _is_of_ours(name) else "")
        if rule is None or name in _UNTOLD:
            continue
        for at in places:
            if (
                rule.mention
                or held.is_call(at)
                or _is_method(held, at, rule)
                or _is_taken(held, at)
            ):
                yield name, rule, at
                break


def _is_of_ours(name: str) -> bool:
    """Whether the last part of a name says enough, whatever it is a member of."""
    last = name.rpartition("::")[2]
    return len(last) > 9 or last == "EVICT_LAST"


def _is_taken(held: Unit, at: int) -> bool:
    """Whether a function is named there to be called by another name: `&system`, `(system)(x)`."""
    before, after = held.before(at), held.after(at)
    if before == "(" and after == ")" and at + 2 < len(held.tokens):
        return held.tokens[at + 2][1] == "(" and held.tokens[max(0, at - 2)][0] != Kind.NAME
    if after != ";" or before not in ("&", "=") or held.before(at - (before == "&")) == ".":
        return False
    places = held.names[held.tokens[at][1]]
    return not any(
        held.tokens[one - 1][0] == Kind.NAME or held.before(one) == "*" for one in places
    )


def _is_method(held: Unit, at: int, rule: Rule) -> bool:
    return rule.kind == "backend-flags" and held.after(at) == "("


_VARIABLE: Final = re.compile(
    r"PYTEST|BENCH|GRADE|CHECK|EVAL|TIMING|PROFIL|POPCORN|SEED|KERNELBENCH|NSYS|NCU|JUDGE", re.I
)
_PRELOAD: Final = re.compile(r"LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT")


def find_told(held: Unit) -> Iterator[Alarm]:
    """Calls that are told by what is given to them."""
    texts = dict(held.strings)
    for name in ("getenv", "secure_getenv", "std::getenv", "c10::utils::check_env"):
        for at in held.calls(name):
            text = next(
                (texts[one] for one in range(at, min(at + 4, len(held.tokens))) if one in texts), ""
            )
            level = WARNING if not text or _VARIABLE.search(text) else NOTE
            saw = f"{name} asks for {shown(text) or 'a variable that is worked out'}."
            yield held.alarm("environment-sniffing", level, saw, at)
    for at, text in held.strings:
        if _PRELOAD.search(text):
            saw = f"{shown(text)} is named: code loaded before all other."
            yield held.alarm("monkey-patch", ALARM, saw, at)
    yield from _exits(held)
    yield from _second_device(held)


def _exits(held: Unit) -> Iterator[Alarm]:
    for name in ("exit", "std::exit", "abort", "std::abort"):
        for at in held.calls(name):
            given = held.written((at + 2, held.partner.get(at + 1, at + 2) - 1))
            if _SUCCESS.fullmatch(given):
                saw = f"{name}({given}) ends the process as if all were well."
                yield held.alarm("early-exit", ALARM, saw, at)
    for at in (*held.names.get("constructor", ()), *held.names.get("destructor", ())):
        if held.before(at) == "(" and held.before(at - 2) == "__attribute__":
            saw = f"A function with the attribute {held.tokens[at][1]} runs without being called."
            yield held.alarm("early-exit", ALARM, saw, at)


_SUCCESS: Final = re.compile(r"(?:[()\s]|\bint\b)*(?:0[xXbB]?0*[uUlL]*|EXIT_SUCCESS|false)[()\s]*")


def _second_device(held: Unit) -> Iterator[Alarm]:
    for at in held.calls("cudaSetDevice"):
        kind, given, _ = held.tokens[at + 2] if at + 2 < len(held.tokens) else (0, "", 0)
        if kind == Kind.NUMBER and given != "0":
            saw = f"cudaSetDevice({given}) works on another device than the one that is timed."
            yield held.alarm("stream-trick", WARNING, saw, at)


INTERPOSED: Final = re.compile(
    r"(?:cuda|cu|hip)(?:Event(?:Record\w*|ElapsedTime\w*|Synchronize|Create\w*|Query)|DeviceSynchronize"
    r"|CtxSynchronize|StreamSynchronize|Launch\w+|Memcpy\w*|Malloc\w*|Memset\w*)(?:_v\d|_ptsz)?$"
    r"|clock_gettime$|gettimeofday$|time$|clock$|malloc$|free$|write$|open$|exit$|mprotect$"
)


def find_interposed(held: Unit) -> Iterator[Alarm]:
    """Functions of the runtime that a source defines itself."""
    for one in held.functions:
        if INTERPOSED.match(one.name) and not one.is_kernel:
            saw = f"The source defines {shown(one.name)} itself, in front of the real one."
            yield held.alarm("monkey-patch", ALARM, saw, one.head[0], one.body[1])
