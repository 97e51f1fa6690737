"""What Python code does outside itself: files, processes, network, environment."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from kbsite.alarms.session.named import dotted, text_of, with_texts
from kbsite.alarms.session.places import Way

LONGEST = 200_000
"""Characters of code that are looked into."""

_HINTS = (
    "/", "open", "path", "os.", "system", "kill", "environ", "getenv", "glob", "shutil",
    "subprocess", "request", "urllib", "http", "socket", "hub", "snapshot_download", "listdir",
    "walk", "decode", "decompress", "nvml", "import",
)  # fmt: skip
"""Without one of these code does nothing that is told, however its letters are written."""
_SHELLS: Final = {
    "os.system", "os.popen", "subprocess.run", "subprocess.call", "subprocess.check_call",
    "subprocess.check_output", "subprocess.Popen", "subprocess.getoutput",
    "subprocess.getstatusoutput", "asyncio.create_subprocess_shell",
}  # fmt: skip
_RUNS_CODE: Final = {"exec", "eval", *_SHELLS}
_PRINTERS: Final = {"print", "dict", "json.dumps", "pprint", "pprint.pprint", "list", "str"}
_ASKS: Final = {"os.getenv", "os.environ.get"}
_KILLS: Final = {
    "os.kill", "os.killpg", "signal.pidfd_send_signal", "psutil.Process.kill",
    "psutil.Process.terminate",
}  # fmt: skip
_STOPS: Final = {"kill", "terminate", "killpg", "send_signal"}
_FETCHES = re.compile(
    r"(?:requests|httpx)\.(?:get|post|put|head|request|stream|Session|Client)|"
    r"urllib3\.(?:PoolManager|request)|kernels\.get_kernel|(?:openai\.)?(?:Async)?OpenAI|"
    r"(?:anthropic\.)?(?:Async)?Anthropic|(?:google\.)?genai\.Client|litellm\.completion|"
    r"(?:[\w.]+\.)?(?:urlopen|urlretrieve)|aiohttp\.\w+|"
    r"(?:huggingface_hub\.)?(?:hf_hub_download|snapshot_download)|torch\.hub\.load\w*|"
    r"(?:datasets\.)?load_dataset|socket\.create_connection|http\.client\.\w+|wget\.download"
)
_UNPACKS: Final = {
    "b64decode", "b32decode", "b85decode", "decompress", "unhexlify", "fromhex", "loads", "decode",
}  # fmt: skip
_PACKERS: Final = re.compile(r"(?:base64|binascii|zlib|gzip|bz2|lzma|codecs|marshal|bytes)\.\w+")
_SETTINGS: Final = re.compile(r"(?:[\w.]+\.)?nvmlDevice(?:Set|Reset)\w+")
_WRITERS: Final = {"write_text", "write_bytes", "unlink", "touch", "rename", "replace"}
_LISTERS: Final = {"os.listdir", "os.walk", "glob.glob", "glob.iglob", "os.scandir"}
_REMOVERS: Final = {"os.remove", "os.unlink", "shutil.rmtree", "os.rename", "os.replace"}
_WAYS: Final = {
    **dict.fromkeys(_LISTERS, Way.LISTED), **dict.fromkeys(_REMOVERS, Way.REMOVED),
}  # fmt: skip
_COPIERS: Final = {"shutil.copy", "shutil.copyfile", "shutil.copy2", "shutil.move", "os.symlink"}
_PATHLIKE = re.compile(
    r"(?:~|\.{0,2})/[\w.~*{}/+@-]+|[\w.{}*-]+(?:/[\w.{}*-]+)+|[\w-]+\.[a-z]{2,6}"
)
_ENVIRONMENT: Final = re.compile(r"(?:os\.)?environ(?:\.(?:items|keys|values|copy))?")
_KEY: Final = re.compile(r"\w*(?:API_?KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL)\w*", re.IGNORECASE)


class Deeds(Struct):
    """What a piece of code does, or has in it."""

    files: list[tuple[str, Way]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Shell commands that it runs; a list of words as one line."""
    kills: list[str] = field(default_factory=list)
    """Calls that stop a process, as they are written."""
    fetches: list[str] = field(default_factory=list)
    """Calls that use the network, as they are written."""
    packed: list[str] = field(default_factory=list)
    """Calls that run what another one in them unpacks, as they are written."""
    settings: list[str] = field(default_factory=list)
    """Calls that change how a device is set."""
    runs: list[str] = field(default_factory=list)
    """Files with code that it runs or imports."""
    secrets: list[str] = field(default_factory=list)
    """Where it prints the environment, or takes a key from it."""


def deeds(code: str) -> Deeds:
    """What a piece of Python does, by its words; nothing where it is no Python."""
    if len(code) > LONGEST:
        return Deeds()
    words = code.casefold()
    if not any(hint in words for hint in _HINTS):
        return Deeds()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _of_tree(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Deeds()


def _of_tree(tree: ast.AST) -> Deeds:
    found = Deeds()
    tree = with_texts(tree)
    taken = _docs(tree)
    if (loop := _loop_over_all(tree)) is not None:
        found.kills.append(_written(loop))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not (node in taken and text_of(node)):
            taken.update(_call(node, found))
        else:
            found.secrets += _taken_without_call(node)
            found.runs += _imported_by(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in taken:
            found.files += _mentioned(node)
    return found


def _loop_over_all(tree: ast.AST) -> ast.AST | None:
    """The call that lists all processes, in code that stops some."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [dotted(call.func).rpartition(".")[2] for call in calls]
    if not _STOPS.intersection(names):
        return None
    return next((c for c, name in zip(calls, names, strict=True) if name == "process_iter"), None)


def _taken_without_call(node: ast.AST) -> Iterator[str]:
    """Where all of the environment, or a key of it, is taken by a loop or by its name."""
    match node:
        case ast.Subscript() if _is_key(node):
            yield _written(node)
        case ast.For(iter=source) | ast.comprehension(iter=source) if _is_environment(source):
            yield "a loop over os.environ"
        case _:
            return


def _imported_by(node: ast.AST) -> list[str]:
    """The files beside the code that an import of modules may mean."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [one.name for one in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module]
    return [f"{name.replace('.', '/')}.py" for name in names]


def _is_key(node: ast.Subscript) -> bool:
    """Whether it takes a key from the environment."""
    taken = isinstance(node.ctx, ast.Load) and bool(_KEY.fullmatch(text_of(node.slice)))
    return taken and _is_environment(node.value)


def _docs(tree: ast.AST) -> set[ast.AST]:
    """Texts that stand alone, and so do nothing."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _mentioned(node: ast.Constant) -> Iterator[tuple[str, Way]]:
    text = node.value
    if isinstance(text, str) and len(text) < 500 and _PATHLIKE.fullmatch(text):
        yield text, Way.READ


def _call(node: ast.Call, found: Deeds) -> Iterator[ast.AST]:
    """Take in a call; the nodes of it that need no second look."""
    name = dotted(node.func)
    first = node.args[0] if node.args else None
    _run_or_set(node, name, first, found)
    if name in _SHELLS:
        found.scripts += filter(None, [_command(first)])
        yield from ast.walk(first) if first is not None else ()
    elif name in _KILLS and not (_probes(node) or _is_own(node)):
        found.kills.append(_written(node))
    elif _FETCHES.fullmatch(name):
        found.fetches.append(_written(node))
        yield from _constants(node)
    elif name in _PRINTERS or name in _ASKS:
        found.secrets += _asked(node, name)
    else:
        files = list(_files(node, name))
        found.files += files
        yield from ast.walk(node) if files else ()


def _run_or_set(node: ast.Call, name: str, first: ast.AST | None, found: Deeds) -> None:
    """Take in a call that runs other code, or sets a device."""
    if name in _RUNS_CODE and _is_unpacked(first):
        found.packed.append(_written(node))
    if name in ("exec", "runpy.run_path") and (path := _opened_in(first)):
        found.runs.append(path)
    if _SETTINGS.fullmatch(name):
        found.settings.append(_written(node))


def _is_unpacked(node: ast.AST | None) -> bool:
    calls = (one for one in ast.walk(node) if isinstance(one, ast.Call)) if node else ()
    names = (dotted(call.func) for call in calls)
    return any(_PACKERS.fullmatch(name) and name.rpartition(".")[2] in _UNPACKS for name in names)


def _opened_in(node: ast.AST | None) -> str:
    """The file whose text is given to exec, or that is named itself; empty where none is told."""
    for one in ast.walk(node) if node else ():
        if isinstance(one, ast.Constant) and _PATHLIKE.fullmatch(text_of(one)):
            return text_of(one)
    return ""


def _constants(node: ast.Call) -> Iterator[ast.AST]:
    return (arg for arg in node.args if isinstance(arg, ast.Constant))


def _asked(node: ast.Call, name: str) -> list[str]:
    if name in _ASKS:
        return [_written(node)] if node.args and _KEY.fullmatch(text_of(node.args[0])) else []
    return [_written(node)] if any(map(_is_environment, node.args)) else []


def _files(node: ast.Call, name: str) -> Iterator[tuple[str, Way]]:
    """The files that a call opens, copies, lists or removes."""
    texts = [text_of(arg) for arg in node.args]
    if opened := _open_words(node, name, texts):
        yield from _opened(opened, node)
    elif name in _COPIERS and len(texts) > 1:
        yield texts[0], Way.READ
        yield texts[1], Way.WRITTEN
    elif joined := text_of(node):
        yield joined, Way.READ
    elif way_of_all := _WAYS.get(name):
        below = "/**" if name == "os.walk" and texts[:1] == ["/"] else ""
        yield from ((below or text, way_of_all) for text in texts if text)
    else:
        yield from _written_by_path(node)


def _open_words(node: ast.Call, name: str, texts: list[str]) -> list[str]:
    """The file that a call opens, and how as far as that is no keyword; empty if it opens none."""
    if name in ("open", "io.open"):
        return texts or [_keyword(node, "file")]
    if name == "fileinput.input":
        changes = any(one.arg == "inplace" for one in node.keywords)
        return [*texts[:1], "w" if changes else "r"]
    path = _of_path(node) if name.endswith(".open") else ""
    return [path, *texts[:1]] if path else []


def _of_path(node: ast.Call) -> str:
    """The path of `Path("a").open()` and its like; empty where it is none."""
    return text_of(node.func.value) if isinstance(node.func, ast.Attribute) else ""


def _opened(texts: list[str], node: ast.Call) -> Iterator[tuple[str, Way]]:
    mode = "".join(texts[1:2]) or _keyword(node, "mode")
    way = Way.WRITTEN if set(mode) & set("wax+") else Way.READ
    yield from ((text, way) for text in texts[:1] if text)


def _written_by_path(node: ast.Call) -> Iterator[tuple[str, Way]]:
    """The file of `Path("a").write_text(...)` and its like."""
    match node.func:
        case ast.Attribute(attr=name, value=ast.Call(args=[path, *_])) if name in _WRITERS:
            targets = node.args[:1] if name in ("rename", "replace") else []
            yield from ((text, Way.WRITTEN) for text in map(text_of, [path, *targets]) if text)
        case ast.Attribute(attr="rglob" | "glob", value=ast.Call() as root):
            if (text := text_of(root)) and (pattern := "".join(map(text_of, node.args[:1]))):
                yield f"{text}/{pattern}", Way.LISTED
        case _:
            return


def _command(node: ast.AST | None) -> str:
    if isinstance(node, ast.List | ast.Tuple):
        return " ".join(_quoted(text_of(item) or _program(item)) for item in node.elts)
    return text_of(node)


def _program(node: ast.AST) -> str:
    return "python" if dotted(node) == "sys.executable" else "$_"


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./=:@%+,$~-]+", word) else "'" + word.replace("'", "") + "'"


def _keyword(node: ast.Call, name: str) -> str:
    return next((text_of(one.value) for one in node.keywords if one.arg == name), "")


def _is_environment(node: ast.AST) -> bool:
    """Whether it is all of the environment, as it is or in another form."""
    match node:
        case ast.Call(func=func, args=args):
            name = dotted(func)
            return bool(_ENVIRONMENT.fullmatch(name)) or (
                name in ("dict", "list", "sorted") and any(map(_is_environment, args))
            )
        case _:
            return bool(_ENVIRONMENT.fullmatch(dotted(node)))


def _probes(node: ast.Call) -> bool:
    """Whether a call of os.kill only asks whether a process is there."""
    return len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and not node.args[1].value


def _is_own(node: ast.Call) -> bool:
    """Whether it stops its own process, or one that it holds as an object."""
    return any(
        (isinstance(one, ast.Attribute) and one.attr == "pid")
        or (isinstance(one, ast.Call) and dotted(one.func) == "os.getpid")
        for arg in node.args[:1]
        for one in ast.walk(arg)
    )


def _written(node: ast.AST) -> str:
    return ast.unparse(node)[:300]
