"""Answers come in the order in which they are set, once, and only those that somebody waits for."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any

from cluster.runtime.worker_process import Inbox


def expected(inbox: Inbox[str], *calls: int) -> list[Future[Any]]:
    answers: list[Future[Any]] = [Future() for _ in calls]
    for call, answer in zip(calls, answers, strict=True):
        inbox.expect(call, answer, f"owner of {call}")
    return answers


def test_answers_come_in_the_order_in_which_they_are_set_and_once() -> None:
    inbox: Inbox[str] = Inbox()
    first, second, _ = expected(inbox, 1, 2, 3)
    second.set_result("b")
    first.set_exception(ValueError("a"))
    came = inbox.take(0.0)
    assert [(owner, call) for owner, call, _ in came] == [("owner of 2", 2), ("owner of 1", 1)]
    assert came[0][2].result() == "b"
    assert isinstance(came[1][2].exception(), ValueError)
    assert inbox.take(0.0) == []


def test_an_answer_that_is_there_already_is_taken_too() -> None:
    inbox: Inbox[str] = Inbox()
    answer: Future[Any] = Future()
    answer.set_result(7)
    inbox.expect(1, answer, "a")
    assert [call for _, call, _ in inbox.take(0.0)] == [1]


def test_what_is_forgotten_is_nobodys() -> None:
    inbox: Inbox[str] = Inbox()
    first, second = expected(inbox, 1, 2)
    inbox.forget(1)
    first.set_result(None)
    second.set_result(None)
    assert [call for _, call, _ in inbox.take(0.0)] == [2]


def test_it_waits_for_the_first_answer_and_not_for_ever() -> None:
    inbox: Inbox[str] = Inbox()
    (answer,) = expected(inbox, 1)
    began = time.monotonic()
    assert inbox.take(0.05) == []
    assert time.monotonic() - began >= 0.04
    timer = threading.Timer(0.05, answer.set_result, ["late"])
    timer.start()
    assert [call for _, call, _ in inbox.take(30.0)] == [1]
    timer.join()
