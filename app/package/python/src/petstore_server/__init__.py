"""A petstore for the tests of an API client: one line starts a real server, and it ends with the tests.

>>> from petstore_server import Petstore
>>> with Petstore(demo=3) as shop:
...     shop.url.startswith("http://127.0.0.1:"), len(shop.faults.planned())
(True, 0)

With pytest, the fixture `petstore` is such a server, reset before each test.
"""

from ._baseline import BaselineCounts
from ._clock import Clock
from ._errors import (
    ExamFailed,
    NotDelivered,
    NotEnoughRequests,
    PetstoreError,
    PetstoreNotAvailable,
    PetstoreStopped,
    RulesBroken,
    SandboxError,
)
from ._exam import ExamShop, exam
from ._exam_report import ExamReport, ExamRequest, ExamScenario
from ._faults import Fault, FaultDate, FaultHeader, Faults, PlannedFault, ScopeFaults
from ._messages import Headers, Message
from ._petstore import Petstore
from ._report import ClientReport, Finding, JudgedRule, ProvingRequest, Report
from ._requests import Answer, Quota, ReceivedRequest
from ._scope import Scope
from ._sinks import Delivery, OpenDelivery, Settled, Sink, SinkAnswer, Sinks
from ._version import __version__

__all__ = [
    "Answer",
    "BaselineCounts",
    "ClientReport",
    "Clock",
    "Delivery",
    "ExamFailed",
    "ExamReport",
    "ExamRequest",
    "ExamScenario",
    "ExamShop",
    "Fault",
    "FaultDate",
    "FaultHeader",
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
    "Scope",
    "ScopeFaults",
    "Settled",
    "Sink",
    "SinkAnswer",
    "Sinks",
    "__version__",
    "exam",
]
