import Glibc
import KFStorage
import KFSystem
import Synchronization

/// Lists of images, plain or gzipped, that are read one after the other while they are worked off.
public final class PrefetchLists: PrefetchInput {
    private struct State: ~Copyable {
        var rest: ArraySlice<String>
        var current: PrefetchList?
        var number = 0
        /// Bytes of the lists before the current one.
        var before: Int64 = 0
    }

    /// Of all lists, in bytes; nil when one of them is no regular file.
    public let size: Int64?
    private let options: ListOptions
    private let state: Mutex<State>
    private let position = Atomic<Int64>(0)
    private let items = Atomic<Int>(0)
    private let isClosed = Atomic(false)
    private let bell: Bell
    private let thread = WorkerPool(label: "kf.list", width: 1)

    /// `-` is standard input. Files are opened when their turn comes. Throws `dataProviderError` (5003) when the process
    /// has no descriptor left.
    public init(paths: [String], options: ListOptions = ListOptions()) throws(KingfisherError) {
        self.options = options
        do { bell = try Bell() } catch {
            throw .sourceError(reason: .dataProviderError(detail: error.message))
        }
        state = Mutex(State(rest: paths[...]))
        size = Self.size(paths)
    }

    /// How many items there will be, as far as the part that was read lets guess; nil while that cannot be said.
    public var expectedItems: Int? {
        guard let size, size > 0 else { return nil }
        let read = position.load(ordering: .relaxed)
        let items = items.load(ordering: .relaxed)
        if read >= size { return items }
        return read > 0 ? Int(Double(items) * Double(size) / Double(read)) : nil
    }

    /// Ends the lists here; who waits for the next lines gets none.
    func close() {
        isClosed.store(true, ordering: .relaxed)
        bell.ring()
    }

    /// Nobody knows what the lines that were not read ask for.
    func abandon() -> [PrefetchItem] {
        close()
        return []
    }

    /// The items of what has come since the last call.
    func next() async -> PrefetchReading { await thread.run { [self] in state.withLock { read(&$0) } } }

    private func read(_ state: inout State) -> PrefetchReading {
        while !isClosed.load(ordering: .relaxed) {
            do throws(KingfisherError) {
                if state.current == nil {
                    guard let path = state.rest.popFirst() else { return .end }
                    state.current = try PrefetchList(path, options, bell: bell)
                }
                let found = try state.current?.next()
                position.store(state.before + (state.current?.position ?? 0), ordering: .relaxed)
                guard var found else {
                    leave(&state)
                    continue
                }
                if found.isEmpty { continue }
                for index in found.indices {
                    state.number += 1
                    found[index].number = state.number
                }
                items.store(state.number, ordering: .relaxed)
                return .items(found)
            } catch {
                leave(&state)
                return .broken(error)
            }
        }
        return .end
    }

    private func leave(_ state: inout State) {
        state.before += state.current?.size ?? 0
        state.current = nil
    }

    private static func size(_ paths: [String]) -> Int64? {
        var sum: Int64 = 0
        for path in paths {
            var status = stat()
            guard (path == "-" ? fstat(0, &status) : stat(path, &status)) == 0, status.isRegularFile else { return nil }
            sum += Int64(status.st_size)
        }
        return sum
    }
}
