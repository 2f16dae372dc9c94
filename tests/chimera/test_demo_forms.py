"""The demo reviewer fills in a page's forms as a browser would."""

from chimera.demo.forms import find_form

PAGE = """
<form method="get" action="/search/"><input name="q"><button>Search</button></form>
<form method="post" action="/review/1/approve/" id="decide">
  <input type="hidden" name="csrfmiddlewaretoken" value="c1">
  <input type="checkbox" name="seen" checked><input type="checkbox" name="mail">
  <textarea name="reason"></textarea>
  <button name="decision" value="reject">Reject</button>
</form>
<button form="decide" name="decision" value="approve"> <svg></svg> Approve <kbd aria-hidden="true">a</kbd>
</button>
<form method="post"><input type="hidden" name="csrfmiddlewaretoken" value="c2">
  <input type="text" name="login"><input type="password" name="password">
  <button aria-label="Sign in">Go</button></form>
"""


def test_button_outside_its_form_sends_that_forms_fields() -> None:
    form = find_form(PAGE, "Approve")
    assert form is not None
    assert (form.method, form.action) == ("post", "/review/1/approve/")
    assert form.filled("Approve") == {
        "csrfmiddlewaretoken": "c1",
        "seen": "on",
        "reason": "",
        "decision": "approve",
    }


def test_only_the_pressed_button_is_sent() -> None:
    form = find_form(PAGE, "Reject")
    assert form is not None
    assert form.filled("Reject")["decision"] == "reject"


def test_fields_are_filled_by_their_kind_and_hidden_ones_kept() -> None:
    form = find_form(PAGE, "Sign in")
    assert form is not None
    assert form.filled("Sign in", text="rita", password="pw") == {
        "csrfmiddlewaretoken": "c2",
        "login": "rita",
        "password": "pw",
    }


def test_page_without_the_button_has_no_such_form() -> None:
    assert find_form(PAGE, "Sign") is None
