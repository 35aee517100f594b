"""Buffers that outlive a call: what one method leaves unfinished, another one, or the next call, may meet too early.

Between two calls lies code that is not seen, and it may wait. So an access counts as a hazard only where the class
itself shows that the wait is its methods' business: another access of the same kind to the same buffer waits first
(of several uses, the deviant one is the mistake; compare Engler et al., "Bugs as Deviant Behavior", SOSP 2001).
Without such a sign it is a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from syncfinder.infer.frame import CONFIDENCE
from syncfinder.infer.pending import Make, Touch, Wait, Work, flow_of, overlap
from syncfinder.infer.values import LIKELY, POSSIBLE, Class

if TYPE_CHECKING:
    from syncfinder.infer.frame import Frame
    from syncfinder.infer.project import Project


@dataclass(slots=True)
class Access:
    """A host access to a buffer at one place. `guarded`: some caller, or its function, waits before it."""

    touch: Touch
    guarded: bool
    users: set[Class] = field(default_factory=set)  # the classes whose methods come to it


@dataclass(slots=True)
class Shared:
    """One buffer: the host's accesses by place, and the work that functions leave unfinished, with their classes."""

    accesses: dict[object, Access] = field(default_factory=dict)
    left: dict[Work, set[Class]] = field(default_factory=dict)


def keep(frame: Frame) -> None:
    """Note what a method does to buffers that it has not made."""
    owner = frame.owner
    if owner is None or frame.partial or frame.context == "setup" or all(type(a) is Wait for a in frame.log):
        return
    shared = frame.project.shared
    made = {a.origin for a in frame.log if isinstance(a, Make)}
    guarded = False
    for action in frame.log:
        guarded = guarded or isinstance(action, Wait)
        if not isinstance(action, Touch) or len(action.buffers) != 1:
            continue
        (buffer,) = action.buffers
        if buffer.origin[0] == "site" and buffer.origin not in made and not buffer.several:
            key = (action.site.span, action.module.filename)
            accesses = shared.setdefault(buffer.origin, Shared()).accesses
            access = accesses.setdefault(key, Access(action, guarded))
            access.guarded = access.guarded or guarded
            access.users.add(owner)
    for work in flow_of(frame).open:
        if work.host and work.buffer.origin[0] == "site" and work.buffer.origin not in made:
            shared.setdefault(work.buffer.origin, Shared()).left.setdefault(work, set()).add(owner)


def link(project: Project) -> None:
    """Publish the accesses that no wait guards, though what one call leaves unfinished may meet them."""
    for shared in project.shared.values():
        guarded = {a.touch.writes for a in shared.accesses.values() if a.guarded}
        for access in shared.accesses.values():
            touch = access.touch
            if access.guarded or not touch.module.checked:
                continue
            met = [w for w, users in shared.left.items() if touch.writes != w.writes and users & access.users]
            works = [w for w in met if not w.buffer.several and any(overlap(w.buffer, b) for b in touch.buffers)]
            if works:
                publish(touch, works[0], LIKELY if touch.writes in guarded else POSSIBLE)


def publish(touch: Touch, work: Work, sure: int) -> None:
    facts = {**touch.site.facts, "copy": "to-host" if work.writes else "to-device"}
    site = replace(touch.site, confidence=CONFIDENCE[sure], why=(work.reason,), related=(work.reason,), facts=facts)
    touch.module.add_site(site, touch.function, called=True)
