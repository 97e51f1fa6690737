"""The words of Claude Code's transcripts: tools, row types, subtypes, attachments.

The tables are closed on purpose. What is in none of them becomes `Unknown`, so that a new version
of the CLI shows up on the page and not nowhere.
"""

from __future__ import annotations

from kbsite.model.event import ToolKind, Topic

SYNTHETIC = "<synthetic>"
"""The model's name on messages that the CLI made itself."""

KINDS: dict[str, ToolKind] = {
    "Bash": ToolKind.RUN,
    "BashOutput": ToolKind.RUN,
    "KillBash": ToolKind.RUN,
    "KillShell": ToolKind.RUN,
    "Monitor": ToolKind.RUN,
    "PowerShell": ToolKind.RUN,
    "TaskOutput": ToolKind.RUN,
    "TaskStop": ToolKind.RUN,
    "bash_code_execution": ToolKind.RUN,
    "code_execution": ToolKind.RUN,
    "Read": ToolKind.READ,
    "NotebookRead": ToolKind.READ,
    "ReadMcpResourceTool": ToolKind.READ,
    "Write": ToolKind.WRITE,
    "Edit": ToolKind.EDIT,
    "MultiEdit": ToolKind.EDIT,
    "NotebookEdit": ToolKind.EDIT,
    "Glob": ToolKind.SEARCH,
    "Grep": ToolKind.SEARCH,
    "LS": ToolKind.SEARCH,
    "LSP": ToolKind.SEARCH,
    "WebFetch": ToolKind.WEB,
    "WebSearch": ToolKind.WEB,
    "web_fetch": ToolKind.WEB,
    "web_search": ToolKind.WEB,
    "Agent": ToolKind.AGENT,
    "Task": ToolKind.AGENT,
    "Workflow": ToolKind.AGENT,
    "EnterPlanMode": ToolKind.PLAN,
    "ExitPlanMode": ToolKind.PLAN,
    "exit_plan_mode": ToolKind.PLAN,
    "TaskCreate": ToolKind.PLAN,
    "TaskGet": ToolKind.PLAN,
    "TaskList": ToolKind.PLAN,
    "TaskUpdate": ToolKind.PLAN,
    "TodoRead": ToolKind.PLAN,
    "TodoWrite": ToolKind.PLAN,
}
"""What the CLI's tools do, over all versions; every other tool is `ToolKind.OTHER`."""

CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})

RESULT_BLOCKS = frozenset({
    "tool_result", "mcp_tool_result", "web_search_tool_result", "web_fetch_tool_result",
    "code_execution_tool_result", "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result", "tool_search_tool_result", "advisor_tool_result",
})  # fmt: skip

BOOKKEEPING = frozenset({
    "agent-color", "agent-name", "agent-setting", "api-request", "api-request-blob",
    "api-request-resumed", "api-request-shape", "artifact-autoreact-ledger",
    "artifact-comment-monitor", "atis-latch", "attribution-snapshot", "bridge-session",
    "content-replacement", "data-flow-incomplete", "data-flow-records",
    "derived-from", "dev-mods", "file-history-delta", "file-history-snapshot",
    "history-suppression", "hybrid-organization", "isolation-latch", "last-prompt", "memory-mode",
    "mode", "observer-ref", "permission-mode", "queue-operation", "relocated", "repl-mode",
    "resume-head-vouch", "session-owner", "speculation-accept", "tag", "task-summary",
    "tools-used", "worktree-state",
})  # fmt: skip
"""Rows of a session log that hold nothing to read, or repeat what other rows hold."""

LINKS: dict[str, tuple[str, str]] = {
    "frame-link": ("title", "frameUrl"),
    "pr-link": ("prRepository", "prUrl"),
}
"""Rows of a session log that point to something published: the keys of its name and its address."""

TITLES: dict[str, tuple[str, str]] = {
    "ai-title": ("Title", "aiTitle"),
    "custom-title": ("Title", "customTitle"),
    "summary": ("Summary", "summary"),
}
"""Rows of a session log that say what it is about: the word for that, and the key of it."""

ROW_NOTICES: dict[str, tuple[Topic, str, str]] = {
    "continued-in": (Topic.NOTE, "The session goes on in session {}.", "continuedInSessionId"),
    "ended-by-model": (Topic.INTERRUPTION, "The model ended the conversation.", ""),
    "fork-context-ref": (
        Topic.NOTE, "It starts with what the agent that started it had seen.", "",
    ),
}  # fmt: skip
"""Rows of a session log that tell something: what it is about, the words, the key within them."""

PROGRESS = frozenset({
    "agent_progress", "bash_progress", "hook_progress", "mcp_progress", "powershell_progress",
    "query_update", "search_results_received", "skill_progress", "waiting_for_task",
})  # fmt: skip

PASSING = frozenset({
    "auth_status", "control_cancel_request", "control_request", "control_response", "keep_alive",
    "prompt_suggestion", "stream_event", "streamlined_text", "streamlined_tool_use_summary",
    "tool_progress", "tool_use_summary",
})  # fmt: skip
"""Rows of the stream that pass by: pieces of messages that come whole later, and signals."""

SYSTEM_TRACES = frozenset({
    "background_tasks_changed", "commands_changed", "control_request_progress",
    "elicitation_complete", "files_persisted", "hook_progress", "hook_started", "plugin_install",
    "session_state_changed", "session_title_changed", "status", "stop_hook_summary",
    "task_progress", "task_started", "task_updated", "thinking_tokens", "turn_duration",
    "worker_shutting_down",
})  # fmt: skip

SYSTEM_NOTICES: dict[str, tuple[Topic, str]] = {
    "away_summary": (Topic.NOTE, "content"),
    "bridge_status": (Topic.NOTE, "content"),
    "compact_boundary": (Topic.COMPACTION, "content"),
    "conversation_reset": (Topic.NOTE, "content"),
    "informational": (Topic.NOTE, "content"),
    "local_command": (Topic.NOTE, "content"),
    "local_command_output": (Topic.NOTE, "content"),
    "memory_recall": (Topic.NOTE, "content"),
    "microcompact_boundary": (Topic.COMPACTION, "content"),
    "mirror_error": (Topic.ERROR, "error"),
    "model_consent_fallback": (Topic.NOTE, "content"),
    "model_fallback": (Topic.NOTE, "content"),
    "model_refusal_fallback": (Topic.NOTE, "content"),
    "model_refusal_no_fallback": (Topic.ERROR, "content"),
    "notification": (Topic.NOTE, "text"),
    "permission_denied": (Topic.NOTE, "message"),
    "task_notification": (Topic.NOTE, "summary"),
}
"""Rows of type system that tell something: what it is about, and the key of its text."""

BY_A_MODEL = frozenset({
    "model_fallback", "model_refusal_fallback", "model_refusal_no_fallback",
})  # fmt: skip
"""Those of them until which a model was at work."""

ATTACHMENT_TEXT: dict[str, str] = {
    "agent_listing_delta": "addedLines",
    "agent_mention": "",
    "already_read_file": "",
    "async_hook_response": "response",
    "auto_mode": "",
    "auto_mode_exit": "",
    "budget_usd": "",
    "command_permissions": "",
    "compact_file_reference": "",
    "critical_system_reminder": "content",
    "date": "date",
    "date_change": "newDate",
    "deferred_tools_delta": "addedLines",
    "deferred_tools_record": "",
    "diagnostics": "files",
    "directory": "content",
    "edited_image_file": "",
    "edited_text_file": "snippet",
    "environment": "snapshot",
    "file": "content",
    "hook_additional_context": "content",
    "hook_cancelled": "",
    "hook_deferred_tool": "",
    "hook_permission_decision": "",
    "hook_success": "content",
    "invoked_skills": "skills",
    "max_turns_reached": "",
    "mcp_instructions_delta": "addedBlocks",
    "mcp_resource": "content",
    "model": "text",
    "nested_memory": "content",
    "opened_file_in_ide": "",
    "output_style": "",
    "plan_file_reference": "planContent",
    "plan_mode": "",
    "plan_mode_exit": "",
    "plan_mode_reentry": "",
    "prompt_snapshot": "systemPrompt",
    "queued_command": "prompt",
    "relevant_memories": "memories",
    "remote_session_change": "",
    "selected_lines_in_ide": "content",
    "session_context": "context",
    "skill_listing": "content",
    "structured_output": "data",
    "task_reminder": "content",
    "task_status": "",
    "todo_reminder": "content",
    "token_usage": "",
}
"""Attachments by type: the key of what the model is shown of it; empty where that is nothing."""

ATTACHMENT_NOTICES: dict[str, tuple[Topic, str]] = {
    "hook_blocking_error": (Topic.ERROR, "blockingError"),
    "hook_error_during_execution": (Topic.ERROR, "content"),
    "hook_non_blocking_error": (Topic.ERROR, "stderr"),
    "hook_stopped_continuation": (Topic.INTERRUPTION, "message"),
    "hook_system_message": (Topic.NOTE, "content"),
}
"""Attachments that tell a person something: what it is about, and the key of its text."""

INJECTED_TEXT = (
    "<system-reminder>", "<local-command-caveat>", "<local-command-stdout>",
    "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>", "<task-notification>",
    "<new-diagnostics>", "<ide_opened_file>", "<ide_selection>",
    "Caveat: The messages below were generated by the user while running local commands.",
)  # fmt: skip
"""How text of a user row starts that the CLI put there and no person."""

INTERRUPTED = "[Request interrupted by user"
