import Dispatch
import Glibc
import KFSystem
import Synchronization

/// Stores or looks up so many entries in one process, and prints the milliseconds that it took.
///
/// `store DIRECTORY COUNT` into a new cache one by one, with as many stores in flight as a prefetch has; `submit DIRECTORY
/// COUNT` in arrays; `lookup DIRECTORY COUNT` reads them back from the index one by one, `bulk DIRECTORY COUNT`
/// in pages as `prefetch` does; `evict DIRECTORY BYTES` removes until no more is left.
@main
enum Bench {
    private static let inFlight = 64
    private static let size = 13_000

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int(arguments[3]) else { exit(2) }
        let start = ContinuousClock.now
        var configuration = DiskStorage.Configuration(path: arguments[2])
        configuration.sizeLimit = 0
        let storage = try DiskStorage(configuration)
        switch arguments[1] {
        case "store": try await store(storage, count)
        case "submit": try submit(storage, count)
        case "lookup":
            for index in 0..<count {
                guard let entry = try storage.entry(for: key(index)), try storage.open(entry) != nil else { exit(1) }
                storage.noteHits([entry], extending: nil)
            }
        case "bulk":
            for first in stride(from: 0, to: count, by: 1000) {
                let keys = (first..<min(count, first + 1000)).map(key)
                for case .absent in try storage.lookUp(keys) { exit(1) }
            }
        case "evict": _ = try storage.evict(to: Int64(count))
        default: exit(2)
        }
        storage.close()
        let span = start.duration(to: .now).components
        print(Double(span.seconds) * 1e3 + Double(span.attoseconds) / 1e15)
    }

    private static func key(_ index: Int) -> EntryKey { EntryKey(key: "http://images.example.com/small/\(index).png") }

    private static let facts = {
        var facts = EntryFacts()
        facts.host = "images.example.com"
        facts.format = "png"
        facts.fileExtension = "png"
        facts.pixels = PixelFacts(width: 64, height: 64, frames: 1)
        facts.etag = "\"5f3c-1a2b3c4d5e6f\""
        facts.lastModified = "Sat, 21 Nov 2026 10:00:00 GMT"
        return facts
    }()

    private static let pattern = (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7) }

    private static func prepared(_ index: Int, _ storage: DiskStorage) throws(StorageError) -> Store {
        var body = pattern
        withUnsafeBytes(of: UInt32(index).littleEndian) { body.replaceSubrange(0..<4, with: $0) }
        return try storage.prepare(body, key(index), facts)
    }

    private static func store(_ storage: DiskStorage, _ count: Int) async throws {
        let pool = WorkerPool(label: "bench", width: 4)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= inFlight { try await group.next() }
                group.addTask {
                    let change = try await pool.run { () throws(StorageError) -> Store in
                        try prepared(index, storage)
                    }
                    let outcome = await withCheckedContinuation { continuation in
                        storage.store([change], urgent: false) {
                            continuation.resume(returning: $0[0])
                        }
                    }
                    _ = try outcome.get()
                }
            }
            try await group.waitForAll()
        }
    }

    private static func submit(_ storage: DiskStorage, _ count: Int) throws {
        let group = DispatchGroup()
        // So many arrays in flight as a prefetch has bodies.
        let turns = DispatchSemaphore(value: 4)
        let failed = Atomic<Int>(0)
        for first in stride(from: 0, to: count, by: inFlight) {
            var orders: [Store] = []
            for index in first..<min(count, first + inFlight) {
                orders.append(try prepared(index, storage))
            }
            turns.wait()
            group.enter()
            storage.store(orders, urgent: false) { outcomes in
                for outcome in outcomes {
                    guard case .failure(let error) = outcome else { continue }
                    if failed.add(1, ordering: .relaxed).oldValue == 0 { print(error.message) }
                }
                turns.signal()
                group.leave()
            }
        }
        group.wait()
        guard failed.load(ordering: .relaxed) == 0 else { exit(1) }
    }
}
