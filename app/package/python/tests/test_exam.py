"""Exams of functions."""

import asyncio
import json
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import pytest

from petstore_server import ExamFailed, ExamShop, Petstore, PetstoreError, exam


def send(shop: ExamShop, method: str, path: str, body: object = None, **headers: str) -> int:
    """Sends a request. Returns the status; 0 without an answer."""
    data = None if body is None else json.dumps(body).encode()
    sent = {"X-API-Key": shop.key, "Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(shop.url + path, data, sent, method=method)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def careful(shop: ExamShop) -> None:
    """Repeats an order without an answer with the same key."""
    key = str(uuid.uuid4())
    statuses = [send(shop, "POST", "/store/orders", {"petId": 3}, Idempotency_Key=key)]
    if statuses == [0]:
        statuses.append(send(shop, "POST", "/store/orders", {"petId": 3}, Idempotency_Key=key))
    assert statuses[-1] == 201, statuses


def careless(shop: ExamShop) -> None:
    """Repeats an order without an answer, and without a key."""
    if send(shop, "POST", "/store/orders", {"petId": 3}) == 0:
        send(shop, "POST", "/store/orders", {"petId": 3})


def failing(shop: ExamShop) -> None:
    send(shop, "GET", "/pets")
    raise LookupError("no pet is good enough")


def test_a_function_is_examined_in_each_scenario() -> None:
    begun: list[ExamShop] = []

    def client(shop: ExamShop) -> None:
        begun.append(shop)
        careful(shop)

    report = exam(client, "calm", "lost-answers")
    report.assert_kept("retries-safely")
    assert [shop.scenario for shop in begun] == ["calm", "lost-answers"] == [scenario.name for scenario in report.scenarios]
    assert len({shop.key for shop in begun}) == 2 and begun[0].sandbox_url.endswith("/sandbox")
    lost = report.scenario("lost-answers")
    assert [request.outcome for request in lost.requests] == ["dropped", "sent"] and lost.passed and not lost.must_pass
    assert lost.rule("retries-safely").verdict == "kept" and "retries-safely" in lost.proves
    assert lost.requests[0].headers["idempotency-key"] == lost.requests[1].headers["Idempotency-Key"]
    assert not report.is_broken and str(report).splitlines()[1].startswith("lost-answers  ")


def test_a_broken_rule_is_told_with_the_requests_that_prove_it() -> None:
    with pytest.raises(ExamFailed) as failed:
        exam(careless, "lost-answers").assert_kept("waits")
    assert failed.value.report.is_broken and isinstance(failed.value, AssertionError)
    lines = str(failed.value).splitlines()
    assert lines[0] == "the client does not pass the exam"
    assert lines[1].startswith("lost-answers: retries-safely is broken: a client repeats a POST")
    assert lines[3].startswith("lost-answers:   advice: Send a new `Idempotency-Key`")
    assert lines[4].endswith(" POST /v1/store/orders 201 dropped") and lines[5].endswith(" POST /v1/store/orders 409 pet_not_available")
    assert lines[-1] == "waits is untested: no request met what the rule is about in lost-answers"


def test_an_exception_is_a_failure_where_the_client_has_to_succeed() -> None:
    report = exam(failing, "calm", "malformed")
    calm, malformed = report.scenarios
    assert not calm.passed and "in failing" in calm.output and not malformed.passed
    with pytest.raises(ExamFailed, match="calm: the client failed, and has to succeed in this scenario\ncalm:   LookupError: no pet is good enough$"):
        report.assert_kept()
    for scenario in ("calm", "busy"):
        with pytest.raises(ExamFailed, match=f"{scenario}: no request arrived"):
            exam(lambda shop: None, scenario).assert_kept()


def test_a_coroutine_is_refused_because_it_would_do_nothing() -> None:
    async def client(shop: ExamShop) -> None:
        careful(shop)

    with pytest.raises(TypeError, match="asyncio.run"):
        exam(client, "calm")
    exam(lambda shop: asyncio.run(client(shop)), "calm").assert_kept()


def test_the_end_of_a_long_exception_is_told_whatever_its_characters() -> None:
    def client(shop: ExamShop) -> None:
        raise LookupError("\udc80\U0001f407" * 10_000)

    calm, grown = exam(client, "calm", "grown").scenarios
    assert calm.output.endswith("\U0001f407\n") and len(calm.output) == len(grown.output) == 8_000


def test_an_interrupted_exam_ends() -> None:
    def interrupted(shop: ExamShop) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exam(interrupted, "calm")


def test_a_scenario_may_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "down.toml").write_text("title = 'All is down'\nproves = ['gives-up']\npasses = 'may'\n[[faults]]\nstatus = 503\n")
    monkeypatch.chdir(tmp_path)
    statuses: list[int] = []
    report = exam(lambda shop: statuses.append(send(shop, "GET", "/pets")), "down.toml")
    assert statuses == [503] and [request.code for request in report.scenarios[0].requests] == ["unavailable"]


def test_a_wrong_scenario_is_named() -> None:
    with pytest.raises(PetstoreError, match="exit code 2: .*buzy: there is none with this name"):
        exam(careful, "buzy")
    with pytest.raises(PetstoreError, match=r"exit code 2: .*nowhere\.toml"):
        exam(careful, Path("nowhere.toml"))
    report = exam(careful, "calm")
    with pytest.raises(ValueError, match="there is no scenario 'busy' in this exam; it has calm"):
        report.scenario("busy")
    with pytest.raises(ValueError, match="there is no rule 'wait'; the rules are waits, "):
        report.assert_kept("wait")


def test_a_running_petstore_is_examined_and_left_as_it_was() -> None:
    with Petstore(demo=10) as shop:
        exam(careful, "lost-answers", on=shop).assert_kept("retries-safely")
        assert shop.faults.planned() == [] and len(shop.requests(route="/store/orders")) == 2
