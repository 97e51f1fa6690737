"""Who does the work: forbidden operations, libraries, compilers, the reference handed in again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.kinds import shown
from kbsite.alarms.python.ops import FAMILY, full, is_view, op
from kbsite.alarms.python.outside import texts
from kbsite.alarms.python.reading import Phase, Reading
from kbsite.alarms.python.scopes import Part
from kbsite.model.alarm import Alarm, Level
from kbsite.model.forbidden import operations
from kbsite.store.run_folders import SOLUTION

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

_KERNEL_PACKAGES: Final = frozenset(
    """flash_attn flash_attn_interface fla flashinfer vllm xformers sgl_kernel sglang deep_gemm
    liger_kernel bitsandbytes marlin exllama transformer_engine apex cuequivariance mamba_ssm
    causal_conv1d sageattention triton_kernels tritonbench sonic_moe sonicmoe unsloth torchao
    flag_gems aiter cutlass_library auto_gptq awq autoawq gptqmodel megablocks grouped_gemm tensorrt
    tensorrt_llm onnxruntime cudnn nvmath cublas cupyx flex_gemm thunderkittens quack kernels
    deepspeed fbgemm_gpu punica_kernels lmdeploy faster_transformer natten torch_scatter
    torch_sparse tilekernels vattention minference cuml faiss""".split()  # noqa: SIM905
)
_PARTS: Final = ("torch.nn.attention.flex_attention", "triton.ops", "torch._inductor.kernel",
                 "triton.kernels", "triton_kernels", "jax.experimental.pallas.ops")  # fmt: skip
_FROM_FILES: Final = ("importlib.util.spec_from_file_location", "runpy.run_path",
                      "importlib.machinery.SourceFileLoader", "imp.load_source")  # fmt: skip
_SOURCES: Final = ("cpp_sources", "cuda_sources")
_REFERENCES: Final = frozenset(("reference", "sota", "baseline", "reference_impl", "ref", "oracle",
                                "baselines", "solution_ref"))  # fmt: skip


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of work that somebody else's code does."""
    yield from _imports(reading)
    yield from _forbidden(reading)
    yield from _libraries(reading)
    yield from _device_builtins(reading)
    yield from _assembled(reading)


def _imports(reading: Reading) -> Iterator[Alarm]:
    for plain in reading.module.all(ast.Import):
        for alias in plain.names:
            yield from _imported(reading, plain, alias.name)
    for chosen in reading.module.all(ast.ImportFrom):
        for alias in chosen.names:
            yield from _imported(reading, chosen, f"{chosen.module or ''}.{alias.name}")
    for call, origin in reading.calls:
        if origin in ("importlib.import_module", "builtins.__import__") and call.args:
            for name in _named(reading, call.args[0]):
                yield from _imported(reading, call, name)
        elif origin.startswith(_FROM_FILES):
            yield from _from_file(reading, call)


def _named(reading: Reading, node: ast.expr) -> list[str]:
    """The names that an expression may stand for: one, or those that a loop goes through."""
    found = reading.names.value(node)
    if found is None and isinstance(node, ast.Name):
        for bound in reading.names.bindings(node.id, reading.module.scope(node))[:4]:
            if isinstance(bound, Part):
                found = reading.names.value(bound.whole)
    if isinstance(found, tuple):
        return [name for name in found[:20] if isinstance(name, str)]
    return [found] if isinstance(found, str) else []


def _from_file(reading: Reading, call: ast.Call) -> Iterator[Alarm]:
    """A module that is loaded by its path, where the source names the reference beside."""
    scope = reading.module.scope(call)
    texts = {str(c.value).removesuffix(".py") for c in scope.all(ast.Constant)}
    named = texts & _REFERENCES
    if named:
        says = f"`{shown(min(named))}` of the problem is loaded by its path."
        tested = reading.phase(call) is Phase.TEST
        yield reading.raised("reference-copy", NOTE if tested else ALARM, says, call)


def _imported(reading: Reading, node: ast.AST, name: str) -> Iterator[Alarm]:
    root = name.lstrip(".").partition(".")[0]
    if root in reading.siblings:
        return
    tested = reading.phase(node) is Phase.TEST
    if root in _KERNEL_PACKAGES or name.startswith(_PARTS):
        dynamic = isinstance(node, ast.Call)
        used = not tested and (dynamic or _is_used(reading, root))
        level = ALARM if used else NOTE
        says = f"`{shown(name)}` brings kernels of others."
        yield reading.raised("third-party-kernel", level, says, node)
    elif root in _REFERENCES:
        says = f"`{shown(name)}` of the problem is imported."
        yield reading.raised("reference-copy", NOTE if tested else ALARM, says, node)


def _is_used(reading: Reading, root: str) -> bool:
    """Whether what a package brings is called where the work is done, or handed on."""
    return any(
        origin.partition(".")[0] == root and reading.phase(call) is not Phase.TEST
        for call, origin in reading.calls
    )


def _forbidden(reading: Reading) -> Iterator[Alarm]:
    problem = reading.evidence.problem
    if problem is None or not problem.problem.forbidden:
        return
    rules = [_Rule(spelled) for spelled in operations(problem.problem.forbidden)]
    told: list[Alarm] = []
    for node, origin in _uses(reading):
        spelled = next((rule.spelled for rule in rules if rule.meets(origin)), None)
        if spelled is not None:
            told.append(_used(reading, node, spelled))
    yield from told
    if not any(alarm.level is ALARM for alarm in told):
        yield from _named_only(reading, rules)


def _named_only(reading: Reading, rules: list[_Rule]) -> Iterator[Alarm]:
    """What is forbidden, and named without being called: it may be called by another name."""
    for node in reading.module.all(ast.Attribute):
        if _is_called(reading, node) or reading.on_device(node):
            continue
        origin = reading.names.origin(node)
        plain = origin.startswith("torch.") and origin.rpartition(".")[2].islower()
        if plain and "(" not in origin and any(rule.meets(origin) for rule in rules):
            quiet = reading.phase(node) is Phase.TEST or _without_device(reading, node)
            says = f"`{shown(origin)}`, which the problem forbids, is named to be called later."
            yield reading.raised("forbidden-op", NOTE if quiet else WARNING, says, node)


def _is_called(reading: Reading, node: ast.Attribute) -> bool:
    """Whether an attribute is only named to be called, to reach further, or to be compared."""
    parent = reading.module.parents.get(node)
    if isinstance(parent, ast.Call):
        return parent.func is node
    return isinstance(parent, ast.Attribute | ast.Compare)


class _Rule:
    """An operation that a problem forbids, however the problem spells it."""

    def __init__(self, spelled: str) -> None:
        self.spelled = spelled
        plain = spelled.replace("import ", "").replace("from ", "").strip(" .(")
        self.dotted = full(plain)
        self.op = op(self.dotted) or op(f"?.{plain.rpartition('.')[2]}")
        if "." in plain and not self.dotted.startswith(("torch.", "Tensor.", "numpy.")):
            self.op = ""
        self.family = FAMILY.get(self.op, "")

    def meets(self, origin: str) -> bool:
        """Whether a call of an origin is what it forbids, or the same by another name."""
        done = op(origin)
        if done and (done == self.op or (self.family and FAMILY.get(done) == self.family)):
            return True
        head = origin.removesuffix("()")
        return head == self.dotted or head.startswith(f"{self.dotted}.")


def _uses(reading: Reading) -> Iterator[tuple[ast.expr, str]]:
    """What is called, or done by an operator, outside of code for the device."""
    yield from reading.calls
    for call, _ in reading.calls:
        yield from _handed(reading, call)
    for product in reading.module.all(ast.BinOp):
        if isinstance(product.op, ast.MatMult) and not reading.on_device(product):
            yield product, "operator.matmul"
    for changed in reading.module.all(ast.AugAssign):
        if isinstance(changed.op, ast.MatMult) and not reading.on_device(changed):
            yield changed.target, "operator.matmul"


def _handed(reading: Reading, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    """Operations of the framework that a call is given, as `map` and `reduce` are, to call them."""
    for part in call.args[:2]:
        if isinstance(part, ast.Name | ast.Attribute):
            origin = reading.names.origin(part)
            name = origin.rpartition(".")[2]
            plain = origin.startswith("torch.") and name.islower() and "()" not in origin
            if plain and op(origin) in FAMILY:
                yield part, origin


def _used(reading: Reading, node: ast.expr, spelled: str) -> Alarm:
    phase = reading.phase(node)
    level = ALARM if phase is Phase.CALL else NOTE
    if level is ALARM and _without_device(reading, node):
        level = NOTE
    written = shown(reading.module.written(node))
    says = f"`{written}` does what the problem forbids (`{shown(spelled)}`), {phase.value}."
    return reading.raised("forbidden-op", level, says, node)


def _without_device(reading: Reading, node: ast.AST) -> bool:
    """Whether a line only runs where there is no GPU."""
    for branch in reading.module.above(node):
        if isinstance(branch, ast.If):
            words = {p.attr for p in ast.walk(branch.test) if isinstance(p, ast.Attribute)}
            if words & {"is_cuda", "is_available"} and _is_negated(branch, node, reading):
                return True
    return False


def _is_negated(branch: ast.If, node: ast.AST, reading: Reading) -> bool:
    negative = isinstance(branch.test, ast.UnaryOp) and isinstance(branch.test.op, ast.Not)
    above = {node, *reading.module.above(node)}
    return any(part in above for part in (branch.body if negative else branch.orelse))


def _libraries(reading: Reading) -> Iterator[Alarm]:
    """Heavy operations of libraries in every call, and no kernel beside them."""
    if reading.file != SOLUTION:
        return
    heavy = [
        (node, op(origin))
        for node, origin in _uses(reading)
        if op(origin) in FAMILY and reading.is_hot(node) and not _without_device(reading, node)
    ]
    launched = any(reading.launches(call, origin) for call, origin in reading.hot_calls)
    yield from _none(reading, launched=launched)
    if not heavy:
        return
    node, name = heavy[0]
    level = _of_library(reading, {FAMILY[done] for _, done in heavy}, launched=launched)
    count = f" and {len(heavy) - 1} more" if len(heavy) > 1 else ""
    beside = "beside the solution's own kernels" if launched else "and no kernel of its own"
    says = f"`{shown(reading.module.written(node))}` ({name}){count} in every call, {beside}."
    yield reading.raised("library-call", level, says, node)


def _of_library(reading: Reading, families: set[str], *, launched: bool) -> Level:
    """How heavy it weighs, by what the problem says and by what is left for own kernels."""
    problem = reading.evidence.problem
    if problem is None:
        return NOTE if launched else WARNING
    if not problem.problem.forbidden:
        return NOTE
    banned = {_Rule(spelled).family for spelled in operations(problem.problem.forbidden)} - {""}
    if families & banned:
        return NOTE if launched else WARNING
    return WARNING if not launched else NOTE


def _none(reading: Reading, *, launched: bool) -> Iterator[Alarm]:
    if launched or not reading.entries or not _works_without(reading):
        return
    problem = reading.evidence.problem
    free = problem is not None and not problem.problem.forbidden
    what = "No kernel runs in a call" if reading.has_kernel else "There is no kernel in the source"
    says = f"{what}: operations of the framework do all of the work."
    yield reading.raised("no-kernel", NOTE if free else WARNING, says, reading.entries[0])


def _works_without(reading: Reading) -> bool:
    """Whether no call may run a kernel, and there is a kernel that could, or other work."""
    if any(_may_launch(reading, origin) for _, origin in reading.hot_calls):
        return False
    works = any(op(origin) and reading.is_hot(node) for node, origin in _uses(reading))
    return works or reading.has_kernel


def _may_launch(reading: Reading, origin: str) -> bool:
    """Whether a call may run a kernel for all that is known: of a sidecar, or out of a table."""
    if origin.lstrip(".").partition(".")[0] in reading.siblings:
        return True
    if origin.endswith(("[]", ".replay")) or origin.startswith(("cutlass.", "cuda.")):
        return True
    return reading.builds and origin.startswith("?") and not op(origin) and not is_view(origin)


def _assembled(reading: Reading) -> Iterator[Alarm]:
    """Native sources that are put together at run time, with the name of an operation as a part."""
    for call, origin in reading.calls:
        if not origin.endswith("cpp_extension.load_inline"):
            continue
        given = [*call.args[1:3], *(k.value for k in call.keywords if k.arg in _SOURCES)]
        for part in given:
            whole = reading.names.value(part)
            parts = set(texts(reading, part)) if whole is None else set()
            named = sorted(parts & set(FAMILY))
            if named:
                says = f"A native source is put together at run time, with `{named[0]}` as a part."
                yield reading.raised("library-call", WARNING, says, call)


def _device_builtins(reading: Reading) -> Iterator[Alarm]:
    """Triton's own sort, top-k or softmax, where the problem is about that."""
    problem = reading.evidence.problem
    if problem is None or not reading.kernels:
        return
    banned = {_Rule(spelled).family for spelled in operations(problem.problem.forbidden)} - {
        "",
        "matmul",
    }
    for call in reading.module.all(ast.Call):
        origin = reading.names.origin(call.func)
        if origin.startswith("triton.language."):
            name = origin.rpartition(".")[2]
            if FAMILY.get(name, "-") in banned:
                says = f"Triton's own `{shown(name)}` does what the problem asks for."
                yield reading.raised("forbidden-op", WARNING, says, call)
