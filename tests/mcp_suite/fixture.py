"""The conformance suite's own tools, resources and prompts, added to the product's server for its tests.

The suite's scenarios name them ("implement a tool test_image_content that returns ..."). With them its scenarios run
against the product's server, token check and transport; the product's own tools, resources and prompts stay there.
"""

from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from reveries.client.mcp.program_log import Context, ProgramLog
from tests.mcp_suite.fixture_input import INPUT_TOOLS, ask_for_context, call_input_tool
from tests.mcp_suite.fixture_tools import PNG, TOOLS, call_content_tool

WATCHED: Final = "test://watched-resource"
"""Subscribing to it subscribes to a resource of the product."""
_PROMPTS: Final[dict[str, tuple[str, ...]]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
_TEXT_URI, _IMAGE_URI = "test://static-text", "test://static-binary"
_TEMPLATE_START, _TEMPLATE_END = "test://template/", "/data"


def add_fixture(server: Server[dict[str, Any]], log: ProgramLog, watched: str) -> None:
    """Add the fixture to a server. `watched`: the product's URI that stands for WATCHED."""
    fixture = _Fixture(server, log, watched)
    handlers: tuple[tuple[str, Any, Any], ...] = (
        ("tools/list", types.PaginatedRequestParams, fixture.list_tools),
        ("tools/call", types.CallToolRequestParams, fixture.call_tool),
        ("resources/list", types.PaginatedRequestParams, fixture.list_resources),
        ("resources/templates/list", types.PaginatedRequestParams, fixture.list_templates),
        ("resources/read", types.ReadResourceRequestParams, fixture.read_resource),
        ("resources/subscribe", types.SubscribeRequestParams, fixture.subscribe),
        ("resources/unsubscribe", types.UnsubscribeRequestParams, fixture.unsubscribe),
        ("prompts/list", types.PaginatedRequestParams, fixture.list_prompts),
        ("prompts/get", types.GetPromptRequestParams, fixture.get_prompt),
    )
    for method, params, handler in handlers:
        server.add_request_handler(method, params, handler)


class _Fixture:
    def __init__(self, server: Server[dict[str, Any]], log: ProgramLog, watched: str) -> None:
        self._log = log
        self._watched = watched
        self._own: dict[str, Any] = {
            method: entry.handler
            for method in (
                "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
                "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get",
            )
            if (entry := server.get_request_handler(method)) is not None
        }  # fmt: skip

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams) -> Any:
        listed = await self._own["tools/list"](context, params)
        return types.ListToolsResult(tools=[*listed.tools, *TOOLS, *INPUT_TOOLS])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        if params.name in {tool.name for tool in TOOLS}:
            return await call_content_tool(context, params, self._log)
        if params.name in {tool.name for tool in INPUT_TOOLS}:
            return await call_input_tool(context, params)
        return await self._own["tools/call"](context, params)

    async def list_resources(self, context: Context, params: types.PaginatedRequestParams) -> Any:
        listed = await self._own["resources/list"](context, params)
        added = [
            types.Resource(name="static text", uri=_TEXT_URI, mime_type="text/plain"),
            types.Resource(name="static image", uri=_IMAGE_URI, mime_type="image/png"),
            types.Resource(name="watched", uri=WATCHED, mime_type="application/json"),
        ]
        return types.ListResourcesResult(resources=[*listed.resources, *added])

    async def list_templates(self, context: Context, params: types.PaginatedRequestParams) -> Any:
        listed = await self._own["resources/templates/list"](context, params)
        added = types.ResourceTemplate(name="template", uri_template=f"{_TEMPLATE_START}{{id}}{_TEMPLATE_END}")
        return types.ListResourceTemplatesResult(resource_templates=[*listed.resource_templates, added])

    async def read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        if uri == _IMAGE_URI:
            blob = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
            return types.ReadResourceResult(contents=[blob])
        if uri == _TEXT_URI:
            text, kind = "This is the content of the static text resource.", "text/plain"
        elif uri.startswith(_TEMPLATE_START) and uri.endswith(_TEMPLATE_END):
            name = uri[len(_TEMPLATE_START) : -len(_TEMPLATE_END)]
            text, kind = f'{{"id":"{name}","templateTest":true,"data":"Data for ID: {name}"}}', "application/json"
        else:
            return await self._own["resources/read"](context, params)
        contents = types.TextResourceContents(uri=uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> Any:
        return await self._own["resources/subscribe"](context, self._translated(params))

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> Any:
        return await self._own["resources/unsubscribe"](context, self._translated(params))

    def _translated(self, params: Any) -> Any:
        return params.model_copy(update={"uri": self._watched}) if str(params.uri) == WATCHED else params

    async def list_prompts(self, context: Context, params: types.PaginatedRequestParams) -> Any:
        listed = await self._own["prompts/list"](context, params)
        added = [
            types.Prompt(
                name=name, description="Of the conformance suite.",
                arguments=[types.PromptArgument(name=one, description="Any.", required=True) for one in arguments],
            )
            for name, arguments in _PROMPTS.items()
        ]  # fmt: skip
        return types.ListPromptsResult(prompts=[*listed.prompts, *added])

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Any:
        if params.name not in _PROMPTS:
            return await self._own["prompts/get"](context, params)
        if params.name == "test_input_required_result_prompt":
            return ask_for_context(params)
        given = params.arguments or {}
        if missing := [one for one in _PROMPTS[params.name] if one not in given]:
            raise MCPError(types.INVALID_PARAMS, f"Missing: {', '.join(missing)}")
        contents = _prompt_contents(params.name, given)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in contents])


def _prompt_contents(name: str, given: dict[str, str]) -> list[types.ContentBlock]:
    match name:
        case "test_prompt_with_arguments":
            return [types.TextContent(text=f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            text = types.TextResourceContents(
                uri=given["resourceUri"], mime_type="text/plain", text="Embedded resource content for testing."
            )
            said = types.TextContent(text="Please process the embedded resource above.")
            return [types.EmbeddedResource(resource=text), said]
        case "test_prompt_with_image":
            image = types.ImageContent(data=PNG, mime_type="image/png")
            return [image, types.TextContent(text="Please analyze the image above.")]
        case _:
            return [types.TextContent(text="This is a simple prompt for testing.")]
