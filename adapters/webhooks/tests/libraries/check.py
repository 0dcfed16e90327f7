"""Checks a request with the library of Standard Webhooks: the headers are arguments, the body is standard input."""

import os
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

names = ("webhook-id", "webhook-timestamp", "webhook-signature")
try:
    Webhook(os.environ["SECRET"]).verify(sys.stdin.buffer.read(), dict(zip(names, sys.argv[1:])))
except WebhookVerificationError as error:
    print(f"refused: {error}")
else:
    print("valid")
