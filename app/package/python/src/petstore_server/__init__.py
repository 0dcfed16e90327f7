"""A petstore for the tests of an API client: one line starts a real server, and it ends with the tests.

>>> from petstore_server import Petstore
>>> with Petstore(demo=3) as shop:
...     shop.url.startswith("http://127.0.0.1:"), len(shop.faults.planned())
(True, 0)

With pytest, the fixture `petstore` is such a server, reset before each test.
"""

from ._clock import Clock
from ._errors import NotEnoughRequests, PetstoreError, PetstoreNotAvailable, PetstoreStopped, SandboxError
from ._faults import Fault, Faults, PlannedFault
from ._petstore import Petstore
from ._report import ClientReport, Finding, JudgedRule, Report
from ._requests import Answer, Quota, ReceivedRequest
from ._version import __version__

__all__ = [
    "Answer",
    "ClientReport",
    "Clock",
    "Fault",
    "Faults",
    "Finding",
    "JudgedRule",
    "NotEnoughRequests",
    "Petstore",
    "PetstoreError",
    "PetstoreNotAvailable",
    "PetstoreStopped",
    "PlannedFault",
    "Quota",
    "ReceivedRequest",
    "Report",
    "SandboxError",
    "__version__",
]
