"""A careful client with one mistake: `mistaken.py SCENARIO`. Each mistake is found by the scenario of the exam whose name it has, and by
others only where they contain the same difficulty."""

import http.client
import re
import sys
import time
import uuid

from careful import Client, main

PAUSES = [0.05 * 1.5**number for number in range(8)]
"""The pauses of a client that goes on for too long."""


class FirstPage(Client):
    """Takes the first page for the whole list."""

    def next_page(self, answer):
        return None


class ShortWaits(Client):
    """Reads neither the quota headers nor the Retry-After of a 429."""

    def spare(self, answer):
        pass

    def pause_after(self, answer, attempt):
        return 0.3 if answer.status == 429 else super().pause_after(answer, attempt)


class SecondsOnly(Client):
    """Takes a Retry-After that is a date for none."""

    shortest_pause = 0.2

    def wait_of(self, answer):
        value = answer.getheader("Retry-After", "0")
        return float(value) if value.isdigit() else 0.0


class NewAttempt(Client):
    """Takes a POST without an answer for one that was not sent, and sends it as a new one."""

    def lost(self, headers, error):
        if "Idempotency-Key" in headers and not isinstance(error, http.client.IncompleteRead):
            headers["Idempotency-Key"] = str(uuid.uuid4())


class NewAfterPart(Client):
    """Takes a POST whose answer ended in the middle for one that failed, and sends it as a new one."""

    def lost(self, headers, error):
        if "Idempotency-Key" in headers and isinstance(error, http.client.IncompleteRead):
            headers["Idempotency-Key"] = str(uuid.uuid4())


class Storm(Client):
    """Asks again and again until the body is JSON."""

    def send(self, method, target, body, headers):
        for pause in PAUSES:
            try:
                return super().send(method, target, body, headers)
            except ValueError:
                time.sleep(pause)
        raise ValueError("the body is never JSON")


class Strict(Client):
    """Refuses an object with a member that it does not know."""

    def value_of(self, content):
        value = super().value_of(content)
        for one in value if isinstance(value, list) else []:
            unknown = one.keys() - {"id", "name", "categoryId", "status", "petId", "quantity", "shipDate", "complete", "description"}
            assert not unknown, f"unknown members: {', '.join(unknown)}"
        return value


class ConstantPauses(Client):
    """Repeats after pauses that do not grow. The first one is longer, so that a busy machine, which adds to each, does not make them grow."""

    def pause_without_answer(self, attempt):
        return 0.9 if attempt == 1 else 0.6


class Hopeful(Client):
    """Repeats a request whose key was refused, as if the key came back."""

    def send(self, method, target, body, headers):
        for pause in PAUSES:
            answer, value = super().send(method, target, body, headers)
            if answer.status != 401:
                break
            time.sleep(pause)
        return answer, value


class OneWait(Client):
    """Waits after a first refusal, and is surprised by the second one."""

    def pause_after(self, answer, attempt):
        is_again = answer.status == 429 and attempt > 1
        return 0.2 if is_again else super().pause_after(answer, attempt)


class Deprecated(Client):
    """Uses an operation although its answers say that it ends."""

    def pet(self, number):
        return self.ask("GET", f"/pets/{number}")


class Milliseconds(Client):
    """Prefers the time in the list `RateLimit` to Retry-After, and takes its seconds for milliseconds."""

    def spare(self, answer):
        if time_in_list(answer) is None:
            super().spare(answer)

    def pause_after(self, answer, attempt):
        seconds = time_in_list(answer) if answer.status == 429 else None
        return super().pause_after(answer, attempt) if seconds is None else seconds / 1000


def time_in_list(answer):
    found = re.search(r";t=(\d+)", answer.getheader("RateLimit") or "")
    return found and int(found[1])


MISTAKES = {
    "calm": FirstPage,
    "busy": ShortWaits,
    "flaky": SecondsOnly,
    "lost-answers": NewAttempt,
    "cut": NewAfterPart,
    "malformed": Storm,
    "grown": Strict,
    "overload": ConstantPauses,
    "revoked": Hopeful,
    "banned": OneWait,
    "sunset": Deprecated,
    "dialects": Milliseconds,
}

main(MISTAKES[sys.argv[1]])
