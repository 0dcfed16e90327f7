"""The fixtures, in test suites of their own."""

import re
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

FIVE_LINES = """
    import urllib.request
    def test_a_pet(petstore):
        request = urllib.request.Request(petstore.url + "/pets?id=1", headers={"X-API-Key": petstore.key})
        with urllib.request.urlopen(request) as response:
            assert b"Luna" in response.read()
"""


def test_five_lines_of_a_suite_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FIVE_LINES)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_each_test_begins_with_the_initial_shop_and_clock(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        @pytest.fixture(scope="session")
        def petstore_options():
            return {"demo": 2, "settings": {"free-minute": 3}}
        """
    )
    pytester.makepyfile(
        """
        import json, urllib.request, pytest
        @pytest.mark.parametrize("n", range(3))
        def test_changes(petstore, n):
            def ask(method, path):
                request = urllib.request.Request(petstore.url + path, headers={"X-API-Key": petstore.key}, method=method)
                return urllib.request.urlopen(request).read()
            assert petstore.clock.now().year < 2040
            assert [pet["id"] for pet in json.loads(ask("GET", "/pets"))] == [1, 2]
            assert petstore.faults.planned() == []
            ask("DELETE", "/pets/1")
            petstore.faults.plan({"status": 503})
            petstore.clock.set("2040-01-01T00:00:00Z")
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=3)


def test_settings_of_pytest_are_those_of_the_server(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\npetstore_demo = 2\npetstore_settings =\n    free-minute = 3\n    gzip=false")
    pytester.makepyfile("def test_options(petstore_options): assert petstore_options == "
                        "{'demo': 2, 'settings': {'free-minute': '3', 'gzip': 'false'}}\ndef test_start(petstore): petstore.reset()")
    pytester.runpytest_subprocess().assert_outcomes(passed=2)
    pytester.makeini("[pytest]\npetstore_settings = gzip")
    assert "'gzip' has no value; write it as name=value" in pytester.runpytest_subprocess().stdout.str()


def test_the_fixture_begins_with_the_shop_of_a_file(pytester: pytest.Pytester) -> None:
    pytester.makefile(".ndjson", shop='{"category": {"name": "Newts", "id": 7}}')
    pytester.makeini("[pytest]\npetstore_shop = shop.ndjson")
    pytester.makepyfile("def test_shop(petstore): assert petstore.baseline()[0]['category']['name'] == 'Newts'")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    pytester.makeini("[pytest]\npetstore_shop = shop.ndjson other.ndjson")
    assert "are several files; name one" in pytester.runpytest_subprocess().stdout.str()


def test_a_failed_test_shows_the_last_requests_of_its_shops(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import urllib.request, urllib.error, pytest
        from petstore_server import Petstore

        def get(shop, path):
            try:
                urllib.request.urlopen(urllib.request.Request(shop.url + path, headers={"X-API-Key": shop.key})).close()
            except urllib.error.HTTPError as error:
                error.close()

        @pytest.fixture
        def other():
            with Petstore() as shop:
                yield shop

        def test_fails(petstore, petstore_server, other):
            petstore.faults.plan({"route": "/categories", "status": 503})
            for path in ("/pets?limit=2", "/pets/77777", "/categories"):
                get(petstore, path)
            assert False

        def test_passes(petstore):
            get(petstore, "/store/inventory")

        def test_waits(petstore):
            get(petstore, "/pets")
            petstore.requests(count=2, wait=1)

        def test_stopped(other):
            other.stop()
            assert False
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.re_match_lines_random(
        [
            r"-+ Last requests of http://127\.0\.0\.1:\d+/v1 -+",
            r"#1 \d\d:\d\d:\d\d\.\d{3} GET /v1/pets\?limit=2 200",
            r"#2 .* GET /v1/pets/77777 404 not_found",
            r'    \{"code":"not_found",.*',
            r"#3 .* GET /v1/categories 503 unavailable; planned failure: .*",
            "it has received none",
            r"E +petstore_server\._errors\.NotEnoughRequests: expected 2 requests within 1 s, 1 came: GET /v1/pets 200",
            r".* the petstore was stopped by this program",
        ]
    )
    text = result.stdout.str()
    assert text.count("Last requests of") == 4 and "/store/inventory" not in text
    # The frames of the package are hidden: the failure points into the test.
    assert "_requests.py" not in text and "_petstore.py" not in text, text


SCENARIOS = """
    import json, urllib.request, pytest

    def order(shop, pet, **headers):
        headers |= {"X-API-Key": shop.key, "Content-Type": "application/json"}
        body = json.dumps({"petId": pet}).encode()
        for _ in range(2):
            try:
                return urllib.request.urlopen(urllib.request.Request(shop.url + "/store/orders", body, headers)).close()
            except OSError:
                pass

    @pytest.fixture
    def usual(petstore_server):
        return petstore_server.key

    @pytest.mark.petstore_scenario("lost-answers", "retries-safely")
    def test_careful(usual, petstore):
        assert petstore.key != usual
        order(petstore, 3, **{"Idempotency-Key": "a"})

    @pytest.mark.petstore_scenario("lost-answers")
    def test_careless(petstore):
        order(petstore, 3)

    @pytest.mark.petstore_scenario("lost-answers", "waits")
    def test_untested(petstore):
        order(petstore, 3, **{"Idempotency-Key": "a"})

    @pytest.mark.petstore_scenario("lost-answers")
    def test_fails(petstore):
        order(petstore, 3)
        assert False, "for another reason"

    @pytest.mark.petstore_scenario("calm")
    def test_skips(petstore):
        pytest.skip("not today")

    @pytest.mark.petstore_scenario("buzy")
    def test_unknown(petstore):
        pass

    @pytest.mark.petstore_scenario()
    def test_unnamed(petstore):
        pass

    @pytest.mark.petstore_scenario("dialects")
    def test_several(petstore):
        pass

    def test_without(petstore, petstore_server):
        assert petstore.faults.planned() == []
        order(petstore, 3)
        assert len(petstore.requests(status=201, key=petstore.key)) == 1
"""


def test_a_test_is_in_a_scenario_and_judged_at_its_end(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SCENARIOS)
    result = pytester.runpytest_subprocess("--strict-markers")
    result.assert_outcomes(passed=2, failed=4, skipped=1, errors=2)
    result.stdout.re_match_lines_random(
        [
            r"E +petstore_server\._errors\.ExamFailed: the client does not pass the exam",
            r"E? +lost-answers: retries-safely is broken: a client repeats a POST .*",
            r"E? +lost-answers: +advice: Send a new `Idempotency-Key`.*",
            r"E? +lost-answers: +#2 .* POST /v1/store/orders 409 pet_not_available",
            r"E? +waits is untested: no request met .* in lost-answers",
            r"E +AssertionError: for another reason",
            r"-+ Captured petstore call -+",
            r"retries-safely is broken: .*",
            r".*buzy: there is none with this name.*",
            r".*petstore_scenario needs the name of a scenario.*",
            r".*the scenario dialects has several steps, and a test is one: use petstore_server\.exam",
        ]
    )
    marked = pytester.runpytest_subprocess("--markers").stdout.str()
    assert "@pytest.mark.petstore_scenario(name, *tested): " in marked


def test_each_worker_has_its_own_server(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, pytest, time
        @pytest.mark.parametrize("n", range(8))
        def test_address(petstore, n):
            with open("addresses", "a") as file:
                print(os.environ["PYTEST_XDIST_WORKER"], petstore.url, file=file)
            time.sleep(0.1)
        """
    )
    pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=8)
    pairs = set((pytester.path / "addresses").read_text().splitlines())
    assert len(pairs) == 2 and len({pair.split()[1] for pair in pairs}) == 2, pairs


def test_a_hundred_cases_take_less_than_two_seconds(pytester: pytest.Pytester) -> None:
    cases = """
        import pytest
        @pytest.mark.parametrize("n", range(100))
        def test_case({fixture}n):
            pass
    """
    seconds = []
    for fixture in ("", "petstore, "):
        pytester.makepyfile(cases.format(fixture=fixture))
        result = pytester.runpytest_subprocess()
        result.assert_outcomes(passed=100)
        taken = re.search(r"in ([\d.]+)s", result.stdout.lines[-1])
        assert taken
        seconds.append(float(taken[1]))
    assert seconds[1] - seconds[0] < 2, seconds


def test_the_module_passes_mypy_strictly(pytester: pytest.Pytester) -> None:
    code = (
        "from petstore_server import Petstore\n"
        "with Petstore(demo=3, settings={'free-minute': 3}) as shop:\n"
        "    address: str = shop.url\n"
        "    key: str = shop.new_key(plan='free')\n"
        "    shop.faults.plan({'route': '/pets', 'first': 2, 'status': 503})\n"
        "    for request in shop.requests(count=0):\n"
        "        method: str = request.method\n"
    )
    Path(pytester.path, "uses.py").write_text(code)
    for checked in (["uses.py"], ["-p", "petstore_server"]):
        run = pytester.run(sys.executable, "-m", "mypy", "--strict", *checked)
        assert run.ret == 0, run.stdout.lines
    Path(pytester.path, "misuses.py").write_text(code + "    wrong: int = shop.url\n")
    run = pytester.run(sys.executable, "-m", "mypy", "--strict", "misuses.py")
    assert run.ret == 1
