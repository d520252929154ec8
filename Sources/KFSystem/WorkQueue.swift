/// A queue, first in, first out. What was taken is released even if the queue never empties.
///
/// Inlinable, so that other modules specialise it: it is on the way of every image.
package struct WorkQueue<Work> {
    /// The queued works from `head` on. Earlier slots are nil.
    @usableFromInline var slots: [Work?] = []
    @usableFromInline var head = 0

    @inlinable package init() {}

    @inlinable package var count: Int { slots.count - head }

    @inlinable package mutating func append(_ work: Work) { slots.append(work) }

    @inlinable package mutating func popFirst() -> Work? {
        guard head < slots.count else {
            slots.removeAll(keepingCapacity: slots.capacity < 4096)
            head = 0
            return nil
        }
        defer {
            slots[head] = nil
            head += 1
            if head > 1024, head * 2 > slots.count {
                slots.removeFirst(head)
                head = 0
            }
        }
        return slots[head]
    }
}
