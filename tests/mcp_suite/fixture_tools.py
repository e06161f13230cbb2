"""The suite's tools that return content, log, report progress, or ask the client in mid-call (before 2026-07-28)."""

import asyncio
import base64
import json
import struct
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

from reveries.client.mcp.program_log import Context, ProgramLog

_PAUSE_SECONDS: Final = 0.05
"""The suite asks for one between messages."""


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


_PNG_BYTES = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    + _chunk(b"IEND", b"")
)
PNG: Final = base64.b64encode(_PNG_BYTES).decode()
"""One red pixel."""
_WAV: Final = base64.b64encode(
    struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 0)
).decode()


def text_result(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def embedded(uri: str, kind: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=kind, text=text))


_CONTENT: Final[dict[str, list[types.ContentBlock]]] = {
    "test_simple_text": [types.TextContent(text="This is a simple text response for testing.")],
    "test_image_content": [types.ImageContent(data=PNG, mime_type="image/png")],
    "test_audio_content": [types.AudioContent(data=_WAV, mime_type="audio/wav")],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        types.TextContent(text="Multiple content types test:"),
        types.ImageContent(data=PNG, mime_type="image/png"),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
}


async def call_content_tool(context: Context, params: types.CallToolRequestParams, log: ProgramLog) -> Any:
    """Call one of TOOLS."""
    if content := _CONTENT.get(params.name):
        return types.CallToolResult(content=content)
    if params.name == "test_tool_with_logging":
        return await _log_thrice(context, log)
    return await _ACTING[params.name](context, params.arguments or {})


async def _fail(_: Context, __: dict[str, Any]) -> types.CallToolResult:
    text = "This tool intentionally returns an error for testing"
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


async def _log_thrice(context: Context, log: ProgramLog) -> types.CallToolResult:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await log.send(context, "info", text)
        await asyncio.sleep(_PAUSE_SECONDS)
    return text_result("Logged.")


async def _report_progress(context: Context, _: dict[str, Any]) -> types.CallToolResult:
    for progress in (0, 50, 100):
        await context.session.report_progress(progress, 100)
        await asyncio.sleep(_PAUSE_SECONDS)
    return text_result("Done.")


async def _require_sampling(context: Context, _: dict[str, Any]) -> types.CallToolResult:
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        needed: dict[str, dict[str, object]] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs sampling.", needed)
    return text_result("The client has it.")


async def _sample(context: Context, given: dict[str, Any]) -> types.CallToolResult:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=given["prompt"]))
    asked = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=100))
    answer = await context.session.send_request(
        asked, types.CreateMessageResult, metadata=ServerMessageMetadata(related_request_id=context.request_id)
    )
    return text_result(f"LLM response: {getattr(answer.content, 'text', '')}")


async def _elicit(context: Context, given: dict[str, Any]) -> types.CallToolResult:
    names = {"username": "User's response", "email": "User's email address"}
    properties = {name: {"type": "string", "description": what} for name, what in names.items()}
    answer = await _ask_form(context, given["message"], properties, list(names))
    return text_result(f"User response: action={answer.action}, content={json.dumps(answer.content)}")


async def _elicit_defaults(context: Context, _: dict[str, Any]) -> types.CallToolResult:
    status = {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": status,
        "verified": {"type": "boolean", "default": True},
    }
    return _completed(await _ask_form(context, "Who are you?", properties, []))


async def _elicit_enums(context: Context, _: dict[str, Any]) -> types.CallToolResult:
    plain = ["option1", "option2", "option3"]
    titled = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
    legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    properties: dict[str, Any] = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **legacy},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return _completed(await _ask_form(context, "Choose.", properties, []))


async def _ask_form(
    context: Context, message: str, properties: dict[str, Any], required: list[str]
) -> types.ElicitResult:
    schema = {"type": "object", "properties": properties, "required": required}
    return await context.session.elicit_form(message, schema, related_request_id=context.request_id)


def _completed(answer: types.ElicitResult) -> types.CallToolResult:
    return text_result(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}")


_ACTING: Final[dict[str, Callable[[Context, dict[str, Any]], Awaitable[types.CallToolResult]]]] = {
    "test_error_handling": _fail,
    "test_tool_with_progress": _report_progress,
    "test_missing_capability": _require_sampling,
    "test_sampling": _sample,
    "test_elicitation": _elicit,
    "test_elicitation_sep1034_defaults": _elicit_defaults,
    "test_elicitation_sep1330_enums": _elicit_enums,
}
_ARGUMENTS: Final = {"test_sampling": "prompt", "test_elicitation": "message"}


def tool(name: str) -> types.Tool:
    """A tool without arguments, or with its only one."""
    names = [_ARGUMENTS[name]] if name in _ARGUMENTS else []
    properties = {one: {"type": "string"} for one in names}
    schema = {"type": "object", "properties": properties, "required": names}
    return types.Tool(name=name, description="Of the conformance suite.", input_schema=schema)


TOOLS: Final = [tool(name) for name in (*_CONTENT, "test_tool_with_logging", *_ACTING)]
