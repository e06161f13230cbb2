"""The suite's tools that answer with a question, and are called again with what the client answered (2026-07-28)."""

import hashlib
import hmac
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from reveries.client.mcp.program_log import Context
from tests.mcp_suite.fixture_tools import text_result, tool

_KEY: Final = b"the fixture's own"
_START: Final = "test_input_required_result_"


def form(message: str, name: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str, most_tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=most_tokens)
    )


_NAME = form("What is your name?", "name")
_CONFIRM: Final[dict[str, types.InputRequest]] = {"confirm": form("Please confirm", "ok", "boolean")}
_ASKED: Final[dict[str, dict[str, types.InputRequest]]] = {
    "elicitation": {"user_name": _NAME},
    "sampling": {"capital_question": sampling("What is the capital of France?")},
    "list_roots": {"client_roots": types.ListRootsRequest()},
    "request_state": _CONFIRM,
    "tampered_state": _CONFIRM,
    "multiple_inputs": {
        "user_name": _NAME,
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": types.ListRootsRequest(),
    },
    "multi_round": {"step1": form("Step 1: What is your name?", "name")},
    "capabilities": {"user_name": _NAME, "greeting": sampling("Generate a greeting", 50)},
}
_SECOND_ROUND: Final[dict[str, types.InputRequest]] = {"step2": form("Step 2: What is your favorite color?", "color")}
_STATEFUL: Final = {"request_state", "tampered_state", "multiple_inputs", "multi_round"}
INPUT_TOOLS: Final = [tool(_START + name) for name in _ASKED]


async def call_input_tool(context: Context, params: types.CallToolRequestParams) -> Any:
    """Ask, until every question is answered. Raises MCPError for a state that is not the fixture's own."""
    name, answers = params.name.removeprefix(_START), params.input_responses or {}
    asked = {key: one for key, one in _ASKED[name].items() if is_supported(context, one)}
    if name not in _STATEFUL:
        missing = not asked.keys() <= answers.keys()
        return types.InputRequiredResult(input_requests=asked) if missing else text_result(summarize(answers))
    if params.request_state is None:
        return types.InputRequiredResult(input_requests=asked, request_state=sign(f"{name} 1"))
    state = verify(params.request_state)
    if name == "multi_round" and state == f"{name} 1":
        return types.InputRequiredResult(input_requests=_SECOND_ROUND, request_state=sign(f"{name} 2"))
    return text_result(f"state-ok {summarize(answers)}")


def ask_for_context(params: types.GetPromptRequestParams) -> Any:
    """The prompt that asks before it answers."""
    answers = params.input_responses or {}
    if "user_context" not in answers:
        asked: dict[str, types.InputRequest] = {"user_context": form("What context should the prompt use?", "context")}
        return types.InputRequiredResult(input_requests=asked)
    said = types.TextContent(text=f"Use this context: {summarize(answers)}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])


def is_supported(context: Context, asked: types.InputRequest) -> bool:
    """Whether the client declared what it is asked for."""
    declared = context.session.client_capabilities
    needed = {"sampling/createMessage": "sampling", "roots/list": "roots"}.get(asked.method, "elicitation")
    return declared is not None and getattr(declared, needed) is not None


def summarize(answers: types.InputResponses) -> str:
    """What the client answered, as text."""
    return " ".join(f"{key}: {one.model_dump_json(by_alias=True, exclude_none=True)}" for key, one in answers.items())


def sign(state: str) -> str:
    return f"{state}.{hmac.new(_KEY, state.encode(), hashlib.sha256).hexdigest()}"


def verify(signed: str) -> str:
    state, _, _ = signed.rpartition(".")
    if not hmac.compare_digest(sign(state), signed):
        raise MCPError(types.INVALID_PARAMS, "The state was changed on its way.")
    return state
