"""The protocol between clients and the daemon: every message, the framing, the version.

A frame is 4 bytes of length (big-endian) and one MessagePack map whose `t` names the message. The client sends a
`Hello` first and gets a `Welcome`. From then on each request carries a `request_id` that the client chose (1 or more),
and every answer to it carries the same. `request_id` 0 marks a notification, sent to all attached clients without a
request. A request ends with its result, or with `Failed`. Any MessagePack library can speak it
(tests/recorded_messages.jsonl keeps their bytes).

The package exports everything that its modules define, so a new message is declared in one place.
"""

from reveries.protocol.admin import *
from reveries.protocol.checkup import *
from reveries.protocol.copying import *
from reveries.protocol.documents import *
from reveries.protocol.framing import *
from reveries.protocol.imports import *
from reveries.protocol.knowledge import *
from reveries.protocol.memory import *
from reveries.protocol.message import *
from reveries.protocol.models import *
from reveries.protocol.project_notes import *
from reveries.protocol.projects import *
from reveries.protocol.registry import *
from reveries.protocol.sleep import *
from reveries.protocol.steering import *
from reveries.protocol.talk import *
from reveries.protocol.thought import *
from reveries.protocol.tools import *
from reveries.protocol.views import *
