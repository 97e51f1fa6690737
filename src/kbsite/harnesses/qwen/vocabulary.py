"""What Qwen Code's words mean: tools, and types of rows."""

from __future__ import annotations

from kbsite.model.event import ToolKind, Topic

KINDS = {
    "agent": ToolKind.AGENT,
    "edit": ToolKind.EDIT,
    "exit_plan_mode": ToolKind.PLAN,
    "glob": ToolKind.SEARCH,
    "grep_search": ToolKind.SEARCH,
    "list_directory": ToolKind.READ,
    "lsp": ToolKind.SEARCH,
    "monitor": ToolKind.RUN,
    "notebook_edit": ToolKind.EDIT,
    "read_file": ToolKind.READ,
    "read_many_files": ToolKind.READ,
    "read_mcp_resource": ToolKind.READ,
    "replace": ToolKind.EDIT,
    "run_shell_command": ToolKind.RUN,
    "search_file_content": ToolKind.SEARCH,
    "skill": ToolKind.READ,
    "task": ToolKind.AGENT,
    "todo_write": ToolKind.PLAN,
    "update_goal": ToolKind.PLAN,
    "web_fetch": ToolKind.WEB,
    "web_search": ToolKind.WEB,
    "write_file": ToolKind.WRITE,
    "zoom_image": ToolKind.READ,
}
"""What the CLI's tools do, over all versions; every other tool is `ToolKind.OTHER`."""

SHELL = "run_shell_command"

SYSTEM_TRACES = frozenset({
    "agent_bootstrap", "agent_launch_prompt", "agent_session_ready", "attribution_snapshot",
    "background_task_completed", "branch_checkpoint", "file_history_snapshot", "goal_runtime",
    "goal_state", "goal_turn_end", "managed_session_commit_v1", "managed_session_event_v1",
    "managed_session_header_v1", "parent_session", "session_approval_mode",
    "session_artifact_event", "session_artifact_snapshot", "session_execution_engine",
    "session_model", "session_source", "session_sources_snapshot", "turn_result",
    "user_text_elements",
})  # fmt: skip
"""System rows of the log with nothing to read in them, or that repeat what other rows hold."""

SYSTEM_NOTICES: dict[str, tuple[Topic, tuple[str, ...]]] = {
    "agent_retry": (Topic.RETRY, ("attempt",)),
    "at_command": (Topic.NOTE, ("userText", "filesRead", "message")),
    "chat_compression": (Topic.COMPACTION, ("info",)),
    "cron": (Topic.NOTE, ()),
    "custom_title": (Topic.NOTE, ("customTitle",)),
    "mid_turn_user_message": (Topic.NOTE, ("displayText",)),
    "notification": (Topic.NOTE, ("displayText",)),
    "omni_recall": (Topic.NOTE, ()),
    "realtime_message": (Topic.NOTE, ()),
    "session_notes": (Topic.NOTE, ()),
    "slash_command": (Topic.NOTE, ("rawCommand", "outputHistoryItems")),
}
"""System rows that tell something: what it is about, and the keys of it; all of it where none."""

TELEMETRY = "qwen-code."
"""How the names of all events of a ui_telemetry row start."""

PASSING = frozenset({
    "control_cancel_request", "control_request", "control_response", "stream_event",
})  # fmt: skip
"""Rows of the stream that pass by: pieces of messages that come whole later, and signals."""
