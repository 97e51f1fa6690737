"""What goes wrong with a bucket, told without a word of what a library says of it.

Texts of libraries and services may hold addresses with signatures, names of accounts and keys.
"""

from __future__ import annotations

import os
import re

from kbsite.errors import FULL, InputError, KbsiteError, MachineError

_UNREACHABLE = {
    "ClientConnectionError", "ClientPayloadError", "ConnectionError", "ConnectTimeoutError",
    "FSTimeoutError", "HTTPClientError", "IncompleteReadError", "ReadTimeoutError",
    "ServerTimeoutError", "TimeoutError", "ResponseParserError", "RefreshError", "TransportError",
    "ConnectionClosedError", "EndpointConnectionError", "IncompleteRead", "gaierror",
}  # fmt: skip
"""Names of errors of connections, of whichever library."""
_SILENT = "ReadTimeoutError"
"""That of one where a connection stood, and nothing came."""
_NO_CREDENTIALS = {
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError",
    "TokenRetrievalError", "SSOError", "ProfileNotFound", "DefaultCredentialsError",
    "UnauthorizedSSOTokenError", "SSOTokenLoadError", "ConfigNotFound", "NoAuthTokenError",
}  # fmt: skip
_WRONG_ADDRESS = {"InvalidEndpointConfigurationError", "UnknownEndpointError", "InvalidRegionError"}
_BUSY = {"SlowDown", "ServiceUnavailable", "503", "RequestTimeout", "429"}
_FAILED = re.compile(r"\((5\d\d|InternalError)\)")
"""What a service answers where the fault is its own, and may pass."""
_AGAIN = "run the same command again: it goes on where this one ended"
_CODE = re.compile("[A-Za-z0-9]{1,60}")


class StorageError(InputError):
    """A bucket does not give or take what was asked for."""


class MissingError(StorageError):
    """There is no such bucket, or no such object."""


class UnreachableError(MachineError):
    """The service does not answer, or broke off. What was done until then stays done."""


def explained(error: BaseException, url: str, credentials: str) -> KbsiteError:
    """The error that a person is told of what happened at `url`."""
    names = {kind.__name__ for kind in type(error).__mro__}
    code = _code(error)
    if isinstance(error, KbsiteError):
        return error
    if isinstance(error, OSError) and not code and (told := _of_machine(error, url)):
        return told
    if names & _NO_CREDENTIALS:
        return MachineError(f"{url}: no credentials; set {credentials}")
    if names & _UNREACHABLE or code in _BUSY:
        return UnreachableError(f"{url}: the storage {_unreachable(names)}; {_AGAIN}")
    if names & _WRONG_ADDRESS or _is_wrong_address(error):
        cure = "correct AWS_ENDPOINT_URL, or `endpoint` under `storage` in kbsite.yaml"
        return MachineError(f"{url}: the address of the storage is none; {cure}")
    return _of_object(error, url, credentials, f" ({code})" if code else "")


def _unreachable(names: set[str]) -> str:
    return "does not answer" if _SILENT in names else "cannot be reached, or broke off"


def _of_machine(error: OSError, url: str) -> MachineError | None:
    """What this machine refuses, and no service: what those say of objects names no path here."""
    if not isinstance(error.errno, int):
        return None
    why = os.strerror(error.errno)
    if error.errno in FULL:
        cure = "free some space, or set `cache` under `storage` in kbsite.yaml"
        return MachineError(f"{url}: cannot be kept on this machine: {why}; {cure}")
    place = error.filename
    if isinstance(place, str) and place.startswith("/"):
        return MachineError(f"{place}: {why}")
    return None


def _of_object(error: BaseException, url: str, credentials: str, told: str) -> KbsiteError:
    if isinstance(error, FileNotFoundError):
        return MissingError(f"no such bucket or object{told}", path=url)
    if isinstance(error, PermissionError):
        cure = f"check what they may do there, and {credentials}"
        return StorageError(f"the storage refuses these credentials{told}; {cure}", path=url)
    cure = f"; {_AGAIN}" if _FAILED.search(told) else ""
    return StorageError(f"the storage failed: {type(error).__name__}{told}{cure}", path=url)


def _is_wrong_address(error: BaseException) -> bool:
    # botocore says so of an endpoint with no scheme; the address itself is not repeated.
    return type(error) is ValueError and str(error).startswith("Invalid endpoint")


def _code(error: BaseException) -> str:
    """The short word with which a service says what is wrong; empty where it says none."""
    for one in (error, error.__cause__):
        response = getattr(one, "response", None)
        if isinstance(response, dict):
            code = str(response.get("Error", {}).get("Code", ""))
            return code if _CODE.fullmatch(code) else ""
    return ""
