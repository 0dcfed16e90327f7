"""A petstore for the tests of an API client: one line starts a real server, and it ends with the tests.

>>> from petstore_server import Petstore
>>> with Petstore(demo=3) as shop:
...     shop.url.startswith("http://127.0.0.1:"), len(shop.faults.planned())
(True, 0)

With pytest, the fixture `petstore` is such a server, reset before each test.
"""

from ._clock import Clock
from ._errors import (
    NotDelivered,
    NotEnoughRequests,
    PetstoreError,
    PetstoreNotAvailable,
    PetstoreStopped,
    RulesBroken,
    SandboxError,
)
from ._faults import Fault, Faults, PlannedFault
from ._messages import Headers, Message
from ._petstore import Petstore
from ._report import ClientReport, Finding, JudgedRule, ProvingRequest, Report
from ._requests import Answer, Quota, ReceivedRequest
from ._sinks import Delivery, OpenDelivery, Settled, Sink, SinkAnswer, Sinks
from ._version import __version__

__all__ = [
    "Answer",
    "ClientReport",
    "Clock",
    "Delivery",
    "Fault",
    "Faults",
    "Finding",
    "Headers",
    "JudgedRule",
    "Message",
    "NotDelivered",
    "NotEnoughRequests",
    "OpenDelivery",
    "Petstore",
    "PetstoreError",
    "PetstoreNotAvailable",
    "PetstoreStopped",
    "PlannedFault",
    "ProvingRequest",
    "Quota",
    "ReceivedRequest",
    "Report",
    "RulesBroken",
    "SandboxError",
    "Settled",
    "Sink",
    "SinkAnswer",
    "Sinks",
    "__version__",
]
