"""The resources of projects: their addresses, and their content, which the daemon's tools answer."""

import re
from typing import Any, Final
from urllib.parse import quote, unquote

from reveries.client.mcp.daemon_calls import DaemonCalls
from reveries.errors import NotFoundError

_DOCUMENTS: Final = "documents"
PARTS: Final = {
    "orientation": ("orientation", "Where it stands, on one page."),
    "tasks": ("working", "What is to be done, and what was."),
    _DOCUMENTS: ("knowledge", "What it was given to read."),
}
"""The resources of a project: tool group and description by name."""
PROJECT_LIST: Final = "reveries://projects"
"""What all URIs begin with; no resource itself."""
_URI: Final = re.compile(rf"{PROJECT_LIST}/(?P<project>[^/]+)/(?P<part>[a-z]+)")


class ProjectResources:
    """What one program can read of projects."""

    def __init__(self, link: DaemonCalls) -> None:
        self._link = link

    def offered_parts(self) -> dict[str, str]:
        """Return the names and descriptions of what each project offers; nothing if projects cannot be listed."""
        offered = self._link.servers or ("orientation", "working", "knowledge")
        return {part: what for part, (server, what) in PARTS.items() if "orientation" in offered and server in offered}

    async def project_names(self, program: str) -> list[str]:
        """Fetch the names of the projects. Raises ReveriesError."""
        if not self.offered_parts():
            return []
        listed = await self._link.call(program, "list_projects", {})
        return [project["name"] for project in listed["projects"]]

    async def fetch(self, program: str, uri: str) -> Any:
        """Fetch the content of a resource. Raises ReveriesError; NotFoundError if there is none at the URI."""
        matched = _URI.fullmatch(uri)
        if matched is None or matched["part"] not in self.offered_parts():
            raise NotFoundError(f"There is no resource {uri[:200]}.")
        # The tool finds the project, and refuses one other than the program's own.
        given = {"project_id": unquote(matched["project"])}
        if matched["part"] != _DOCUMENTS:
            return await self._link.call(program, f"get_{matched['part']}", given)
        page = await self._link.call(program, "get_orientation", given)
        documents, is_cut = await self._link.fetch_documents(page["orientation"]["project_id"])
        return {
            "project": page["project"],
            "documents": [
                {
                    "id": document.chunk_id,
                    "title": document.title,
                    "content": document.content,
                    "sources": document.sources,
                }
                for document in documents
            ],
            "is_cut": is_cut,
        }


def canonical_uri(uri: str, content: Any) -> str:
    """Return the URI under which a fetched resource is listed: a project is found by its id and in any case, too.
    Pure."""
    matched = _URI.fullmatch(uri)
    return uri if matched is None else resource_uri(content["project"], matched["part"])


def is_large(uri: str) -> bool:
    """Whether a resource is the text of up to hundreds of documents. Pure."""
    return uri.endswith(f"/{_DOCUMENTS}")


def resource_uri(project: str, part: str) -> str:
    """Return the URI of a project's part. Pure."""
    return f"{PROJECT_LIST}/{quote(project, safe='')}/{part}"
