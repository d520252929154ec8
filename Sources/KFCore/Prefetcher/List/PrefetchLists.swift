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

/// One list while it is read.
struct PrefetchList: ~Copyable, Sendable {
    let path: String
    /// In bytes; nil when it is no regular file.
    let size: Int64?
    private var bytes: ListBytes
    private var splitter: RecordSplitter
    private var parser: ListParser
    private var isAtEnd = false
    /// The most items that are given out at once: a block of short lines has a hundred thousand.
    private static let most = 512

    /// `-` is standard input, whose lists are lines unless the options say otherwise. Throws `dataProviderError` (5003).
    init(_ path: String, _ options: ListOptions, bell: Bell) throws(KingfisherError) {
        self.path = path
        do throws(StorageError) {
            let file: FileDescriptor
            if path == "-" {
                file = FileDescriptor(taking: try retry("dup", "standard input") { dup(0) }, path: "standard input")
            } else {
                file = try .open(path, O_RDONLY)
            }
            let status = try file.status()
            guard !status.isDirectory else { throw StorageError.system(call: "read", path: file.path, errno: EISDIR) }
            size = status.isRegularFile ? Int64(status.st_size) : nil
            bytes = ListBytes(file, bell: bell)
        } catch {
            throw Self.failure(path, error.reason)
        }
        let format = options.format ?? ListFormat(fileName: path)
        splitter = RecordSplitter(format.rule)
        parser = ListParser(format, options)
    }

    /// Bytes of the file whose items were given out; of a packed one, about so many.
    var position: Int64 {
        let pending = Int64(splitter.pending)
        guard pending > 0, bytes.given > 0 else { return bytes.position }
        return Int64(Double(bytes.position) * Double(bytes.given - pending) / Double(bytes.given))
    }

    /// The next items, at most 512, of at most one block of the list; none when the block has none, nil at the end.
    /// Throws `dataProviderError` (5003) where the list cannot be read on.
    mutating func next() throws(KingfisherError) -> [PrefetchItem]? {
        guard !isAtEnd else { return nil }
        do {
            var items = try takeItems()
            // Items that are there do not wait for the next block: a pipe may take its time.
            guard items.isEmpty else { return items }
            let block = try bytes.next()
            if block.isEmpty { splitter.finish() } else { splitter.feed(block) }
            items = try takeItems()
            isAtEnd = block.isEmpty && items.isEmpty
            return items
        } catch {
            isAtEnd = true
            switch error {
            case ListProblem.unusable(let problem): throw Self.failure(path, problem)
            case let problem as ListProblem: throw Self.failure(path, "\(problem.message), in line \(splitter.reached)")
            case let error as StorageError: throw Self.failure(path, error.reason)
            default: preconditionFailure("lists throw nothing else: \(error)")
            }
        }
    }

    private mutating func takeItems() throws -> [PrefetchItem] {
        var items: [PrefetchItem] = []
        while items.count < Self.most, let record = splitter.next() {
            guard var item = try parser.item(record) else { continue }
            item.list = path
            items.append(item)
        }
        return items
    }

    private static func failure(_ path: String, _ detail: String) -> KingfisherError {
        let name = path == "-" ? "standard input" : path
        return .sourceError(reason: .dataProviderError(detail: "\(name): \(detail)"))
    }
}

extension StorageError {
    /// Without the path, which the list's name says better.
    fileprivate var reason: String {
        if case .system(_, _, let code) = self { return describe(errno: code) }
        return message
    }
}

/// Where a prefetcher takes its items from.
protocol PrefetchInput: Sendable {
    /// Some of the items, in their order.
    func next() async -> PrefetchReading
    /// Ends here; who waits for more gets none.
    func close()
    /// The same; gives those that are known and that nobody has taken.
    func abandon() -> [PrefetchItem]
}

/// What an input has to say.
enum PrefetchReading: Sendable {
    case items([PrefetchItem])
    /// A list that cannot be read, or not to its end; the next one may be.
    case broken(KingfisherError)
    case end
}

/// Sources that a program has at hand, handed out block by block.
final class PrefetchSources: PrefetchInput {
    /// As many as the index is asked for at once.
    private static let blockSize = 512

    private let rest: Mutex<ArraySlice<PrefetchItem>>

    init(_ sources: [Source]) {
        let items = sources.enumerated().map { index, source in
            var item = PrefetchItem(line: index + 1, record: [])
            item.number = index + 1
            item.text = source.name
            item.source = .success(source)
            return item
        }
        rest = Mutex(items[...])
    }

    func next() -> PrefetchReading {
        rest.withLock { rest in
            if rest.isEmpty { return .end }
            let block = Array(rest.prefix(Self.blockSize))
            rest = rest.dropFirst(Self.blockSize)
            return .items(block)
        }
    }

    func close() { _ = abandon() }

    func abandon() -> [PrefetchItem] {
        rest.withLock { rest in
            defer { rest = [] }
            return Array(rest)
        }
    }
}
