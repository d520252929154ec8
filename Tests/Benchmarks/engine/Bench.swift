import Glibc
import Synchronization

/// Counts a body and lets it go.
final class CountingSink: TransferSink {
    let bytes = Atomic<Int>(0)

    func begin(_ head: ResponseHead) {}

    // Only the I/O thread writes.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        self.bytes.store(self.bytes.load(ordering: .relaxed) + bytes.count, ordering: .relaxed)
    }
}

// Unchecked, because a semaphore is made for threads.
final class Signal: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }
    deinit { semaphore.deallocate() }

    func send() { sem_post(semaphore) }
    func wait() { while sem_wait(semaphore) != 0 {} }
}

/// Starts as many transfers as have ended, until the list is through.
final class Refill: TransferReceiver {
    private struct State {
        var next = 0
        var ended = 0
        var failed = 0
        var received = 0
    }

    private let engine: TransferEngine
    private let urls: [String]
    private let terms: TransferTerms
    private let state = Mutex(State())
    private let done = Signal()

    init(_ engine: TransferEngine, _ urls: [String], _ options: TransferOptions) {
        self.engine = engine
        self.urls = urls
        terms = TransferTerms(options)
    }

    /// The number of transfers that failed, and of bytes that came.
    func run(window: Int) -> (failed: Int, received: Int) {
        start(window)
        done.wait()
        return state.withLock { ($0.failed, $0.received) }
    }

    func ended(_ transfers: [EndedTransfer]) {
        let isOver = state.withLock { state in
            for transfer in transfers {
                if case .failure = transfer.result { state.failed += 1 }
                state.received += (transfer.token as? CountingSink)?.bytes.load(ordering: .relaxed) ?? 0
            }
            state.ended += transfers.count
            return state.ended == urls.count
        }
        if isOver { done.send() } else { start(transfers.count) }
    }

    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {}

    private func start(_ count: Int) {
        let range = state.withLock { state in
            let first = state.next
            state.next = min(urls.count, first + count)
            return first..<state.next
        }
        engine.start(
            range.map { index in
                let sink = CountingSink()
                return TransferStart(
                    TransferRequest(url: urls[index], terms: terms), sink: sink, receiver: self, token: sink)
            })
    }
}

/// The transfer engine alone: bodies are counted and thrown away, as `floors/transfer.c` does.
///
/// usage: bench LIST AT-ONCE [CA-FILE]    LIST holds an address a line
@main
struct Bench {
    private static func read(_ path: String) -> [String] {
        guard let file = fopen(path, "r") else {
            perror(path)
            exit(1)
        }
        defer { fclose(file) }
        var urls: [String] = []
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        while case let length = getline(&line, &size, file), length > 0 {
            line![length - 1] = 0
            urls.append(String(cString: line!))
        }
        free(line)
        return urls
    }

    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3, let parallel = Int(arguments[2]), parallel > 0 else {
            print("usage: bench LIST AT-ONCE [CA-FILE]")
            exit(2)
        }
        let urls = read(arguments[1])
        var options = TransferOptions()
        options.caFile = arguments.count > 3 ? arguments[3] : nil
        options.maxBytes = .max
        var configuration = EngineConfiguration()
        configuration.maxConnections = parallel
        configuration.maxPerHost = parallel
        let engine = TransferEngine(configuration: configuration)
        // As many again wait in the engine, so that no place stays empty for want of a start.
        let (failures, received) = Refill(engine, urls, options).run(window: 2 * parallel)
        engine.shutdown()
        print("\(urls.count) transfers, \(failures) failed, \(received) bytes")
        exit(failures == 0 ? 0 : 1)
    }
}
