"""What the tools of the agents do whose trajectories are written down in ATIF."""

from __future__ import annotations

from collections.abc import Mapping

from kbsite.model.event import ToolKind

_NAMES = {
    ToolKind.RUN: (
        "bash bash_command bashoutput bash_output command_line_exec exec exec_command execute "
        "execute_bash execute_command execute_ipython_cell killbash killshell local_shell "
        "local_shell_call python run_command run_shell_command run_terminal_cmd shell "
        "shell_command submit_bash terminal write_stdin"
    ),
    ToolKind.READ: (
        "cat list_dir list_directory list_files ls open_file read read_file read_many_files view "
        "view_file view_image"
    ),
    ToolKind.WRITE: "create create_file notebookwrite save_file write write_file",
    ToolKind.EDIT: (
        "apply_diff apply_patch edit edit_file multiedit multi_edit notebookedit patch replace "
        "replace_in_file search_replace str_replace strreplace update_file"
    ),
    ToolKind.SEARCH: (
        "codebase_search file_search find glob grep grep_search search search_file_content "
        "search_files"
    ),
    ToolKind.WEB: (
        "browse browse_interactive browser fetch fetch_url google_web_search web_fetch web_search "
        "webfetch websearch"
    ),
    ToolKind.AGENT: "agent delegate delegate_task spawn_agent subagent task",
    ToolKind.PLAN: (
        "exitplanmode finish mark_task_complete plan task_complete task_tracker think todo "
        "todo_write todoread todowrite update_plan write_todos"
    ),
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "file_editor", "editor"})
"""Tools that do several things, as their argument `command` says."""
_COMMANDS = {"view": ToolKind.READ, "create": ToolKind.WRITE}


def kind(tool: str, arguments: Mapping[str, object]) -> ToolKind:
    """What a call does; OTHER for a tool that is not known."""
    name = tool.lower()
    if name in _EDITORS:
        return _COMMANDS.get(str(arguments.get("command")), ToolKind.EDIT)
    return _KINDS.get(name, ToolKind.OTHER)
