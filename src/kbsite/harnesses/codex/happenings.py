"""Events of a rollout: what Codex tells of a turn, beside what went to and came from the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from kbsite.harnesses.codex import reviews
from kbsite.harnesses.codex.content import blocks, image, images, texts
from kbsite.harnesses.codex.records import from_event, from_item, ratio
from kbsite.harnesses.codex.responses import search_key
from kbsite.harnesses.codex.thread import Row, Thread, first_line, reason
from kbsite.harnesses.codex.tokens import usage
from kbsite.harnesses.lines import count, mapping, number, sequence, text
from kbsite.model.event import (
    Event,
    Finish,
    Image,
    Message,
    Role,
    Scope,
    Thought,
    TokenUse,
    Topic,
)
from kbsite.model.usage import Usage

_STARTED = frozenset({"started", "spawned"})


def events(thread: Thread, kind: str, row: Row) -> list[Event]:
    """The events of one event_msg row."""
    if record := from_event(kind, row.value):
        if record.tool == "web_search":
            thread.echoes.original("search", [search_key(row.value.get("action"))])
        return thread.recorded(record, row)
    if kind in _NOTICES:
        return [row.notice(_NOTICES[kind], _told(kind, row.value))]
    if kind in _TRACES:
        return [row.trace]
    handle = _HANDLERS.get(kind)
    return handle(thread, row) if handle else [row.unknown]


def _told(kind: str, value: Mapping[str, object]) -> str:
    told = text(value.get("message")) or text(value.get("reason")) or text(value.get("summary"))
    details = text(value.get("additional_details")) or text(value.get("details"))
    return "\n".join(filter(None, [told, details])) or kind.replace("_", " ")


def _said(thread: Thread, row: Row, family: str, shown: Message | Thought) -> list[Event]:
    """A copy of a response item: shown only where that one is missing."""
    voice = "thought" if isinstance(shown, Thought) else shown.role.value
    if thread.echoes.repeated(family, voice, shown.text, thread.cell, row.trace):
        return [row.trace]
    return [shown]


def _user_message(thread: Thread, row: Row) -> list[Event]:
    body = text(row.value.get("message"))
    pictures = [image(one) for one in sequence(row.value.get("images"))]
    local = [Image("", "", text(path)) for path in sequence(row.value.get("local_images"))]
    injected = any(block.injected for block in blocks(body))
    shown = Message(
        role=Role.USER, text=body, images=(*pictures, *local), injected=injected, **row.place
    )
    return _said(thread, row, "event", shown)


def _agent_message(thread: Thread, row: Row) -> list[Event]:
    shown = Message(role=Role.ASSISTANT, text=text(row.value.get("message")), **row.place)
    return _said(thread, row, "event", shown)


def _agent_reasoning(thread: Thread, row: Row) -> list[Event]:
    return _said(thread, row, "event", Thought(text=text(row.value.get("text")), **row.place))


def _token_count(thread: Thread, row: Row) -> list[Event]:
    told = mapping(row.value.get("info"))
    counts = mapping(told.get("total_token_usage"))
    whole = total(thread, row, counts)
    # Codex writes the last response's count again and again, the total beside it as it was.
    fresh = bool(whole) and thread.count_changed(counts)
    own = message(thread, row, mapping(told.get("last_token_usage"))) if fresh else []
    return [*own, *whole] or [row.trace]


def message(
    thread: Thread, row: Row, counts: Mapping[str, object], message_id: str = ""
) -> list[Event]:
    """The count of one response of the model, if it tells anything."""
    used = usage(counts)
    if not used.known:
        return []
    use = TokenUse(
        usage=used, scope=Scope.MESSAGE, message_id=message_id, model=thread.model, **row.place
    )
    return [use]


def total(thread: Thread, row: Row, counts: Mapping[str, object]) -> list[Event]:
    """The cumulative count of the thread, if it tells anything."""
    used = thread.segment.own(usage(counts))
    if used is None or not used.known:
        return []
    use = TokenUse(
        usage=used,
        scope=Scope.AGENT,
        message_id=f"{thread.session_id}{thread.segment.name}",
        model=thread.model,
        continues=thread.forked_from,
        **row.place,
    )
    return [use]


def _began(thread: Thread, row: Row) -> list[Event]:
    thread.error = {}
    return [row.trace]


def _error(thread: Thread, row: Row) -> list[Event]:
    thread.error = row.value
    return [row.notice(Topic.ERROR, _told("error", row.value))]


def _complete(thread: Thread, row: Row) -> list[Event]:
    said = text(row.value.get("last_agent_message"))
    # Codex 0.119 has an error in a row of its own, and then says that the turn is complete.
    error = mapping(row.value.get("error")) or ({} if said else thread.error)
    failed, thread.error = bool(error or row.value.get("error")), {}
    body = text(error.get("message")) if failed else said
    word = reason(error.get("codex_error_info")) or "error" if failed else "task_complete"
    return [_finish(row, word, body, ok=not failed)]


def _aborted(_thread: Thread, row: Row) -> list[Event]:
    return [_finish(row, text(row.value.get("reason")) or "turn_aborted", "", ok=False)]


def _finish(row: Row, word: str, body: str, *, ok: bool) -> Finish:
    seconds = ratio(number(row.value.get("duration_ms")), 1000)
    return Finish(ok=ok, reason=word, text=body, seconds=seconds, raw=row.raw, **row.place)


def _compacted(thread: Thread, row: Row) -> list[Event]:
    """A compaction that a row of its own may have told before."""
    if thread.compactions:
        thread.compactions -= 1
        return [row.trace]
    return [row.notice(Topic.COMPACTION, "The context was compacted.")]


def _taken_back(_thread: Thread, row: Row) -> list[Event]:
    turns = count(row.value.get("num_turns"))
    what = "the last turn" if turns == 1 else f"the last {turns} turns" if turns else "turns"
    told = f"The session was taken back by {what}: the model sees nothing of that any more."
    return [row.notice(Topic.INTERRUPTION, f"{told} Files stay as they are.")]


def _undone(_thread: Thread, row: Row) -> list[Event]:
    """Files that a person had put back, each turn having begun with a snapshot of them."""
    told = row.notice(Topic.INTERRUPTION, _told("undo_completed", row.value))
    return [replace(told, restores=row.value.get("success") is not False)]


def _goal(thread: Thread, row: Row) -> list[Event]:
    goal = mapping(row.value.get("goal"))
    aim = text(goal.get("objective"))
    if aim in ("", thread.goal):
        return [row.trace]
    thread.goal = aim
    return [row.notice(Topic.NOTE, f"Goal: {aim}")]


def _review_begins(thread: Thread, row: Row) -> list[Event]:
    thread.reviews.under_way = True
    return [row.notice(Topic.NOTE, reviews.begins(row.value))]


def _review_ends(thread: Thread, row: Row) -> list[Event]:
    thread.reviews.under_way = False
    return [row.notice(Topic.NOTE, reviews.ends(row.value))]


def _item(thread: Thread, row: Row) -> list[Event]:
    item = mapping(row.value.get("item"))
    kind = text(item.get("type"))
    inner = replace(row, type=f"{row.type}/{kind}", value=item)
    owner = text(row.value.get("thread_id"))
    if thread.reviews.under_way and owner not in ("", thread.session_id):
        if owner in thread.reviews.elsewhere:
            return [row.trace]
        inner = replace(inner, place={**row.place, "agent": owner})
        starts = thread.spawned("", (owner,), "review", row)
        unseen = [_uncounted(inner)] if starts else []
        return [*starts, *unseen, *_of_item(thread, row, item, inner)]
    return _of_item(thread, row, item, inner)


def _uncounted(row: Row) -> TokenUse:
    """What a thread used whose own file is not there."""
    return TokenUse(usage=Usage(), scope=Scope.MESSAGE, lower_bound=True, **row.place)


def _of_item(thread: Thread, row: Row, item: Mapping[str, object], inner: Row) -> list[Event]:
    kind = text(item.get("type"))
    if record := from_item(kind, item):
        if record.tool == "web_search":
            thread.echoes.original("search", [search_key(item.get("action"))])
        clock = number(row.value.get("started_at_ms"))
        record = record.timed_from(thread.begun(record.call_id), ratio(clock, 1000))
        return thread.recorded(record, inner)
    handle = _ITEMS.get(kind)
    return handle(thread, inner) if handle else [inner.unknown]


def _user_item(thread: Thread, row: Row) -> list[Event]:
    held = blocks(row.value.get("content"))
    shown = Message(
        role=Role.USER,
        text="".join(block.text for block in held if block.known),
        images=images(held),
        **row.place,
    )
    return [*_said(thread, row, "item", shown), *row.strange(held)]


def _agent_item(thread: Thread, row: Row) -> list[Event]:
    held = blocks(row.value.get("content"))
    body = "".join(block.text for block in held if block.known)
    shown = Message(role=Role.ASSISTANT, text=body, **row.place)
    return [*_said(thread, row, "item", shown), *row.strange(held)]


def _plan_item(thread: Thread, row: Row) -> list[Event]:
    shown = Message(role=Role.ASSISTANT, text=text(row.value.get("text")), **row.place)
    return _said(thread, row, "item", shown)


def _reasoning_item(thread: Thread, row: Row) -> list[Event]:
    parts = [*texts(row.value.get("summary_text")), *texts(row.value.get("raw_content"))]
    return _said(thread, row, "item", Thought(text="\n\n".join(parts), **row.place))


def _hook_item(_thread: Thread, row: Row) -> list[Event]:
    fragments = [mapping(one) for one in sequence(row.value.get("fragments"))]
    body = "\n".join(text(one.get("text")) for one in fragments)
    return [Message(role=Role.USER, text=body, injected=True, **row.place)]


def _sub_agent(thread: Thread, row: Row) -> list[Event]:
    if text(row.value.get("kind")).lower() not in _STARTED:
        return [row.trace]
    call_id = text(row.value.get("id")) or text(row.value.get("event_id"))
    child = text(row.value.get("agent_thread_id"))
    title = first_line(row.value.get("agent_path"))
    return [row.trace, *thread.spawned(call_id, (child,), title, row)]


_HANDLERS: dict[str, Callable[[Thread, Row], list[Event]]] = {
    "user_message": _user_message,
    "agent_message": _agent_message,
    "agent_reasoning": _agent_reasoning,
    "agent_reasoning_raw_content": _agent_reasoning,
    "token_count": _token_count,
    "task_started": _began,
    "turn_started": _began,
    "error": _error,
    "task_complete": _complete,
    "turn_complete": _complete,
    "turn_aborted": _aborted,
    "context_compacted": _compacted,
    "item_completed": _item,
    "sub_agent_activity": _sub_agent,
    "thread_rolled_back": _taken_back,
    "thread_goal_updated": _goal,
    "undo_completed": _undone,
    "entered_review_mode": _review_begins,
    "exited_review_mode": _review_ends,
}
_ITEMS: dict[str, Callable[[Thread, Row], list[Event]]] = {
    "UserMessage": _user_item,
    "AgentMessage": _agent_item,
    "Plan": _plan_item,
    "Reasoning": _reasoning_item,
    "HookPrompt": _hook_item,
    "SubAgentActivity": _sub_agent,
    "ContextCompaction": _compacted,
    "EnteredReviewMode": _review_begins,
    "ExitedReviewMode": _review_ends,
}
_NOTICES = {
    "stream_error": Topic.RETRY,
    "warning": Topic.NOTE,
    "guardian_warning": Topic.NOTE,
    "background_event": Topic.NOTE,
    "deprecation_notice": Topic.NOTE,
    "model_reroute": Topic.NOTE,
}
_TRACES = frozenset({
    "thread_settings_applied", "thread_name_updated",
    "session_configured", "item_started", "turn_diff", "plan_update",
    "agent_reasoning_section_break", "exec_command_begin", "exec_command_output_delta",
    "terminal_interaction", "patch_apply_begin", "patch_apply_updated", "mcp_tool_call_begin",
    "mcp_startup_update", "mcp_startup_complete", "web_search_begin", "image_generation_begin",
    "dynamic_tool_call_request", "collab_agent_spawn_begin", "collab_agent_interaction_begin",
    "collab_agent_interaction_end", "collab_waiting_begin", "collab_waiting_end",
    "collab_close_begin", "collab_close_end", "collab_resume_begin", "collab_resume_end",
    "undo_started", "shutdown_complete",
})  # fmt: skip
