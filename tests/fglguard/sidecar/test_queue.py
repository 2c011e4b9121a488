from fglguard.sidecar.queue import Queue


def test_as_many_as_it_holds_each_leaving_once():
    queue = Queue(2)
    first, second = queue.enter(), queue.enter()
    assert queue.enter() is None
    first()
    first()
    assert queue.depth == 1
    assert queue.enter() is not None
    second()
    assert queue.depth == 1
    queue.close()
    assert queue.closed
