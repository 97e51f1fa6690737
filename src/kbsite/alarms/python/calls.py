"""Calls that tell by their name alone what they are for: a table, and one pass over the calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kbsite.alarms.kinds import shown
from kbsite.alarms.python.reading import Phase, Reading
from kbsite.model.alarm import Alarm, Level

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM


class Rule(Struct, frozen=True):
    """What a call is told as."""

    kind: str
    says: str
    """What the sentence says of it, behind its name."""
    call: Level = ALARM
    """Where it runs in every call of the solution."""
    setup: Level = ALARM
    """Where it runs when the solution is imported or made, or when nothing is known to call it."""


def _rules(rule: Rule, origins: str) -> dict[str, Rule]:
    return dict.fromkeys(origins.split(), rule)


TABLE: Final[dict[str, Rule]] = {
    **_rules(Rule("environment-sniffing", "looks at the stack of its callers"),
             """inspect.stack inspect.currentframe inspect.getouterframes inspect.getinnerframes
             inspect.trace sys._getframe sys._current_frames traceback.extract_stack
             traceback.walk_stack traceback.format_stack traceback.print_stack
             sys._getframemodulename faulthandler.dump_traceback"""),
    **_rules(Rule("environment-sniffing", "looks at the other processes", WARNING, WARNING),
             "os.getppid psutil.* os.getpgid"),
    **_rules(Rule("environment-sniffing", "looks at what is profiled", ALARM, ALARM),
             """torch.autograd._profiler_enabled torch._C._autograd._profiler_enabled
             torch.profiler.* torch.autograd.profiler.* torch.cuda.profiler.*"""),
    **_rules(Rule("monkey-patch", "has every step of others traced"),
             """sys.settrace sys.setprofile threading.settrace threading.setprofile
             sys.addaudithook sys.monitoring.*"""),
    **_rules(Rule("monkey-patch", "replaces code of others"),
             """unittest.mock.* pytest.MonkeyPatch ctypes.pythonapi.* forbiddenfruit.*
             importlib.reload wrapt.*"""),
    **_rules(Rule("monkey-patch", "puts itself between the framework and all others"),
             """torch.utils._python_dispatch.* torch.overrides.TorchFunctionMode
             torch.fx.wrap sys.meta_path.* sys.path_hooks.* copyreg.*
             torch._C._push_on_torch_function_stack torch._C._push_on_torch_dispatch_stack
             torch._C._autograd._push_saved_tensors_default_hooks
             torch.nn.modules.module.register_module_forward_hook
             torch.nn.modules.module.register_module_forward_pre_hook
             torch.nn.modules.module.register_module_buffer_registration_hook
             torch.nn.modules.module.register_module_parameter_registration_hook
             torch.nn.modules.module.register_module_module_registration_hook"""),
    **_rules(Rule("backend-flags", "switches the numerics of the whole process"),
             """torch.set_float32_matmul_precision torch.set_default_dtype
             torch.set_default_tensor_type torch._C._set_cublas_allow_tf32
             torch._C._set_cudnn_allow_tf32 torch.set_autocast_dtype
             torch.set_autocast_enabled torch.set_autocast_gpu_dtype
             torch.set_flush_denormal torch._C._set_float32_matmul_precision"""),
    **_rules(Rule("backend-flags", "switches the framework for the whole process", WARNING, NOTE),
             """torch.use_deterministic_algorithms torch.set_num_threads torch.set_default_device
             torch.backends.cuda.enable_flash_sdp torch.backends.cuda.enable_math_sdp
             torch.backends.cuda.enable_mem_efficient_sdp torch.set_num_interop_threads
             torch.set_deterministic_debug_mode torch.backends.cuda.enable_cudnn_sdp
             torch.backends.cuda.preferred_linalg_library"""),
    **_rules(Rule("environment-change", "changes how the process runs", WARNING, WARNING),
             """os.sched_setaffinity os.setpriority os.nice resource.setrlimit
             os.sched_setscheduler torch.cuda.set_per_process_memory_fraction
             torch.cuda.memory.change_current_allocator"""),
    **_rules(Rule("memory-scan", "walks the objects of the whole process"),
             """gc.get_objects gc.get_referrers gc.get_referents gc.callbacks.*
             objgraph.* sys._debugmallocstats"""),
    **_rules(Rule("memory-scan", "reads memory by its address", ALARM, ALARM),
             """ctypes.string_at ctypes.memmove ctypes.memset ctypes.wstring_at
             torch._C._construct_storage_from_data_pointer
             torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata"""),
    **_rules(Rule("memory-scan", "lists what the allocator holds", ALARM, WARNING),
             """torch.cuda.memory_snapshot torch.cuda.memory._snapshot
             torch.cuda.memory.memory_snapshot torch.cuda.memory.caching_allocator_alloc
             torch.cuda.caching_allocator_alloc"""),
    **_rules(Rule("memory-scan", "opens memory that processes share", ALARM, ALARM),
             "multiprocessing.shared_memory.* posix_ipc.* sysv_ipc.*"),
    **_rules(Rule("input-change", "has two tensors trade what they hold", ALARM, WARNING),
             "torch.utils.swap_tensors torch._C._swap_tensor_impl"),
    **_rules(Rule("early-exit", "ends the process"),
             """sys.exit os._exit builtins.exit builtins.quit os.abort signal.raise_signal
             signal.pthread_kill"""),
    **_rules(Rule("outside-world", "stops processes"), "os.kill os.killpg"),
    **_rules(Rule("early-exit", "has something done when the process ends", WARNING, WARNING),
             "atexit.register weakref.finalize signal.signal"),
    **_rules(Rule("outside-world", "uses the network"),
             """urllib.* requests.* socket.* http.client.* httpx.* aiohttp.* ftplib.* paramiko.*
             huggingface_hub.* torch.hub.* torch.utils.model_zoo.* wget.* urllib3.* websocket.*
             kernels.get_kernel transformers.AutoModel.from_pretrained smtplib.* xmlrpc.*"""),
    **_rules(Rule("outside-world", "installs packages"), "pip.* ensurepip.* pip._internal.*"),
    **_rules(Rule("stream-trick", "starts another process", ALARM, WARNING),
             """os.fork os.forkpty multiprocessing.Process multiprocessing.Pool
             multiprocessing.get_context torch.multiprocessing.* os.posix_spawn
             concurrent.futures.ProcessPoolExecutor"""),
    **_rules(Rule("obfuscation", "runs code that is kept as data"),
             """marshal.loads marshal.load pickle.loads dill.loads types.CodeType
             types.FunctionType cloudpickle.loads"""),
    **_rules(Rule("seed-guess", "looks at the state of the random numbers", ALARM, WARNING),
             """torch.initial_seed torch.random.initial_seed torch.get_rng_state
             torch.cuda.get_rng_state torch.random.get_rng_state torch.cuda.initial_seed
             random.getstate numpy.random.get_state torch.default_generator.initial_seed
             torch.default_generator.get_state"""),
    **_rules(Rule("seed-guess", "sets the seed of the random numbers", ALARM, WARNING),
             """torch.manual_seed torch.random.manual_seed torch.cuda.manual_seed
             torch.cuda.manual_seed_all random.seed numpy.random.seed torch.set_rng_state
             torch.cuda.set_rng_state torch.random.set_rng_state torch.default_generator.seed
             torch.default_generator.manual_seed torch.default_generator.set_state"""),
    # Whoever tries his kernel has a generator as well; in a call, it draws somebody else's inputs.
    **_rules(Rule("seed-guess", "draws numbers of its own", ALARM, NOTE),
             """torch.Generator().manual_seed torch.Generator().set_state random.Random
             numpy.random.default_rng numpy.random.RandomState numpy.random.Generator"""),
    **_rules(Rule("disk-replay", "keeps tensors on disk", ALARM, WARNING),
             """torch.save torch.load numpy.save numpy.load pickle.dump pickle.load numpy.savez
             numpy.fromfile numpy.memmap torch.from_file joblib.dump joblib.load shelve.open
             safetensors.torch.save_file safetensors.torch.load_file torch.UntypedStorage.from_file
             diskcache.* dbm.*"""),
    **_rules(Rule("output-cache", "takes a digest, as for a look-up by content", WARNING, NOTE),
             """hashlib.* zlib.crc32 zlib.adler32 binascii.crc32 xxhash.* mmh3.* _hashlib.*
             hmac.*"""),
    **_rules(Rule("compiled", "has a compiler write the kernel", WARNING, WARNING),
             "torch.compile torch._dynamo.optimize torch._inductor.* torch.jit.trace"),
    **_rules(Rule("stream-trick", "changes the stream that others wait for"),
             "torch.cuda.set_stream torch._C._cuda_setStream"),
    **_rules(Rule("tensor-subclass", "makes an object that only looks like a tensor"),
             """torch.Tensor._make_subclass torch.Tensor._make_wrapper_subclass
             torch.Tensor.as_subclass"""),
}  # fmt: skip
"""By what is called; with `*` for all below."""


_OF_SYSTEM: Final = ("memory-scan", "monkey-patch", "outside-world", "early-exit")
"""Kinds of what the C library is called for; streams and caches of CUDA are told elsewhere."""


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of the calls that stand in the table."""
    for call, origin in reading.calls:
        rule = rule_of(origin) or _of_system(origin)
        if rule is not None:
            yield from told(reading, call, origin, rule)
        elif origin == "functools.partial" and call.args:
            handed = reading.names.origin(call.args[0])
            rule = rule_of(handed)
            if rule is not None:
                yield from told(reading, call, handed, rule)
    for made in _decorators(reading):
        origin = reading.names.origin(made)
        rule = rule_of(origin)
        if rule is not None and not isinstance(made, ast.Call):
            yield from told(reading, made, origin, rule)


def rule_of(origin: str) -> Rule | None:
    """The rule for an origin; None if its name alone tells nothing."""
    if origin[0] == "?" or origin.startswith("local:"):
        return None
    found = TABLE.get(origin)
    if found is not None:
        return found
    base = origin
    while "." in base:
        base = base.rpartition(".")[0]
        found = TABLE.get(f"{base}.*")
        if found is not None:
            return found
    return None


def _of_system(origin: str) -> Rule | None:
    """The rule for a function of a library that `ctypes` opened: what C does by the same name."""
    called = origin.rpartition("().")[2] if origin.startswith("ctypes.") else ""
    if not called.isidentifier():
        return None
    # Most solutions open no library, and the other table takes a while to load.
    from kbsite.alarms.native import calls

    rule = calls.TABLE.get(called)
    if rule is None or rule.kind not in _OF_SYSTEM:
        return None
    return Rule(rule.kind, rule.says, rule.level, rule.level)


def told(reading: Reading, node: ast.expr, origin: str, rule: Rule) -> Iterator[Alarm]:
    """The alarm of a rule about a node."""
    phase = reading.phase(node)
    level, kind = _level(rule, phase), rule.kind
    if origin == "os.kill" and _is_own(reading, node):
        kind = "early-exit"
    if rule.kind == "early-exit" and _is_failing(node) and level is ALARM:
        level = WARNING
    if origin == "torch.set_float32_matmul_precision" and _says(reading, node, "highest"):
        level = NOTE  # what it is anyway
    says = f"`{shown(origin)}` {rule.says}, {phase.value}."
    yield reading.raised(kind, level, says, node)


def _is_own(reading: Reading, node: ast.expr) -> bool:
    """Whether a process that is stopped is the one that does it."""
    whose = node.args[0] if isinstance(node, ast.Call) and node.args else None
    return whose is not None and reading.names.origin(whose) == "os.getpid()"


def _says(reading: Reading, node: ast.expr, text: str) -> bool:
    """Whether all that a call is given is a text."""
    given = node.args if isinstance(node, ast.Call) and not node.keywords else []
    return [reading.names.text(one) for one in given] == [text]


def _level(rule: Rule, phase: Phase) -> Level:
    match phase:
        case Phase.CALL:
            return rule.call
        case Phase.TEST:
            return NOTE
        case _:
            return rule.setup


def _is_failing(node: ast.expr) -> bool:
    """Whether an exit says that something went wrong: nobody takes it for a pass."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    given = node.args[0]
    return isinstance(given, ast.Constant | ast.JoinedStr) and getattr(given, "value", 1) != 0


def _decorators(reading: Reading) -> Iterator[ast.expr]:
    for function in reading.functions:
        yield from function.decorator_list
