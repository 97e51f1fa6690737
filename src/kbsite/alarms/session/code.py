"""What Python code does outside itself: files, processes, network, environment."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from kbsite.alarms.session.places import Way

LONGEST = 200_000
"""Characters of code that are looked into."""

LONGEST_NAMED = 2000
"""Characters of a text that is put in the place of its name."""

_HINTS = (
    "/", "open", "path", "os.", "system", "kill", "environ", "getenv", "glob", "shutil",
    "subprocess", "request", "urllib", "http", "socket", "hub", "snapshot_download", "listdir",
    "walk",
)  # fmt: skip
"""Without one of these code does nothing that is told, however its letters are written."""
_SHELLS: Final = {
    "os.system", "os.popen", "subprocess.run", "subprocess.call", "subprocess.check_call",
    "subprocess.check_output", "subprocess.Popen", "subprocess.getoutput",
    "subprocess.getstatusoutput", "asyncio.create_subprocess_shell",
}  # fmt: skip
_PRINTERS: Final = {"print", "dict", "json.dumps", "pprint", "pprint.pprint", "list", "str"}
_ASKS: Final = {"os.getenv", "os.environ.get"}
_KILLS: Final = {
    "os.kill", "os.killpg", "signal.pidfd_send_signal", "psutil.Process.kill",
    "psutil.Process.terminate",
}  # fmt: skip
_STOPS: Final = {"kill", "terminate", "killpg", "send_signal"}
_FETCHES = re.compile(
    r"(?:requests|httpx)\.(?:get|post|put|head|request|Session|Client)|"
    r"(?:[\w.]+\.)?(?:urlopen|urlretrieve)|aiohttp\.\w+|"
    r"(?:huggingface_hub\.)?(?:hf_hub_download|snapshot_download)|torch\.hub\.load\w*|"
    r"(?:datasets\.)?load_dataset|socket\.create_connection|http\.client\.\w+|wget\.download"
)
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
    tree = _with_texts(tree)
    taken = _docs(tree)
    if (loop := _loop_over_all(tree)) is not None:
        found.kills.append(_written(loop))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not (node in taken and _text(node)):
            taken.update(_call(node, found))
        else:
            found.secrets += _taken_without_call(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in taken:
            found.files += _mentioned(node)
    return found


class _Named(ast.NodeTransformer):
    """Puts texts and paths in the place of names that mean nothing else."""

    def __init__(self, tree: ast.AST) -> None:
        self._texts: dict[str, ast.expr] = {}
        stored = Counter(
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        )
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                    self._keep(name, value)
                case _:
                    pass

    def _keep(self, name: str, value: ast.expr) -> None:
        text = _text(value)
        if 0 < len(text) < LONGEST_NAMED:
            path = ast.Constant(text)
            called = isinstance(value, ast.Call)
            func = ast.Name("Path", ast.Load())
            self._texts[name] = ast.Call(func, [path], []) if called else path

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The text that a name stands for, else the name."""
        if isinstance(node.ctx, ast.Load):
            return self._texts.get(node.id, node)
        return node


def _with_texts(tree: ast.AST) -> ast.AST:
    """The same code with texts in the place of names; as it is where it is nested too deeply."""
    try:
        named: ast.AST = _Named(tree).visit(tree)
    except RecursionError:
        return tree
    return named


def _loop_over_all(tree: ast.AST) -> ast.AST | None:
    """The call that lists all processes, in code that stops some."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [_dotted(call.func).rpartition(".")[2] for call in calls]
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


def _is_key(node: ast.Subscript) -> bool:
    """Whether it takes a key from the environment."""
    taken = isinstance(node.ctx, ast.Load) and bool(_KEY.fullmatch(_text(node.slice)))
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
    name = _dotted(node.func)
    first = node.args[0] if node.args else None
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


def _constants(node: ast.Call) -> Iterator[ast.AST]:
    return (arg for arg in node.args if isinstance(arg, ast.Constant))


def _asked(node: ast.Call, name: str) -> list[str]:
    if name in _ASKS:
        return [_written(node)] if node.args and _KEY.fullmatch(_text(node.args[0])) else []
    return [_written(node)] if any(map(_is_environment, node.args)) else []


def _files(node: ast.Call, name: str) -> Iterator[tuple[str, Way]]:
    """The files that a call opens, copies, lists or removes."""
    texts = [_text(arg) for arg in node.args]
    if name in ("open", "io.open"):
        yield from _opened(node, texts)
    elif name in _COPIERS and len(texts) > 1:
        yield texts[0], Way.READ
        yield texts[1], Way.WRITTEN
    elif joined := _text(node):
        yield joined, Way.READ
    elif way_of_all := _WAYS.get(name):
        yield from ((text, way_of_all) for text in texts if text)
    else:
        yield from _written_by_path(node)


def _opened(node: ast.Call, texts: list[str]) -> Iterator[tuple[str, Way]]:
    mode = "".join(texts[1:2]) or _keyword(node, "mode")
    way = Way.WRITTEN if set(mode) & set("wax+") else Way.READ
    yield from ((text, way) for text in texts[:1] if text)


def _written_by_path(node: ast.Call) -> Iterator[tuple[str, Way]]:
    """The file of `Path("a").write_text(...)` and its like."""
    match node.func:
        case ast.Attribute(attr=name, value=ast.Call(args=[path, *_])) if name in _WRITERS:
            if text := _text(path):
                yield text, Way.WRITTEN
        case _:
            return


def _dotted(node: ast.AST) -> str:
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call) and names:
        return ".".join(reversed([*names, _dotted(node.func)]))
    return ".".join(reversed([*names, node.id])) if isinstance(node, ast.Name) else ""


def _text(node: ast.AST | None) -> str:
    """The text of a constant, of one put together, or of os.path.join and Path of such."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "{}" for value in values)
        case ast.BinOp(left=left, op=ast.Add() | ast.Div() as op, right=right):
            sign = "/" if isinstance(op, ast.Div) else ""
            texts = (_text(left), _text(right))
            return sign.join(texts) if all(texts) else ""
        case ast.Call(func=func, args=[*args]) if _dotted(func).endswith(
            ("path.join", "Path", "expanduser", "str")
        ):
            return "/".join(filter(None, map(_text, args)))
        case _:
            return ""


def _command(node: ast.AST | None) -> str:
    if isinstance(node, ast.List | ast.Tuple):
        return " ".join(_quoted(_text(item) or "$_") for item in node.elts)
    return _text(node)


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./=:@%+,$~-]+", word) else "'" + word.replace("'", "") + "'"


def _keyword(node: ast.Call, name: str) -> str:
    return next((_text(one.value) for one in node.keywords if one.arg == name), "")


def _is_environment(node: ast.AST) -> bool:
    """Whether it is all of the environment, as it is or in another form."""
    match node:
        case ast.Call(func=func, args=args):
            name = _dotted(func)
            return bool(_ENVIRONMENT.fullmatch(name)) or (
                name in ("dict", "list", "sorted") and any(map(_is_environment, args))
            )
        case _:
            return bool(_ENVIRONMENT.fullmatch(_dotted(node)))


def _probes(node: ast.Call) -> bool:
    """Whether a call of os.kill only asks whether a process is there."""
    return len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and not node.args[1].value


def _is_own(node: ast.Call) -> bool:
    """Whether it stops its own process, or one that it holds as an object."""
    return any(
        (isinstance(one, ast.Attribute) and one.attr == "pid")
        or (isinstance(one, ast.Call) and _dotted(one.func) == "os.getpid")
        for arg in node.args[:1]
        for one in ast.walk(arg)
    )


def _written(node: ast.AST) -> str:
    return ast.unparse(node)[:300]
