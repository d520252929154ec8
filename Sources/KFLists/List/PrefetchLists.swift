import Glibc
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// Lists of images, plain or gzipped, which are read one after the other during a run.
public final class PrefetchLists: PrefetchInput {
    private struct Reading: ~Copyable {
        var rest: ArraySlice<String>
        var current: PrefetchList?
        var number = 0
        var position = 0
        /// Whether a list could not be read to its end.
        var hasGap = false
        /// The members that the options name and no object of a list has.
        var absent: [String] = []
        /// The columns of the first list that has names for them.
        var columns: [String]?
        /// The bytes of the lists before the current one.
        var before: Int64 = 0
        /// The number of lists that were not read to their end, because the run ended before.
        var unread = 0
    }

    private enum Phase: UInt8, AtomicRepresentable {
        case reading
        /// The items are only counted. No read waits any more.
        case finishing
        case closed
    }

    /// The size of all lists in bytes; nil if one of them is not a regular file.
    public let size: Int64?
    private let options: ListOptions
    private let state: Mutex<Reading>
    private let position = Atomic<Int64>(0)
    private let items = Atomic<Int>(0)
    private let finished = Mutex<ContinuousClock.Instant?>(nil)
    private let phase = Atomic(Phase.reading)
    private let bell: Bell
    private let thread = WorkerPool(label: "kf.list", width: 1)

    /// Creates the input. `-` is standard input; each file is opened when its turn comes. Throws `dataProviderError`
    /// (5003) if the process has no free descriptor.
    public convenience init(paths: [String], options: ListOptions = ListOptions()) throws(KingfisherError) {
        try self.init(paths: paths, options: options, longestRest: .seconds(5))
    }

    /// `longestRest` is the time for which lists are read on after `finish`.
    init(paths: [String], options: ListOptions = ListOptions(), longestRest: Duration) throws(KingfisherError) {
        self.options = options
        self.longestRest = longestRest
        do { bell = try Bell() } catch {
            throw .sourceError(reason: .dataProviderError(detail: error.message))
        }
        state = Mutex(Reading(rest: paths[...]))
        size = Self.size(paths)
    }

    /// The estimated number of items, extrapolated from the part that has been read; nil while unknown.
    public var expectedItems: Int? {
        guard let size, size > 0 else { return nil }
        let read = position.load(ordering: .relaxed)
        let items = items.load(ordering: .relaxed)
        if read >= size { return items }
        return read > 0 ? Int(clamping: Double(items) * Double(size) / Double(read)) : nil
    }

    /// The members that the options name and that no object had, of lists that were read to their end.
    package var absentMembers: [String] { state.withLock { $0.absent } }

    /// Returns the errors of the lists that cannot be read: missing files, directories, and files without permission.
    package static func unreadable(_ paths: [String]) -> [KingfisherError] {
        paths.compactMap { path in
            let isDirectory = status(of: path)?.isDirectory
            if isDirectory == false, path == "-" || path.withPath({ access($0, R_OK) }) == 0 { return nil }
            return PrefetchList.failure(path, describe(errno: isDirectory == true ? EISDIR : errno))
        }
    }

    private static func status(of path: String) -> stat? {
        if path != "-" { return stat(path, followingLinks: true) }
        var status = stat()
        return fstat(0, &status) == 0 ? status : nil
    }

    /// The time for which lists are read on after `finish`.
    private let longestRest: Duration

    package func finish() {
        finished.withLock { $0 = $0 ?? .now }
        _ = phase.compareExchange(expected: .reading, desired: .finishing, ordering: .relaxed)
        bell.ring()
    }

    package func close() {
        phase.store(.closed, ordering: .relaxed)
        bell.ring()
    }

    /// Ends the lists. Returns no items, because those of unread lines are unknown.
    package func abandon() -> [PrefetchItem] {
        close()
        return []
    }

    /// Returns the items that were read since the last call.
    package func next(visiting visit: PrefetchVisit?) async -> PrefetchReading {
        await thread.run { [self] in state.withLock { read(&$0, visit) } }
    }

    private func read(_ state: inout Reading, _ visit: PrefetchVisit?) -> PrefetchReading {
        while true {
            let phase = phase.load(ordering: .relaxed)
            if phase == .closed || hasReadOnTooLong { return end(&state) }
            do throws(KingfisherError) {
                if state.current == nil {
                    guard let path = state.rest.popFirst() else { return end(&state) }
                    if phase == .finishing, !Self.isRegular(path) {
                        state.unread += 1
                        continue
                    }
                    state.current = try PrefetchList(path, options, bell: bell)
                }
                let found = try state.current?.next(onlyCounting: phase == .finishing)
                position.store(state.before + (state.current?.position ?? 0), ordering: .relaxed)
                guard var found else {
                    if state.current?.wasStopped == true { state.unread += 1 }
                    leave(&state)
                    continue
                }
                if found.isEmpty { continue }
                try checkColumns(found, &state)
                for index in found.indices {
                    state.number += 1
                    if !found[index].isElsewhere { state.position += 1 }
                    found[index].number = state.number
                    found[index].position = state.position
                    found[index].followsGap = state.hasGap
                    visit?(&found[index])
                }
                found.removeAll(where: \.isElsewhere)
                if found.isEmpty { continue }
                items.add(found.count, ordering: .relaxed)
                return .items(found)
            } catch {
                leave(&state)
                state.hasGap = true
                return .broken(error)
            }
        }
    }

    private func checkColumns(_ found: [PrefetchItem], _ state: inout Reading) throws(KingfisherError) {
        guard options.needsSameColumns, let first = found.first, let names = first.columnNames else { return }
        guard state.columns ?? names == names else {
            throw PrefetchList.failure(
                first.list, "its columns are not those of the first list; results as jsonl can have both")
        }
        state.columns = names
    }

    private var hasReadOnTooLong: Bool {
        finished.withLock { $0.map { $0.duration(to: .now) > longestRest } ?? false }
    }

    private func end(_ state: inout Reading) -> PrefetchReading {
        if state.current != nil { state.unread += 1 }
        state.unread += state.rest.count
        state.rest = []
        state.current = nil
        return .end(unread: state.unread)
    }

    private func leave(_ state: inout Reading) {
        for name in state.current?.absentMembers ?? [] where !state.absent.contains(name) { state.absent.append(name) }
        state.before += state.current?.size ?? 0
        state.current = nil
    }

    private static func size(_ paths: [String]) -> Int64? {
        var sum: Int64 = 0
        for path in paths {
            guard let status = status(of: path), status.isRegularFile else { return nil }
            sum += Int64(status.st_size)
        }
        return sum
    }

    private static func isRegular(_ path: String) -> Bool { size([path]) != nil }
}

struct PrefetchList: ~Copyable, Sendable {
    let path: String
    /// The size in bytes; nil if it is not a regular file.
    let size: Int64?
    private var bytes: ListBytes
    private var splitter: RecordSplitter
    private var parser: ListParser
    private var isAtEnd = false
    /// The maximum number of items per call: a block of short lines has a hundred thousand.
    private static let most = 256

    /// Opens a list. `-` is standard input, whose format is lines unless the options set another. Throws
    /// `dataProviderError` (5003).
    init(_ path: String, _ options: ListOptions, bell: Bell) throws(KingfisherError) {
        self.path = path
        do throws(StorageError) {
            let file = try Self.open(path)
            let status = try file.status()
            guard !status.isDirectory else { throw StorageError.system(call: "read", path: file.path, errno: EISDIR) }
            size = status.isRegularFile ? Int64(status.st_size) : nil
            bytes = ListBytes(file, isRegular: status.isRegularFile, bell: bell)
        } catch {
            throw Self.failure(path, error.reason)
        }
        let format = options.format ?? ListFormat(fileName: path)
        splitter = RecordSplitter(delimiter: format.delimiter, choosesDelimiter: format == .csv)
        parser = ListParser(format, options, path: path)
    }

    private static func open(_ path: String) throws(StorageError) -> FileDescriptor {
        if path == "-" {
            return FileDescriptor(taking: try retry("dup", "standard input") { dup(0) }, path: "standard input")
        }
        // Opening a FIFO without a writer would block; the bell ends the wait for one.
        let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
        try retry("fcntl", path) { fcntl(file.raw, F_SETFL, 0) }
        return file
    }

    /// The members that the options name and no object has had so far.
    var absentMembers: [String] { parser.absent.map(\.text) }

    var wasStopped: Bool { bytes.wasStopped }

    /// The bytes of the file whose items have been returned; approximate for a compressed file.
    var position: Int64 {
        let pending = Int64(splitter.pending)
        guard pending > 0, bytes.given > 0 else { return bytes.position }
        return Int64(clamping: Double(bytes.position) * Double(bytes.given - pending) / Double(bytes.given))
    }

    /// Returns the next items, at most 256, from at most one block of the list; empty if the block has none, nil at the
    /// end. Throws `dataProviderError` (5003) where the list cannot be read any further.
    mutating func next(onlyCounting: Bool = false) throws(KingfisherError) -> [PrefetchItem]? {
        guard !isAtEnd else { return nil }
        parser.onlyCounts = onlyCounting
        do {
            var items = try takeItems()
            // Available items do not wait for the next block: a pipe may be slow.
            guard items.isEmpty else { return items }
            let block = try bytes.next()
            // The beginning of a line is no item when the run ends.
            if block.isEmpty, wasStopped { return nil }
            if block.isEmpty { splitter.finish() } else { splitter.feed(block) }
            items = try takeItems()
            isAtEnd = block.isEmpty && items.isEmpty
            if isAtEnd { try parser.finish() }
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
        while items.count < Self.most {
            if let item = parser.next() {
                items.append(item)
            } else if let record = splitter.next() {
                if let item = try parser.take(record, delimiter: splitter.delimiter) { items.append(item) }
            } else {
                break
            }
        }
        return items
    }

    static func failure(_ path: String, _ detail: String) -> KingfisherError {
        let name = path == "-" ? "standard input" : path
        return .sourceError(reason: .dataProviderError(detail: "\(name): \(detail)"))
    }
}
