"""Lists: exact pages, whichever way they are turned."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_retry import ids, listing
from job_retry.errors import InvalidFieldError, TooCostlyError
from job_retry.job import Job, Status
from job_retry.listing import MAX_READS, ListRequest
from job_retry.memory import MemoryStore
from job_retry.store import partition_of
from tests.unit.builders import T0, Queue, a_job

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from job_retry.lanes import Partition
    from job_retry.store import Page, Start


MANY_PAGES = 100


def filled(jobs: Sequence[Job]) -> Queue:
    """Return a queue in which these jobs are."""
    queue = Queue()
    for job in jobs:
        queue.store.register(job.queue, job.priority)
        queue.store.add(job)
    return queue


def numbered(count: int, **more: Any) -> list[Job]:
    """Return jobs of a kind, each due a millisecond after the one before."""
    return [
        a_job(
            id=ids.new_id(T0 + n, Random(n)), run_after=T0 + n, **{"enqueue_token": str(n)} | more
        )
        for n in range(count)
    ]


def pages(queue: Queue, request: ListRequest) -> Iterator[list[int]]:
    """Walk a list by page number."""
    for _ in range(MANY_PAGES):
        answer = queue.engine.list_jobs(request)
        yield [job.id for job in answer.jobs]
        if not answer.more:
            return
        request = replace(request, page=request.page + 1)
    pytest.fail("the pages have no end")


def leaves(queue: Queue, request: ListRequest) -> Iterator[list[int]]:
    """Walk a list by cursor."""
    for _ in range(MANY_PAGES):
        answer = queue.engine.list_jobs(request)
        yield [job.id for job in answer.jobs]
        assert answer.more == (answer.next_cursor is not None)
        if answer.next_cursor is None:
            return
        request = replace(request, cursor=answer.next_cursor)
    pytest.fail("the cursors have no end")


def in_order(jobs: Sequence[Job], request: ListRequest) -> list[int]:
    """Return what a list must show, in the order that it promises."""
    wanted = [
        job
        for job in jobs
        if request.status in (None, job.status)
        and request.queue in (None, job.queue)
        and request.job_type in (None, job.job_type)
    ]
    wanted.sort(
        key=lambda job: (job.run_after, partition_of(job).key, job.id),
        reverse=request.newest_first,
    )
    return [job.id for job in wanted]


kinds = st.tuples(
    st.sampled_from(Status),
    st.sampled_from(["a", "b", "b.1"]),
    st.sampled_from(["mail", "post"]),
    st.sampled_from([0, 1, 9]),
    st.integers(0, 3),  # few moments, so that many jobs share one
)
requests = st.builds(
    ListRequest,
    status=st.none() | st.sampled_from(Status),
    queue=st.none() | st.sampled_from(["a", "b", "b.1", "none"]),
    job_type=st.none() | st.sampled_from(["mail", "post", "none"]),
    per_page=st.integers(1, 7),
    newest_first=st.booleans(),
)


@given(st.lists(kinds, max_size=40), requests)
def test_every_walk_shows_exactly_what_matches(
    drawn: list[tuple[Status, str, str, int, int]], request: ListRequest
) -> None:
    jobs = [
        a_job(
            status,
            id=1000 + number * 7 % 41,
            queue=name,
            job_type=job_type,
            priority=priority,
            run_after=T0 + moment,
            enqueue_token=str(number),
        )
        for number, (status, name, job_type, priority, moment) in enumerate(drawn)
    ]
    queue = filled(jobs)
    expected = in_order(jobs, request)
    for walk in (pages, leaves):
        walked = list(walk(queue, request))
        assert [each for page in walked for each in page] == expected
        assert all(len(page) == request.per_page for page in walked[:-1])
        assert len(walked[-1]) > 0 or not expected


@given(st.integers(0, 30), st.integers(1, 10), st.integers(1, 12))
def test_any_page_may_be_asked_for(count: int, per_page: int, page: int) -> None:
    jobs = numbered(count)
    request = ListRequest(per_page=per_page, page=page)
    answer = filled(jobs).engine.list_jobs(request)
    expected = in_order(jobs, request)
    begin = (page - 1) * per_page
    assert [job.id for job in answer.jobs] == expected[begin : begin + per_page]
    assert answer.more == (count > begin + per_page)


def test_the_latest_comes_first_unless_asked_otherwise() -> None:
    jobs = numbered(3)
    queue = filled(jobs)
    newest = queue.engine.list_jobs(ListRequest()).jobs
    oldest = queue.engine.list_jobs(ListRequest(newest_first=False)).jobs
    assert [job.id for job in newest] == [job.id for job in reversed(jobs)]
    assert [job.id for job in oldest] == [job.id for job in jobs]


def test_a_filter_never_yields_a_short_page_while_more_match() -> None:
    others, wanted = numbered(600), numbered(30, job_type="rare")
    rare = [replace(job, run_after=T0 - 1000 + n) for n, job in enumerate(wanted)]
    for n, job in enumerate(rare):
        rare[n] = replace(job, id=job.id + 2**40)
    answer = filled(others + rare).engine.list_jobs(ListRequest(job_type="rare"))
    assert len(answer.jobs) == 25
    assert answer.more


def test_an_empty_list_has_no_cursor() -> None:
    answer = Queue().engine.list_jobs(ListRequest())
    assert (list(answer.jobs), answer.more, answer.next_cursor) == ([], False, None)


def test_a_queue_just_begun_is_listed_at_once() -> None:
    queue = Queue()
    assert list(queue.engine.list_jobs(ListRequest(queue="new")).jobs) == []
    job = queue.enqueue(queue="new")
    assert [each.id for each in queue.engine.list_jobs(ListRequest(queue="new")).jobs] == [job.id]


# -- while jobs move ---------------------------------------------------------------------


class MovingStore(MemoryStore):
    """A store in which jobs change between the look at the index and the read of records."""

    def __init__(self) -> None:
        super().__init__()
        self.moves: dict[int, Status | None] = {}

    def read_many(self, job_ids: Sequence[int]) -> dict[int, Job]:
        """Move the jobs first."""
        for job_id, status in self.moves.items():
            if status is None:
                self._jobs.pop(job_id, None)
            else:
                self._jobs[job_id] = replace(self._jobs[job_id], status=status)
        return super().read_many(job_ids)


def moving(jobs: Sequence[Job], moves: dict[int, Status | None]) -> Queue:
    store = MovingStore()
    for job in jobs:
        store.register(job.queue, job.priority)
        store.add(job)
    store.moves = moves
    return Queue(store=store)


def test_a_job_that_no_longer_matches_is_left_out_and_the_page_still_full() -> None:
    jobs = numbered(10)
    queue = moving(jobs, {jobs[1].id: Status.RUNNING, jobs[2].id: None})
    request = ListRequest(status=Status.QUEUED, per_page=4, newest_first=False)
    answer = queue.engine.list_jobs(request)
    expected = [jobs[place].id for place in (0, 3, 4, 5)]
    assert [job.id for job in answer.jobs] == expected
    assert answer.more


def test_a_job_that_moved_is_shown_as_it_is() -> None:
    jobs = numbered(3)
    queue = moving(jobs, {jobs[1].id: Status.RUNNING})
    (_, moved, _) = queue.engine.list_jobs(ListRequest(newest_first=False)).jobs
    assert moved.status is Status.RUNNING


class TwiceSeenStore(MemoryStore):
    """A store whose index shows a job in its old partition and in its new one."""

    def rows(
        self,
        partition: Partition,
        *,
        limit: int,
        newest_first: bool = False,
        start: Start | None = None,
    ) -> Page:
        """Show what is running as queued too."""
        page = super().rows(
            partition._replace(status=Status.RUNNING)
            if partition.status is Status.QUEUED
            else partition,
            limit=limit,
            newest_first=newest_first,
            start=start,
        )
        return page._replace(rows=[row._replace(partition=partition) for row in page.rows])


def test_no_job_stands_twice_on_a_page() -> None:
    store = TwiceSeenStore()
    jobs = numbered(3, status=Status.RUNNING)
    for job in jobs:
        store.register(job.queue, job.priority)
        store.add(job)
    answer = Queue(store=store).engine.list_jobs(ListRequest(newest_first=False))
    assert [job.id for job in answer.jobs] == [job.id for job in jobs]


# -- cursors -----------------------------------------------------------------------------


def cursor(*place: object) -> str:
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


KEY = "queued#default#0.0"

JUNK = [
    "",
    "junk",
    "!!!!",
    "é",
    "a" * 1024,
    "bnVsbA",  # null
    "e30",  # {}
    "W10",  # []
    "gICA",  # no UTF-8
    cursor("desc", T0, KEY),
    cursor("desc", T0, KEY, 1, 2),
    cursor("asc", T0, KEY, 1),
    cursor("DESC", T0, KEY, 1),
    cursor(None, T0, KEY, 1),
    cursor("desc", -1, KEY, 1),
    cursor("desc", 10**18, KEY, 1),
    cursor("desc", T0 + 0.5, KEY, 1),
    cursor("desc", str(T0), KEY, 1),
    cursor("desc", True, KEY, 1),  # noqa: FBT003 - a JSON value
    cursor("desc", None, KEY, 1),
    cursor("desc", [T0], KEY, 1),
    cursor("desc", T0, "queued#other#0.0", 1),
    cursor("desc", T0, "dead#default#0.0", 1),
    cursor("desc", T0, None, 1),
    cursor("desc", T0, ["queued#default#0.0"], 1),
    cursor("desc", T0, {}, 1),
    cursor("desc", T0, KEY, -1),
    cursor("desc", T0, KEY, 2**53),
    cursor("desc", T0, KEY, "1"),
    urlsafe_b64encode(b"[" * 700).decode(),
    urlsafe_b64encode(b"7" * 700).decode(),
    urlsafe_b64encode(b'["desc",NaN,"queued#default#0.0",1]').decode(),
]


@pytest.mark.parametrize("text", JUNK)
def test_a_junk_cursor_is_refused(text: str) -> None:
    queue = filled(numbered(3))
    with pytest.raises(InvalidFieldError) as refused:
        queue.engine.list_jobs(ListRequest(status=Status.QUEUED, cursor=text))
    assert refused.value.field == "cursor"


def encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode()


@given(st.text(max_size=60) | st.binary(max_size=60).map(encoded))
def test_no_cursor_breaks_anything(text: str) -> None:
    with suppress(InvalidFieldError):
        filled(numbered(1)).engine.list_jobs(ListRequest(cursor=text))


def test_a_cursor_goes_on_although_its_job_is_gone() -> None:
    queue = filled(jobs := numbered(6, status=Status.DEAD))
    first = queue.engine.list_jobs(ListRequest(per_page=2, newest_first=False))
    queue.engine.delete(jobs[1].id)
    rest = queue.engine.list_jobs(ListRequest(newest_first=False, cursor=first.next_cursor))
    assert [job.id for job in rest.jobs] == [job.id for job in jobs[2:]]


def test_a_cursor_of_another_filter_is_refused() -> None:
    queue = filled(numbered(6) + numbered(0))
    answer = queue.engine.list_jobs(ListRequest(per_page=2))
    for other in (
        ListRequest(newest_first=False),
        ListRequest(status=Status.DEAD),
        ListRequest(queue="other"),
    ):
        with pytest.raises(InvalidFieldError):
            queue.engine.list_jobs(replace(other, cursor=answer.next_cursor))


# -- what a list may cost ----------------------------------------------------------------


@pytest.fixture
def few_reads(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let a list cost little, so that few jobs are enough to go over it."""
    reads = 100
    monkeypatch.setattr(listing, "MAX_READS", reads)
    return reads


def test_the_limit_is_ten_thousand() -> None:
    assert MAX_READS == 10_000


def test_a_page_too_far_says_so_and_where_to_go_on(few_reads: int) -> None:
    queue = filled(jobs := numbered(2 * few_reads))
    with pytest.raises(TooCostlyError, match="more than 100 reads") as refused:
        queue.engine.list_jobs(ListRequest(page=40, per_page=5, newest_first=False))
    answer = queue.engine.list_jobs(
        ListRequest(per_page=5, newest_first=False, cursor=refused.value.next_cursor)
    )
    order = [job.id for job in jobs]
    begin = order.index(answer.jobs[0].id)
    assert few_reads - 20 < begin <= few_reads
    assert [job.id for job in answer.jobs] == order[begin : begin + 5]


def test_wherever_the_reads_end_there_is_a_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    # at a row, or at the query for the next rows of a partition
    queue = filled(numbered(600))
    for reads in [*range(245, 256), *range(495, 506)]:
        monkeypatch.setattr(listing, "MAX_READS", reads)
        with pytest.raises(TooCostlyError) as refused:
            queue.engine.list_jobs(ListRequest(page=200))
        assert refused.value.next_cursor is not None, reads


@pytest.mark.usefixtures("few_reads")
def test_a_filter_that_nothing_matches_can_be_walked_to_its_end() -> None:
    queue = filled(numbered(250))
    request = ListRequest(job_type="none")
    for _ in range(2):
        with pytest.raises(TooCostlyError) as refused:
            queue.engine.list_jobs(request)
        assert refused.value.next_cursor not in (None, request.cursor)
        request = replace(request, cursor=refused.value.next_cursor)
    answer = queue.engine.list_jobs(request)
    assert (list(answer.jobs), answer.more) == ([], False)


def test_rows_and_queries_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = filled(numbered(300))
    request = ListRequest(page=100, status=Status.QUEUED)
    cost = 2 + 300  # two queries of at most 250 rows
    monkeypatch.setattr(listing, "MAX_READS", cost)
    assert list(queue.engine.list_jobs(request).jobs) == []
    monkeypatch.setattr(listing, "MAX_READS", cost - 1)
    with pytest.raises(TooCostlyError):
        queue.engine.list_jobs(request)


@pytest.mark.usefixtures("few_reads")
def test_a_page_within_the_limit_is_not_refused() -> None:
    queue = filled(numbered(500))
    assert len(queue.engine.list_jobs(ListRequest(per_page=60)).jobs) == 60


def test_too_many_partitions_cost_too_much_by_themselves(few_reads: int) -> None:
    queue = Queue()
    for number in range(few_reads // 5 + 1):  # each with five states
        queue.store.register(f"q{number}", 0)
    with pytest.raises(TooCostlyError) as refused:
        queue.engine.list_jobs(ListRequest())
    assert refused.value.next_cursor is None
    assert "next_cursor" not in str(refused.value)
    assert list(queue.engine.list_jobs(ListRequest(status=Status.DEAD)).jobs) == []


def test_what_was_found_before_the_reads_ran_out_comes_with_the_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "MAX_READS", 100)
    jobs = numbered(250)
    for place in (5, 240):
        jobs[place] = replace(jobs[place], job_type="rare")
    queue = filled(jobs)
    request = ListRequest(job_type="rare", newest_first=False)
    shown: list[int] = []
    for _ in range(10):
        try:
            answer = queue.engine.list_jobs(request)
        except TooCostlyError as refused:
            shown += [job.id for job in refused.jobs]
            request = replace(request, cursor=refused.next_cursor)
        else:
            shown += [job.id for job in answer.jobs]
            break
    assert shown == [jobs[5].id, jobs[240].id]
