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
        var bytes: Int64 = 0
        var count = 0
        var isFull = false
        var waiting: [(work: any StoreWork, bytes: Int64)] = []

        mutating func add(_ bytes: Int64, _ count: Int) {
            self.bytes += bytes
            self.count += count
            let share = isFull ? 2 : 1
            isFull = self.count > Room.most / share || self.bytes > Room.mostBytes / Int64(share)
        }

        /// Admits the work that has waited, as far as there is room.
        mutating func admit() -> [any StoreWork] {
            var admitted: [any StoreWork] = []
            while !isFull, admitted.count < waiting.count {
                let next = waiting[admitted.count]
                add(next.bytes, 1)
                admitted.append(next.work)
            }
            waiting.removeFirst(admitted.count)
            return admitted
        }
    }

    private let content = Mutex(Content())
    /// Called under the lock when the room becomes full and when it is no longer, so that the calls come in order.
    private let fullness: @Sendable (_ isFull: Bool) -> Void

    init(_ fullness: @escaping @Sendable (_ isFull: Bool) -> Void = { _ in }) { self.fullness = fullness }

    /// Adds to the content, or takes from it. Adds the work that has waited for this to the workers.
    func change(bytes: Int64, count: Int) {
        StoreWorkers.shared.add(
            update { content in
                content.add(bytes, count)
                return content.admit()
            })
    }

    /// Takes room for a body. Returns false if there is none; the work is then added to the workers when there is, and has
    /// the room.
    func take(_ bytes: Int64, for work: any StoreWork) -> Bool {
        update { content in
            if content.isFull { content.waiting.append((work, bytes)) } else { content.add(bytes, 1) }
            return content.waiting.isEmpty
        }
    }

    private func update<Value>(_ change: (inout Content) -> Value) -> Value {
        content.withLock { content in
            let wasFull = content.isFull
            defer { if content.isFull != wasFull { fullness(content.isFull) } }
            return change(&content)
        }
    }
}
