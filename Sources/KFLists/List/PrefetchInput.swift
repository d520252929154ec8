import KFTerms
import Synchronization

package protocol PrefetchInput: Sendable {
    /// Returns the next items. `visit` is called for each of them, one at a time and in their order.
    func next(visiting visit: PrefetchVisit?) async -> PrefetchReading
    /// Lets `next` return only what is left of a known length: its items are counted and not tried. No read waits any
    /// more.
    func finish()
    /// Ends the input. A pending `next` returns no items.
    func close()
    /// Ends the input, and returns the known items that have not been taken.
    func abandon() -> [PrefetchItem]
}

extension PrefetchInput {
    package func next() async -> PrefetchReading { await next(visiting: nil) }
}

package typealias PrefetchVisit = @Sendable (inout PrefetchItem) -> Void

package enum PrefetchReading: Sendable {
    case items([PrefetchItem])
    /// A list could not be read to its end; the next one may be readable.
    case broken(KingfisherError)
    /// `unread` lists were not read to their end, because the run ended before.
    case end(unread: Int)
}

/// Sources as input, block by block: an array, or the operands of a command.
package final class PrefetchSources: PrefetchInput {
    /// A source with its name in reports. `read` replaces the source, by which the copies of the image are named.
    package typealias Operand = (text: String, source: Result<Source, KingfisherError>, read: Reader?)

    /// Reads a source that takes time, such as standard input.
    package typealias Reader = @Sendable () async -> Result<Source, KingfisherError>

    private struct State {
        var rest: Range<Int>
        var isFinishing = false
    }

    private let first: Int
    private let block: Int
    private let operand: @Sendable (Int) -> Operand
    private let state: Mutex<State>

    /// Creates the input. `operand` is called for the numbers one at a time, in their order, and when their turn comes.
    /// The default `block` is one look-up.
    package init(_ numbers: Range<Int>, block: Int = 256, _ operand: @escaping @Sendable (Int) -> Operand) {
        first = numbers.lowerBound
        self.block = max(1, block)
        self.operand = operand
        state = Mutex(State(rest: numbers))
    }

    package convenience init(_ sources: [Source]) {
        self.init(1..<sources.count + 1) { number in
            (sources[number - 1].name, .success(sources[number - 1]), nil)
        }
    }

    package func next(visiting visit: PrefetchVisit?) async -> PrefetchReading {
        let (items, read) = state.withLock { state -> ([PrefetchItem], Reader?) in
            var items: [PrefetchItem] = []
            while items.count < block, let number = state.rest.first {
                let operand = operand(number)
                let read = state.isFinishing ? nil : operand.read
                // The others do not wait for one that takes time.
                if read != nil, !items.isEmpty { break }
                state.rest.removeFirst()
                var item = makeItem(number, operand)
                visit?(&item)
                items.append(item)
                if read != nil { return (items, read) }
            }
            return (items, nil)
        }
        guard let only = items.first else { return .end(unread: 0) }
        guard let read else { return .items(items) }
        var item = makeItem(only.number, (only.text, await read(), nil))
        item.claim = only.claim
        return .items([item])
    }

    package func finish() { state.withLock { $0.isFinishing = true } }

    package func close() { state.withLock { $0.rest = $0.rest.suffix(0) } }

    package func abandon() -> [PrefetchItem] {
        state.withLock { state in
            defer { state.rest = state.rest.suffix(0) }
            return state.rest.map { makeItem($0, operand($0)) }
        }
    }

    private func makeItem(_ number: Int, _ operand: Operand) -> PrefetchItem {
        var facts = PrefetchItem.Facts(line: number, text: operand.text)
        var details: PrefetchItem.Details?
        switch operand.source {
        case .success(let source): facts.source = source
        case .failure(let error): details = PrefetchItem.Details(problem: error)
        }
        var item = PrefetchItem(facts, details)
        (item.number, item.position) = (number, number - first + 1)
        return item
    }
}
