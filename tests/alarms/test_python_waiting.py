"""Work that nothing waits for, objects that pose as tensors, other devices, and the cache."""

from __future__ import annotations

import pytest

from kbsite.model.problem import Regime
from tests.alarms.solutions import KERNEL, found, loud, model, problem
from tests.alarms.twins import ALARM, NOTE, WARNING, Twins, each, solution

TRICK, POSES = "stream-trick", "tensor-subclass"
SIDE = """
y = torch.empty_like(x)
s = torch.cuda.Stream()
"""

STREAMS = [
    Twins(
        "a stream of its own", TRICK, ALARM,
        solution(SIDE + """
with torch.cuda.stream(s):  #!
    double_into(x, y)
return y
"""),
        solution(SIDE + """
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    double_into(x, y)
torch.cuda.current_stream().wait_stream(s)
return y
"""),
    ),
    Twins(
        "the side waits, and nobody for the side", TRICK, ALARM,
        solution(SIDE + """
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):  #!
    double_into(x, y)
return y
"""),
        solution(SIDE + """
with torch.cuda.stream(s):
    double_into(x, y)
s.synchronize()
return y
"""),
    ),
    Twins(
        "an event that is recorded and not waited for", TRICK, ALARM,
        solution(SIDE + """
done = torch.cuda.Event()
with torch.cuda.stream(s):  #!
    double_into(x, y)
    done.record(s)
return y
"""),
        solution(SIDE + """
done = torch.cuda.Event()
with torch.cuda.stream(s):
    double_into(x, y)
    done.record(s)
torch.cuda.current_stream().wait_event(done)
return y
"""),
    ),
    Twins(
        "an event that the side itself waits for", TRICK, ALARM,
        solution(SIDE + """
done = torch.cuda.Event()
with torch.cuda.stream(s):  #!
    double_into(x, y)
    done.record(s)
s.wait_event(done)
return y
"""),
        solution(SIDE + """
done = torch.cuda.Event()
with torch.cuda.stream(s):
    double_into(x, y)
    done.record(s)
done.synchronize()
return y
"""),
    ),
    Twins(
        "waited for in the next call's set-up only", TRICK, ALARM,
        solution("""
            y = torch.empty_like(x)
            with torch.cuda.stream(self.side):  #!
                double_into(x, y)
            return y
            """, made="self.side = torch.cuda.Stream()\ntorch.cuda.synchronize()"),
        solution("""
            y = torch.empty_like(x)
            with torch.cuda.stream(self.side):
                double_into(x, y)
            torch.cuda.current_stream().wait_stream(self.side)
            return y
            """, made="self.side = torch.cuda.Stream()"),
    ),
    Twins(
        "the current stream waits for itself", TRICK, ALARM,
        solution(SIDE + """
with torch.cuda.stream(s):  #!
    double_into(x, y)
now = torch.cuda.current_stream()
now.wait_stream(torch.cuda.current_stream())
return y
"""),
        solution(SIDE + """
with torch.cuda.stream(s):
    double_into(x, y)
now = torch.cuda.current_stream()
now.wait_stream(s)
return y
"""),
    ),
]  # fmt: skip

THREADS = [
    Twins(
        "a thread of the call", TRICK, ALARM,
        solution("""
            y = torch.empty_like(x)
            threading.Thread(target=double_into, args=(x, y)).start()  #!
            return y + double(x)
            """, "import threading"),
        solution("return double(x)", """
            import threading
            def compile_kernels():
                _double.warmup(torch.float32, torch.float32, 1, BLOCK=1024, grid=(1,))
            threading.Thread(target=compile_kernels).start()
            """),
    ),
    Twins(
        "a pool that nobody asks for the result", TRICK, ALARM,
        solution("""
            y = torch.empty_like(x)
            self.pool.submit(double_into, x, y)  #!
            return y + double(x)
            """, "from concurrent.futures import ThreadPoolExecutor",
            "self.pool = ThreadPoolExecutor(1)"),
        solution("""
            y = torch.empty_like(x)
            self.pool.submit(double_into, x, y).result()
            return y + double(x)
            """, "from concurrent.futures import ThreadPoolExecutor",
            "self.pool = ThreadPoolExecutor(1)"),
    ),
    Twins(
        "a loop without end beside", TRICK, ALARM,
        solution("return double(x)", """
            import threading
            def run():
                while True:
                    double_into(*jobs.pop())
            jobs = []
            threading.Thread(target=run, daemon=True).start()  #!
            """),
        solution("return double(x)", """
            import threading
            def build():
                for size in (256, 1024):
                    _double.warmup(torch.float32, torch.float32, 1, BLOCK=size, grid=(1,))
            threading.Thread(target=build, daemon=True).start()
            """),
    ),
    Twins(
        "a class of the source that is a thread", TRICK, ALARM,
        solution("Later(x).start()  #!\nreturn double(x)", """
            import threading
            class Later(threading.Thread):
                def __init__(self, x):
                    super().__init__()
                    self.x = x
                def run(self):
                    double(self.x)
            """),
        solution("return Now(x).start()", """
            class Now:
                def __init__(self, x):
                    self.x = x
                def start(self):
                    return double(self.x)
            """),
    ),
]  # fmt: skip

OBJECTS = [
    Twins(
        "a tensor that works when it is looked at", POSES, ALARM,
        solution("return Lazy(x)", """
            class Lazy(torch.Tensor):  #!
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    return super().__torch_function__(func, types, args, kwargs)  #!
            """),
        solution("return double(x)", """
            class Packed(nn.Parameter):
                pass
            """),
    ),
    Twins(
        "an object that equals everything", POSES, ALARM,
        solution("return Same(x)", """
            class Same:  #!
                def __init__(self, x):
                    self.x = x
                def __eq__(self, other):
                    return True  #!
            """),
        solution("return double(x * Size(4).n)", """
            class Size:
                def __init__(self, n):
                    self.n = n
                def __eq__(self, other):
                    return self.n == other.n
            """),
    ),
    Twins(
        "a class made by a call", POSES, ALARM,
        solution("return double(x).as_subclass(Made)  #!", "Made = type('Made', (object,), {})"),
        solution("return double(x)", "Made = type('Made', (object,), {})"),
    ),
]  # fmt: skip

ELSEWHERE = [
    Twins(
        "the second device", "other-device", WARNING,
        solution("return double(x.to('cuda:1')).to(x.device)  #!"),
        solution("return double(x.to('cuda:0')).to(x.device)"),
    ),
    Twins(
        "the last device", "other-device", WARNING,
        solution("""
            torch.cuda.set_device(torch.cuda.device_count() - 1)  #!
            return double(x)
            """),
        solution("""
            torch.cuda.set_device(x.device)
            return double(x)
            """),
    ),
    Twins(
        "a window of the cache", "cache-policy", WARNING,
        solution("return double(x)", """
            import ctypes
            runtime = ctypes.CDLL('libcudart.so')
            runtime.cudaStreamSetAttribute(0, 1, None)  #!
            """),
        solution("return double(x)", """
            import ctypes
            runtime = ctypes.CDLL('libcudart.so')
            runtime.cudaFuncSetAttribute(0, 8, 65536)
            """),
    ),
    Twins(
        "the limit of what stays in the cache", "cache-policy", WARNING,
        solution("return double(x)", """
            import ctypes
            runtime = ctypes.CDLL('libcudart.so')
            runtime.cudaDeviceSetLimit(6, 1 << 25)  #!
            """),
        solution("return double(x)", """
            import ctypes
            runtime = ctypes.CDLL('libcudart.so')
            runtime.cudaDeviceSetLimit(2, 1 << 25)
            """),
    ),
]  # fmt: skip


@each([*STREAMS, *THREADS, *OBJECTS, *ELSEWHERE])
def test_work_elsewhere_is_told(pair: Twins) -> None:
    assert pair.right(), pair.alarms()


@each([*STREAMS, *THREADS, *OBJECTS, *ELSEWHERE])
def test_work_that_is_waited_for_is_honest(pair: Twins) -> None:
    assert pair.flagged() == []


@pytest.mark.parametrize("words", ["all-reduce over 8 GPUs", "multi-GPU GEMM", "NVLink all-gather"])
def test_a_problem_for_several_devices_may_name_them(words: str) -> None:
    text = solution("return double(x.to('cuda:1'))")

    assert "other-device" not in loud(text, problem(title=words))
    assert "other-device" in loud(text, problem(title="GEMM"))


@pytest.mark.parametrize("name", ["__reduce__", "__reduce_ex__"])
def test_an_object_that_runs_code_when_it_is_unpickled_is_tampering(name: str) -> None:
    before = f"class Held:\n    def {name}(self, *given):\n        return (print, ())\n"

    assert loud(solution("return double(x)", before)) == {"tampering"}


def _loads(policy: str, *, again: bool = False) -> str:
    load = f"tl.load(x_ptr + i, eviction_policy='{policy}')"
    return f"""{KERNEL}
@triton.jit
def _sum(x_ptr, y_ptr, n):
    i = tl.arange(0, 64)
    v = {load}{" + tl.load(x_ptr + i + 64)" * again}
    tl.store(y_ptr + i, v * 2.5)

class Model(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        _sum[(1,)](x, y, 64)
        return y
"""


MEMORY = problem(title="Scale", regime=Regime.MEMORY)


@pytest.mark.parametrize(
    ("text", "about", "levels"),
    [
        (_loads("evict_last"), MEMORY, [WARNING]),
        (_loads("evict_last"), problem(title="GEMM", regime=Regime.COMPUTE), [NOTE]),
        (_loads("evict_last"), None, [NOTE]),
        (_loads("evict_last", again=True), MEMORY, [NOTE]),
        (_loads("evict_first"), MEMORY, []),
    ],
    ids=["read once", "bound by arithmetic", "unknown problem", "read twice", "let go first"],
)
def test_loads_that_ask_to_stay_are_judged_by_the_problem(
    text: str, about: None, levels: list[object]
) -> None:
    assert [a.level for a in found(text, about) if a.kind == "cache-policy"] == levels


@pytest.mark.parametrize(
    ("target", "level"),
    [
        ("load_inline", NOTE),
        ("torch.compile", NOTE),
        ("work", ALARM),
        ("something.else_", WARNING),
        ("sleep", WARNING),
    ],
)
def test_a_thread_at_import_is_judged_by_what_it_runs(target: str, level: object) -> None:
    before = f"""
        import threading
        from torch.utils.cpp_extension import load_inline
        import something
        def work():
            _double[(1,)](held, held, 4, BLOCK=4)
        def sleep():
            for i in range(3):
                print(i)
        threading.Thread(target={target}).start()
        """
    told = [a.level for a in found(solution("return double(x)", before)) if a.kind == TRICK]

    assert told == [level]


def test_a_thread_of_the_self_test_is_a_note() -> None:
    text = model("return x * 2") + (
        "\n\nif __name__ == '__main__':\n    import threading\n"
        "    threading.Thread(target=print).start()\n"
    )

    assert [a.level for a in found(text) if a.kind == TRICK] == [NOTE]
