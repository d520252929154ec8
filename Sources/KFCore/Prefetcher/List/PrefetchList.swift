import Glibc
import KFStorage

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
