import Synchronization

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
