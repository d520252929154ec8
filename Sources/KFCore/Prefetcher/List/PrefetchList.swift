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

    /// Bytes of the file that were read.
    var position: Int64 { bytes.position }

    /// The items of what has come since the last call; nil at the end. Throws `dataProviderError` (5003) where the list
    /// cannot be read on.
    mutating func next() throws(KingfisherError) -> [PrefetchItem]? {
        guard !isAtEnd else { return nil }
        do {
            let block = try bytes.next()
            isAtEnd = block.isEmpty
            var items: [PrefetchItem] = []
            for record in isAtEnd ? splitter.finish() : splitter.take(block) {
                if var item = try parser.item(record) {
                    item.list = path
                    items.append(item)
                }
            }
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
