"""The rows of Kimi Code's wire log that have nothing to read in them, or repeat other rows."""

from __future__ import annotations

REPEATED = {
    # the prompt: context.append_message has it as the model sees it
    "turn.prompt", "turn.steer", "prompt.accepted", "prompt.steered",
    # the loop events once more, when the turn has ended
    "agent.message.appended", "agent.turn.started", "agent.turn.ended",
    # turn.ended says it with more words
    "prompt.completed", "prompt.aborted",
    # context.undo says it
    "agent.switched", "context.undone",
    # the result of the call and the sub-agent's own log have it
    "subagent.started", "subagent.completed", "subagent.cancelled", "subagent.suspended",
}  # fmt: skip

BOOKKEEPING = {
    "metadata", "runtime.set_binding", "forked",
    "permission.set_mode", "plugin.session_start", "mcp.tools_discovered",
    "token_counting.measured", "token_counting.rebased", "token_counting.truncated",
    "token_counting.turn_recorded", "context.update_token_count",
    "file_history.tracked", "file_history.checkpoint",
    "staleGuard.recorded", "staleGuard.cleared", "interruptionReminder.recorded",
    "tools.update_store", "tools.set_active_tools", "tools.reset_active_tools",
    "tools.register_user_tool", "tools.unregister_user_tool",
    "plan_mode.enter", "plan_mode.exit", "plan_mode.cancel", "plan.revision",
    "swarm_mode.enter", "swarm_mode.exit", "tower_mode.enter", "tower_mode.exit",
    "task.started", "task.waitDelivered",
    "interaction.request", "interaction.resolved",
    "cron.add", "cron.cursor", "cron.delete",
    "goal.clear", "goal.account_usage", "goal.continuation",
    "full_compaction.begin", "full_compaction.complete", "micro_compaction.apply",
}  # fmt: skip

TRACES = REPEATED | BOOKKEEPING

QUIET_ENDS = {"", "end_turn", "tool_use", "error", "aborted", "cancelled", "interrupted"}
"""Ends of a step that say nothing new: the normal ones, and those that another row explains."""
