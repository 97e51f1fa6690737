"""What a page does while a test looks at it."""

from __future__ import annotations

from dataclasses import dataclass, field

from playwright.sync_api import ConsoleMessage, Dialog, Page


@dataclass
class Witness:
    """Everything that a page did and should not have done."""

    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    addresses: set[str] = field(default_factory=set)

    def watch(self, page: Page) -> None:
        page.on("dialog", self._dismiss)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        page.on("request", lambda request: self.addresses.add(request.url))

    def _dismiss(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def foreign(self, start: str) -> set[str]:
        """Addresses asked for that are not below `start`; data: is held in the page itself."""
        return {a for a in self.addresses if not a.startswith((start, "data:"))}


@dataclass(frozen=True)
class Opened:
    """A fresh page of a browser, and where the site starts."""

    page: Page
    start: str
