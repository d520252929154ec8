import Synchronization

/// The bound on images whose bytes are on their way or have arrived, and are not stored yet: 512, or 16 MiB of memory.
///
/// Past either limit the room is full, until half of it is free again.
final class Room: Sendable {
    private static let mostBytes: Int64 = 16 << 20
    private static let most = 512
    /// A count that fills every room.
    static let all = 2 * most

    private struct Content {
        let fullness: @Sendable (_ isFull: Bool) -> Void
        var bytes: Int64 = 0
        var count = 0
        var isFull = false {
            didSet { if isFull != oldValue { fullness(isFull) } }
        }
        var waiting: [(work: any StoreWork, bytes: Int64, count: Int)] = []

        mutating func add(_ bytes: Int64, _ count: Int) {
            self.bytes += bytes
            self.count += count
            let share = isFull ? 2 : 1
            isFull = self.count > Room.most / share || self.bytes > Room.mostBytes / Int64(share)
        }
    }

    private let content: Mutex<Content>

    /// `fullness` is called under the lock when the room becomes full and when it is no longer, so that the calls come in
    /// order.
    init(_ fullness: @escaping @Sendable (_ isFull: Bool) -> Void = { _ in }) {
        content = Mutex(Content(fullness: fullness))
    }

    /// Adds to the content, or takes from it, and adds the work that has waited for that to the workers.
    func change(bytes: Int64, count: Int) {
        let admitted = content.withLock { content in
            content.add(bytes, count)
            var admitted: [any StoreWork] = []
            while !content.isFull, admitted.count < content.waiting.count {
                let next = content.waiting[admitted.count]
                content.add(next.bytes, next.count)
                admitted.append(next.work)
            }
            content.waiting.removeFirst(admitted.count)
            return admitted
        }
        StoreWorkers.shared.add(admitted)
    }

    /// Reserves room for bodies. Returns false if there is none; the work is then added to the workers when there is, and has
    /// the room.
    func reserve(_ bytes: Int64, count: Int = 1, for work: any StoreWork) -> Bool {
        content.withLock { content in
            if content.isFull { content.waiting.append((work, bytes, count)) } else { content.add(bytes, count) }
            return content.waiting.isEmpty
        }
    }
}
